"""Whether one group of runs is ahead of another at equal budgets, and whether that can be told from so few."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.statistics.intervals import COVERED, Estimate, enough_apart, enough_pairs, lead, mean_over_runs
from evolve.statistics.significance import holm, paired_p_value, welch_p_value

# A unit of what is compared: runs of one problem and one seed stand for one.
Key = tuple[str, int]
Values = Mapping[Key, float]
ENOUGH_PAIRS = next(count for count in range(1, 99) if enough_pairs(count))
ENOUGH_APART = next(count for count in range(1, 99) if enough_apart(count, count))


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelAtBudget:
    """What a group had come to at a budget.

    Attributes:
        mean: over its seeds; None: none of them came so far.
        low, high: its interval; None: there are too few seeds for one.
        seeds: pairs of problem and seed that came so far.
    """

    mean: float | None
    low: float | None
    high: float | None
    seeds: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """How far a group was ahead of another at a budget, behind it where that is negative.

    Attributes:
        seeds, others: how many it is told from; of pairs both are their number.
        p_value: of no difference, corrected for all pairs of groups that were compared at this budget; None: it was the
            only pair, or there is no interval.
        ahead: 1: the first is, -1: the second is, 0: no difference can be told.
        sentence: the same for people.
    """

    difference: float | None
    low: float | None
    high: float | None
    paired: bool
    seeds: int
    others: int
    p_value: float | None
    ahead: int
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredDifference:
    """The difference of two groups at a budget, before it is known how many are compared there.

    Attributes:
        names: of the groups.
        where: the budget, as it stands in a sentence.
        estimate: None: there are too few seeds for an interval.
        p_value: of no difference, by Student's or Welch's t test; of one with an interval.
        over: what it is told from, as it stands in a sentence; without an interval the whole sentence.
    """

    names: tuple[str, str]
    where: str
    difference: float | None
    estimate: Estimate | None = None
    p_value: float = 1.0
    paired: bool
    seeds: int
    others: int
    over: str


def level(values: Values) -> LevelAtBudget:
    """What a group had come to."""
    found = list(values.values())
    estimate = mean_over_runs(found)
    return LevelAtBudget(
        mean=float(np.mean(found)) if found else None,
        low=estimate.low if estimate else None,
        high=estimate.high if estimate else None,
        seeds=len(found),
    )


def measure(first: Values, second: Values, names: tuple[str, str], where: str) -> MeasuredDifference:
    """How far one group is ahead of another.

    Seeds are paired where each of the smaller group has its like in the other, by problem and seed; else all are
    compared unpaired, which needs that they are of one problem: where they are of several, the pairs that there are.

    Args:
        names: of the groups.
        where: the budget, as it stands in a sentence.
    """
    shared = sorted(first.keys() & second.keys())
    problems = {problem for problem, _ in (*first, *second)}
    if shared and (len(shared) == min(len(first), len(second)) or len(problems) > 1):
        return _paired([first[key] - second[key] for key in shared], shared, names, where)
    if len(problems) > 1:
        over = f"{names[0]} and {names[1]} have no problem and seed in common {where}"
        return _unmeasured(None, over, names, where, len(first), len(second))
    return _apart(list(first.values()), list(second.values()), names, where)


def compared(measured: Sequence[MeasuredDifference]) -> list[Gap]:
    """What can be told of differences that are looked at together, in their order.

    One is told where its interval leaves out zero and, of several, Holm's correction of its t test says so too. The
    bootstrap alone cannot correct: of ten seeds its tails are too light for a level of some tenths of a per cent.
    """
    told = [one for one in measured if one.estimate is not None]
    adjusted = iter(holm([one.p_value for one in told]))
    return [
        _untold(one) if one.estimate is None else _told(one, one.estimate, next(adjusted), len(told))
        for one in measured
    ]


def _paired(gaps: Sequence[float], shared: Sequence[Key], names: tuple[str, str], where: str) -> MeasuredDifference:
    count, several = len(gaps), len({problem for problem, _ in shared}) > 1
    noun = "pairs of problem and seed" if several else "seeds"
    estimate, difference = mean_over_runs(gaps), float(np.mean(gaps))
    if estimate is None:
        few = f"over {count} {noun} ({_number(difference)}): these are too few, use at least {ENOUGH_PAIRS}"
        over = _few(names, where, few, alone=count < 2)
        return _unmeasured(difference, over, names, where, count, count, paired=True)
    return MeasuredDifference(
        names=names,
        where=where,
        difference=difference,
        estimate=estimate,
        p_value=paired_p_value(gaps),
        paired=True,
        seeds=count,
        others=count,
        over=f"over {count} {noun}",
    )


def _apart(own: Sequence[float], their: Sequence[float], names: tuple[str, str], where: str) -> MeasuredDifference:
    if not own or not their:
        absent = names[0] if not own else names[1]
        over = f"no comparison {where}: no run of {absent} got that far"
        return _unmeasured(None, over, names, where, len(own), len(their))
    estimate, difference = lead(own, their), float(np.mean(own) - np.mean(their))
    over = f"over {len(own)} and {len(their)} seeds, unpaired"
    if estimate is None:
        few = f"{over} ({_number(difference)}): these are too few, use {ENOUGH_APART} or more of each"
        over = _few(names, where, few, alone=min(len(own), len(their)) < 2)
        return _unmeasured(difference, over, names, where, len(own), len(their))
    return MeasuredDifference(
        names=names,
        where=where,
        difference=difference,
        estimate=estimate,
        p_value=welch_p_value(own, their),
        paired=False,
        seeds=len(own),
        others=len(their),
        over=over,
    )


def _unmeasured(
    difference: float | None,
    over: str,
    names: tuple[str, str],
    where: str,
    seeds: int,
    others: int,
    *,
    paired: bool = False,
) -> MeasuredDifference:
    return MeasuredDifference(
        names=names, where=where, difference=difference, paired=paired, seeds=seeds, others=others, over=over
    )


def _few(names: tuple[str, str], where: str, few: str, *, alone: bool) -> str:
    if alone:
        luck = "a single seed does not rule out luck, so run each with several seeds"
        return f"no comparison of {names[0]} and {names[1]} {where}: {luck}"
    return f"no measurable difference between {names[0]} and {names[1]} {where} {few}"


def _told(one: MeasuredDifference, estimate: Estimate, adjusted: float, pairs: int) -> Gap:
    ahead = int(estimate.low > 0) - int(estimate.high < 0)
    by_chance = ahead != 0 and pairs > 1 and adjusted >= 1 - COVERED
    if by_chance:
        ahead = 0
    return Gap(
        difference=estimate.value,
        low=estimate.low,
        high=estimate.high,
        paired=one.paired,
        seeds=one.seeds,
        others=one.others,
        p_value=adjusted if pairs > 1 else None,
        ahead=ahead,
        sentence=_sentence(one, estimate, ahead) + (f"; among {pairs} pairs it may be chance" if by_chance else ""),
    )


def _sentence(one: MeasuredDifference, estimate: Estimate, ahead: int) -> str:
    names, end = one.names, f"{one.where} {one.over}"
    if ahead:
        sign, (best, rest) = (1, names) if ahead > 0 else (-1, names[::-1])
        low, high = sorted((sign * estimate.low, sign * estimate.high))
        interval = f"95 % interval {_number(low)} to {_number(high)}"
        return f"{best} is ahead of {rest} by {_number(sign * estimate.value)} ({interval}) {end}"
    found = f"{_number(estimate.value)}, 95 % interval {_number(estimate.low)} to {_number(estimate.high)}"
    return f"no measurable difference between {names[0]} and {names[1]} {end} ({found})"


def _untold(one: MeasuredDifference) -> Gap:
    return Gap(
        difference=one.difference,
        low=None,
        high=None,
        paired=one.paired,
        seeds=one.seeds,
        others=one.others,
        p_value=None,
        ahead=0,
        sentence=one.over,
    )


def _number(value: float) -> str:
    return f"{value:.3g}"
