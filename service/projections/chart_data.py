"""What the charts of a run are drawn from: its evaluations in columns, all of them, the newest, or as many as show."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from service.projections.column_parts import CodedColumn
from service.projections.columns import ColumnMark, Columns, Floats, Places
from service.projections.front_history import ALIVE, FrontSpans
from service.projections.progress_curve import best_so_far

DIGITS = 7
FAILED_SHARE, FRONT_SHARE, MIN_SHARE = 10, 4, 4  # of the places: one in so many
MAX_STAIRS = 6  # pairs of objectives whose own fronts a sample holds whole
FRONT_SIZES = 500  # moments at which the size of the front is told
_EXACT_POWERS = np.array([float(f"1e{power}") for power in range(23)])  # as doubles hold them

Wholes = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedColumn:
    """A column of names: which of them each is."""

    names: Sequence[str]
    codes: Wholes


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnFront:
    """The front of all objectives over time, as far as evaluations are drawn.

    Attributes:
        until: of each, the first later evaluation that dominates it; -1: none does; None: it was never on the front.
        counts, sizes: how many were on it after so many evaluations.
        ended, ended_by: evaluations that were left out as known which left the front since, and what dominates them.
    """

    until: Sequence[int | None]
    counts: Wholes
    sizes: Wholes
    ended: Wholes
    ended_by: Wholes


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartData:
    """Evaluations of a run in columns of one length.

    Attributes:
        sequence: everything up to this event is in them.
        total: how many evaluations there were by then.
        begin: how many of these were left out.
        first_at: when the first of the run was; None: there was none.
        places: of the evaluations in the run, from 0.
        parents: place of the first parent, which may itself be left out; -1: it has none, or was never evaluated.
        fitness, rewards: to 7 digits; NaN where an evaluation was not valid. A column of rewards for each objective.
        seconds: since the first evaluation of the run.
        marks: with the number of evaluations before each; those before the first one here are left out.
        front: over time; None: nobody asked for it.
    """

    sequence: int
    total: int
    begin: int
    sampled: bool
    first_at: datetime | None
    objectives: Sequence[str]
    places: Places
    numbers: Wholes
    positions: Wholes
    islands: Wholes
    parents: Wholes
    outcomes: NamedColumn
    operators: NamedColumn
    policies: NamedColumn
    fitness: Floats
    rewards: Sequence[Floats]
    seconds: Floats
    marks: Sequence[tuple[int, ColumnMark]]
    front: DrawnFront | None = None


def draw(columns: Columns, after: int = 0, points: int = 0, *, front: bool = False) -> ChartData:
    """A run in columns.

    Args:
        columns: the run.
        after: leave out the first so many evaluations; of the others none is left out then.
        points: how many evaluations are enough, about; 0: all of them.
        front: whether the front over time is asked for.
    """
    total = len(columns)
    begin = min(after, total)
    sampled = not after and 0 < points < total
    places = sample(columns, points) if sampled else np.arange(begin, total)
    drawn = draw_at(columns, places, begin=begin, sampled=sampled)
    return replace(drawn, front=_front(columns.front_spans(), places, begin, total)) if front else drawn


def draw_at(columns: Columns, places: Places, *, begin: int = 0, sampled: bool) -> ChartData:
    """Some evaluations of a run in columns, without the front over time."""
    total = len(columns)
    at, rewards = columns.at, rounded(columns.rewards[places])
    return ChartData(
        sequence=columns.sequence,
        total=total,
        begin=begin,
        sampled=sampled,
        first_at=datetime.fromtimestamp(at[0], UTC) if total else None,
        objectives=columns.names,
        places=places,
        numbers=_taken(columns.numbers, places),
        positions=_taken(columns.positions, places),
        islands=_taken(columns.islands, places),
        parents=_taken(columns.parents, places),
        outcomes=_named(columns.outcomes, places),
        operators=_named(columns.operators, places),
        policies=_named(columns.policies, places),
        fitness=rounded(columns.fitness[places]),
        rewards=[rewards[:, column] for column in range(len(columns.names))],
        seconds=np.round(at[places] - at[:1], 3),
        marks=_marks(columns, begin),
    )


def _front(spans: FrontSpans, places: Places, begin: int, total: int) -> DrawnFront:
    until = dict(zip(spans.places.tolist(), spans.until.tolist(), strict=True))
    counts = np.unique(np.linspace(min(1, total), total, FRONT_SIZES).astype(np.int64))
    ends = np.sort(spans.until[spans.until != ALIVE])
    come, gone = (np.searchsorted(moments, counts) for moments in (spans.places, ends))
    left = (spans.places < begin) & (spans.until >= begin)
    return DrawnFront(
        until=[until.get(place) for place in places.tolist()],
        counts=counts,
        sizes=come - gone,
        ended=spans.places[left],
        ended_by=spans.until[left],
    )


def sample(columns: Columns, points: int) -> Places:
    """Which evaluations show a run in so many points, about.

    All that became the best so far, the last one, of each of many equal stretches the best and the worst, some of the
    failures, and the Pareto front of several objectives as far as there is room, with all of the fronts of any two.
    """
    fitness = columns.fitness
    best = best_so_far(fitness)
    kept = [
        np.flatnonzero(fitness > np.concatenate([[-np.inf], best[:-1]])),
        evenly(np.flatnonzero(np.isnan(fitness)), points // FAILED_SHARE),
        evenly(columns.front(), points // FRONT_SHARE) if len(columns.names) > 1 else fitness[:0].astype(np.intp),
        np.array([len(columns) - 1]),
        *stairs(columns.signed_scores),
    ]
    room = max(points // MIN_SHARE, points - sum(map(len, kept)))
    return np.unique(np.concatenate([*kept, extremes(fitness, room // 2)]))


def stairs(scores: Floats) -> list[Places]:
    """The front of each of the first pairs of objectives alone; of equals the first one."""
    valid = np.flatnonzero(np.isfinite(scores).all(axis=1))
    found = []
    for one, other in list(combinations(range(scores.shape[1]), 2))[:MAX_STAIRS]:
        order = valid[np.lexsort((valid, -scores[valid, other], -scores[valid, one]))]
        highest = np.maximum.accumulate(np.concatenate([[-np.inf], scores[order, other]]))
        found.append(order[highest[1:] > highest[:-1]])
    return found


def extremes(fitness: Floats, stretches: int) -> Places:
    """Where the lowest and the highest value of each of so many equal stretches are; NaN is none."""
    places = np.flatnonzero(~np.isnan(fitness))
    stretch = places * stretches // max(1, len(fitness))
    places = places[np.lexsort((places, fitness[places], stretch))]  # stretches stay where they were
    borders = np.flatnonzero(np.diff(stretch)) + 1
    lowest = np.concatenate([[0], borders])[: len(places)]
    highest = np.concatenate([borders, [len(places)]]) - 1
    return np.unique(places[np.concatenate([lowest, highest[: len(lowest)]])])


def evenly(places: Places, maximum: int) -> Places:
    """At most so many of some places, spread over them, the first among them."""
    if len(places) <= maximum:
        return places
    return places[np.arange(maximum) * len(places) // maximum]


def rounded(values: Floats) -> Floats:
    """Values to 7 significant digits, as the doubles with the shortest texts; far off 1 they stay as they are."""
    with np.errstate(divide="ignore"):
        magnitude = np.floor(np.log10(np.abs(values)))
    shift = DIGITS - 1 - magnitude
    near = np.abs(shift) < len(_EXACT_POWERS)  # not so for 0, NaN and infinity
    shift = np.where(near, shift, 0).astype(np.intp)
    power = _EXACT_POWERS[np.abs(shift)]
    up = shift >= 0
    whole = np.round(np.where(up, values * power, values / power))
    return np.where(near, np.where(up, whole / power, whole * power), values)


def _taken(column: ArrayLike, places: Places) -> Wholes:
    return np.array(column, dtype=np.int64)[places]


def _named(column: CodedColumn, places: Places) -> NamedColumn:
    return NamedColumn(names=tuple(column.names), codes=_taken(column.codes, places))


def _marks(columns: Columns, begin: int) -> list[tuple[int, ColumnMark]]:
    """Marks with the number of evaluations before them."""
    before = np.searchsorted(np.array(columns.sequences), [mark.sequence for mark in columns.marks])
    return [(int(place), mark) for place, mark in zip(before, columns.marks, strict=True) if place >= begin]
