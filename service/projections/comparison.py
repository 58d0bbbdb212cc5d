"""Runs side by side: their best so far over a common axis, and whether one group of them is ahead of another."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evolve.statistics.answer_sets import best_at_k
from service.errors import UsageError
from service.ports import ENDED, RunRecord
from service.projections import grouping
from service.projections.columns import Floats
from service.projections.progress_curve import AXES, EVALUATIONS, MONEY, TIME, ProgressCurve
from service.projections.series import finite_or_none, places
from service.projections.significance import Gap, Key, LevelAtBudget, compared, level, measure
from service.schemas.series import Axis

MAX_GROUPS, MAX_BUDGETS, BUDGETS = 12, 10, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """One run on the common axis. `best` ends with the run: beyond it the values are None.

    Attributes:
        group: name of the group that it belongs to.
        final: highest fitness at the end.
    """

    run: RunRecord
    group: str
    evaluations: int
    best: Sequence[float | None]
    final: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Runs that belong together, and what is to be expected of them.

    Attributes:
        title: what it is called before people.
        mean, low, high: of the best so far over the axis, as far as all of its runs have come.
        best_at_k: expected best of k runs, k from 1 (see `evolve.statistics.answer_sets`).
        levels: what it had come to at each budget.
    """

    name: str
    title: str
    run_ids: Sequence[str]
    seeds: Sequence[int]
    mean: Sequence[float | None]
    low: Sequence[float | None]
    high: Sequence[float | None]
    final_mean: float | None
    final_deviation: float | None
    best_at_k: Sequence[float]
    levels: Sequence[LevelAtBudget]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """Two groups, by name, and how far the first was ahead of the second at each budget."""

    first: str
    second: str
    gaps: Sequence[Gap]


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """How runs are to be set side by side.

    Attributes:
        over: the axis.
        by: key by which runs are grouped; empty: those that differ in nothing but the seed.
        names: a group for each run, instead of that.
        budgets: places of the axis at which groups are compared; empty: `BUDGETS`, evenly, as far as all runs came.
        points: of the axis at most.
    """

    over: Axis = EVALUATIONS
    by: str = ""
    names: Sequence[str] = ()
    budgets: Sequence[float] = ()
    points: int = 200

    def __post_init__(self) -> None:
        if self.over not in AXES:
            raise UsageError(f"{self.over[:60]!r} is no axis: runs are compared over {', '.join(AXES)}")
        if self.names and self.by:
            raise UsageError("groups are named, or made by a key: give one of them")
        if len(self.budgets) > MAX_BUDGETS:
            raise UsageError(f"{len(self.budgets)} budgets are too many to compare at: name {MAX_BUDGETS} at most")
        if not all(0 < budget < np.inf for budget in self.budgets):
            raise UsageError("a budget to compare at is a number above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Curves over one axis, the groups among them, and how these lead.

    Attributes:
        axis: places on it.
        currency: of an axis of money.
        budgets: at which groups are compared.
        groups: all where they were asked for, else those with several runs.
        notes: what keeps runs from being compared as they stand.
    """

    order: Order
    axis: Sequence[float]
    currency: str
    budgets: Sequence[float]
    curves: Sequence[Curve]
    groups: Sequence[Group]
    leads: Sequence[Lead]
    notes: Sequence[str]


def compare(trails: Sequence[ProgressCurve], order: Order) -> Comparison:
    """Set runs side by side.

    Raises:
        UsageError: there is nothing to group them by, there are too many groups, or they were paid in two currencies.
    """
    runs = [trail.run for trail in trails]
    names, titles = _groups(runs, order)
    currency = _currency(trails) if order.over == MONEY else ""
    axis = _axis(trails, order)
    budgets = _rounded(sorted(set(order.budgets)) or _budgets(trails, order.over), order.over)
    members = {name: [trail for trail, own in zip(trails, names, strict=True) if own == name] for name in titles}
    levels = {name: [_values(group, order.over, budget) for budget in budgets] for name, group in members.items()}
    several = order.by or order.names
    groups = [
        _group(name, titles[name], group, order.over, axis, levels[name])
        for name, group in members.items()
        if several or len(group) > 1
    ]
    return Comparison(
        order=order,
        axis=axis,
        currency=currency,
        budgets=budgets,
        curves=[_curve(trail, name, order.over, axis) for trail, name in zip(trails, names, strict=True)],
        groups=groups,
        leads=_leads(levels, titles, [_where(budget, order.over, currency) for budget in budgets]),
        notes=_notes(trails, order, budgets),
    )


def _groups(runs: Sequence[RunRecord], order: Order) -> tuple[list[str], Mapping[str, str]]:
    """The name of the group of each run, and the title of each group."""
    if not order.names and not order.by:
        return grouping.alike(runs)
    names = list(order.names) if order.names else grouping.grouped(runs, order.by)
    titles = {name: grouping.titled(name, order.by) if order.by else grouping.cut(name) for name in names}
    if len(titles) > MAX_GROUPS:
        raise UsageError(f"these runs make {len(titles)} groups: {MAX_GROUPS} are the most that can be compared")
    return names, titles


def _currency(trails: Sequence[ProgressCurve]) -> str:
    found = sorted({trail.currency for trail in trails if trail.currency})
    if len(found) > 1:
        raise UsageError(f"these runs were paid in {' and '.join(found)}: compare over money those of one currency")
    return "".join(found)


def _axis(trails: Sequence[ProgressCurve], order: Order) -> list[float]:
    """Places up to where the longest came."""
    end = max((trail.end(order.over) for trail in trails), default=0.0)
    if not end:
        return []
    if order.over == EVALUATIONS:
        return [int(place) for place in places(int(end), order.points)]
    return [end * (place / order.points) for place in range(1, order.points + 1)]  # the last one is the end itself


def _budgets(trails: Sequence[ProgressCurve], over: Axis) -> list[float]:
    """Evenly as far as all runs came, but for those that had come to their own end."""
    begun = [trail for trail in trails if trail.end(over)]
    open_ended = [trail.end(over) for trail in begun if not trail.settled]
    end = min(open_ended) if open_ended else max((trail.end(over) for trail in begun), default=0.0)
    return [end * (place / BUDGETS) for place in range(1, BUDGETS + 1)] if end else []


def _rounded(budgets: Sequence[float], over: Axis) -> list[float]:
    """Evaluations and tokens are whole."""
    return list(budgets) if over in (MONEY, TIME) else sorted({max(1, int(budget)) for budget in budgets})


def _curve(trail: ProgressCurve, group: str, over: Axis, axis: Sequence[float]) -> Curve:
    return Curve(
        run=trail.run,
        group=group,
        evaluations=len(trail.best),
        best=_listed(trail.at(over, axis)),
        final=finite_or_none(trail.best[-1]) if len(trail.best) else None,
    )


def _group(
    name: str,
    title: str,
    trails: Sequence[ProgressCurve],
    over: Axis,
    axis: Sequence[float],
    values: Sequence[Mapping[Key, float]],
) -> Group:
    table = np.array([trail.at(over, axis) for trail in trails]).reshape(len(trails), len(axis))
    finals = [float(trail.best[-1]) for trail in trails if len(trail.best) and np.isfinite(trail.best[-1])]
    return Group(
        name=name,
        title=title,
        run_ids=[trail.run.id for trail in trails],
        seeds=[trail.run.seed for trail in trails],
        mean=_listed(table.mean(axis=0)),  # NaN where one of them has none
        low=_listed(table.min(axis=0)),
        high=_listed(table.max(axis=0)),
        final_mean=float(np.mean(finals)) if finals else None,
        final_deviation=float(np.std(finals, ddof=1)) if len(finals) > 1 else None,
        best_at_k=[float(best_at_k(finals, k)) for k in range(1, len(finals) + 1)],
        levels=[level(one) for one in values],
    )


def _values(trails: Sequence[ProgressCurve], over: Axis, budget: float) -> Mapping[Key, float]:
    """The best at a budget by problem and seed, of several runs of one the mean; those that came so far."""
    found: dict[Key, list[float]] = {}
    for trail in trails:
        best = float(trail.at(over, [budget], beyond=True)[0])
        if np.isfinite(best):
            found.setdefault((trail.run.problem_name, trail.run.seed), []).append(best)
    return {key: float(np.mean(values)) for key, values in found.items()}


def _leads(
    levels: Mapping[str, Sequence[Mapping[Key, float]]], titles: Mapping[str, str], where: Sequence[str]
) -> list[Lead]:
    if len(levels) > MAX_GROUPS:
        return []
    pairs = list(combinations(levels, 2))
    at_budgets = [
        compared(
            [
                measure(levels[first][at], levels[second][at], (titles[first], titles[second]), place)
                for first, second in pairs
            ]
        )
        for at, place in enumerate(where)
    ]
    return [
        Lead(first=first, second=second, gaps=[gaps[pair] for gaps in at_budgets])
        for pair, (first, second) in enumerate(pairs)
    ]


def _where(budget: float, over: Axis, currency: str) -> str:
    if over == TIME:
        return f"after {budget:.3g} s"
    if over == MONEY:
        return f"at {budget:.3g} {currency}".rstrip()
    return f"at {int(budget):,} {over}"


def _notes(trails: Sequence[ProgressCurve], order: Order, budgets: Sequence[float]) -> list[str]:
    runs, found = [trail.run for trail in trails], list[str]()
    if len({run.problem_name for run in runs}) > 1:
        found.append("These runs are of different problems: their fitness is not of one scale.")
    elif len({run.bundle_hash for run in runs}) > 1:
        found.append("These runs are of different versions of the problem: their fitness may not be of one scale.")
    if any(run.state not in ENDED for run in runs):
        found.append("Some of these runs have not ended.")
    unknown = sum(order.over not in trail.used for trail in trails)
    if unknown:
        found.append(f"What {unknown} of these runs cost is not known: they are not on this axis.")
    elif trails and not any(trail.end(order.over) for trail in trails):
        found.append(f"These runs used no {order.over}: compare them over another axis.")
    short = [trail for trail in trails if budgets and not trail.settled and trail.end(order.over) < budgets[-1]]
    if short and not unknown:
        found.append(f"{len(short)} of these runs ended before the last budget: from there on the others are compared.")
    return found


def _listed(values: Floats) -> list[float | None]:
    return [finite_or_none(value) for value in values.tolist()]
