"""Whether one group of runs is ahead of another at equal budgets, and whether that can be told from so few."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evolve.intervals import Estimate, enough_apart, enough_pairs, lead, mean_over_runs

# A unit of what is compared: runs of one problem and one seed stand for one.
Key = tuple[str, int]
Values = Mapping[Key, float]
ENOUGH_PAIRS = next(count for count in range(1, 99) if enough_pairs(count))
ENOUGH_APART = next(count for count in range(1, 99) if enough_apart(count, count))


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
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
        ahead: 1: the first is, -1: the second is, 0: no difference can be told.
        sentence: the same for people.
    """

    difference: float | None
    low: float | None
    high: float | None
    paired: bool
    seeds: int
    others: int
    ahead: int
    sentence: str


def level(values: Values) -> Level:
    """What a group had come to."""
    found = list(values.values())
    estimate = mean_over_runs(found)
    return Level(
        mean=float(np.mean(found)) if found else None,
        low=estimate.low if estimate else None,
        high=estimate.high if estimate else None,
        seeds=len(found),
    )


def gap(first: Values, second: Values, names: tuple[str, str], where: str) -> Gap:
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
        return _untold(
            None, f"{names[0]} and {names[1]} have no problem and seed in common {where}", len(first), len(second)
        )
    return _apart(list(first.values()), list(second.values()), names, where)


def _paired(gaps: Sequence[float], shared: Sequence[Key], names: tuple[str, str], where: str) -> Gap:
    count, several = len(gaps), len({problem for problem, _ in shared}) > 1
    noun = "pairs of problem and seed" if several else "seeds"
    estimate, difference = mean_over_runs(gaps), float(np.mean(gaps))
    if estimate is None:
        few = f"over {count} {noun} ({_number(difference)}): {ENOUGH_PAIRS} are enough"
        return _untold(difference, _few(names, where, few, alone=count < 2), count, count, paired=True)
    ahead, sentence = _words(estimate, names, where, f"over {count} {noun}")
    return _told(estimate, ahead, sentence, count, count, paired=True)


def _apart(own: Sequence[float], their: Sequence[float], names: tuple[str, str], where: str) -> Gap:
    if not own or not their:
        absent = names[0] if not own else names[1]
        return _untold(None, f"nothing can be told {where}: no run of {absent} came so far", len(own), len(their))
    estimate, difference = lead(own, their), float(np.mean(own) - np.mean(their))
    over = f"over {len(own)} and {len(their)} seeds, unpaired"
    if estimate is None:
        few = f"{over} ({_number(difference)}): {ENOUGH_APART} of each are enough"
        alone = min(len(own), len(their)) < 2
        return _untold(difference, _few(names, where, few, alone=alone), len(own), len(their))
    ahead, sentence = _words(estimate, names, where, over)
    return _told(estimate, ahead, sentence, len(own), len(their), paired=False)


def _few(names: tuple[str, str], where: str, few: str, *, alone: bool) -> str:
    if alone:
        luck = "of one seed nobody knows how much is luck, so run each with several"
        return f"nothing can be told of {names[0]} and {names[1]} {where}: {luck}"
    return f"no difference between {names[0]} and {names[1]} can be told {where} {few}"


def _words(estimate: Estimate, names: tuple[str, str], where: str, over: str) -> tuple[int, str]:
    ahead = int(estimate.low > 0) - int(estimate.high < 0)
    if ahead:
        sign, (best, rest) = (1, names) if ahead > 0 else (-1, names[::-1])
        low, high = sorted((sign * estimate.low, sign * estimate.high))
        interval = f"95 % interval {_number(low)} to {_number(high)}"
        return ahead, f"{best} is ahead of {rest} by {_number(sign * estimate.value)} ({interval}) {where} {over}"
    found = f"{_number(estimate.value)}, 95 % interval {_number(estimate.low)} to {_number(estimate.high)}"
    return 0, f"no difference between {names[0]} and {names[1]} can be told {where} {over} ({found})"


def _told(estimate: Estimate, ahead: int, sentence: str, seeds: int, others: int, *, paired: bool) -> Gap:
    return Gap(
        difference=estimate.value,
        low=estimate.low,
        high=estimate.high,
        paired=paired,
        seeds=seeds,
        others=others,
        ahead=ahead,
        sentence=sentence,
    )


def _untold(difference: float | None, sentence: str, seeds: int, others: int, *, paired: bool = False) -> Gap:
    return Gap(
        difference=difference,
        low=None,
        high=None,
        paired=paired,
        seeds=seeds,
        others=others,
        ahead=0,
        sentence=sentence,
    )


def _number(value: float) -> str:
    return f"{value:.3g}"
