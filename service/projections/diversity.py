"""Variety: how different the evaluations of a run were by some moment, in what they gave and where they came from."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from service.projections.columns import Columns, Floats

WINDOW = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity:
    """How different evaluations were.

    Attributes:
        distinct: of the valid ones until then, the share whose reward vector was the first of its kind; None: none was.
        distance: the mean Euclidean distance between two reward vectors of the last `WINDOW` valid ones; None: there
            are fewer than two, or they are too far apart for a number.
        island_entropy, outcome_entropy: Shannon's, in bits, over the last `WINDOW` evaluations.
    """

    distinct: float | None
    distance: float | None
    island_entropy: float
    outcome_entropy: float


def varieties(columns: Columns, taken: NDArray[np.intp]) -> list[Diversity]:
    """The variety of a run after each of so many evaluations."""
    rewards = columns.rewards
    there = np.isfinite(rewards).all(axis=1)
    valid, until = rewards[there], np.cumsum(there)
    first = np.cumsum(_firsts(valid))
    islands, outcomes = np.array(columns.islands), np.array(columns.outcomes.codes)
    found = []
    for count in taken:
        reached, window = int(until[count - 1]), slice(max(0, count - WINDOW), count)
        found.append(
            Diversity(
                distinct=float(first[reached - 1] / reached) if reached else None,
                distance=mean_distance(valid[max(0, reached - WINDOW) : reached]),
                island_entropy=entropy(islands[window]),
                outcome_entropy=entropy(outcomes[window]),
            )
        )
    return found


def mean_distance(points: Floats) -> float | None:
    """The mean Euclidean distance over all pairs of points, (n, k); None: there is no pair, or no number for it."""
    count = len(points)
    if count < 2:
        return None
    squares = np.zeros((count, count))
    with np.errstate(over="ignore", invalid="ignore"):  # what is too far apart becomes infinite, and is told as such
        for column in points.T:
            squares += (column[:, None] - column) ** 2
        mean = float(np.sqrt(squares).sum() / (count * (count - 1)))
    return mean if math.isfinite(mean) else None


def entropy(codes: ArrayLike) -> float:
    """Shannon's entropy of some whole numbers, in bits: 0 where all are equal, log2(k) where k are equally frequent."""
    _, counts = np.unique(np.asarray(codes), return_counts=True)
    shares = counts / counts.sum()
    return max(0.0, float(-(shares * np.log2(shares)).sum()))


def _firsts(points: Floats) -> NDArray[np.bool_]:
    """Which points were not there before."""
    first = np.zeros(len(points), dtype=bool)
    if len(points):
        _, where = np.unique(points + 0.0, axis=0, return_index=True)  # -0 and 0 are one value
        first[where] = True
    return first
