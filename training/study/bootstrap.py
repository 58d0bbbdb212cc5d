"""Means over training seeds and mazes, with intervals for another choice of both.

Every seed answers the same mazes, so both are resampled, crossed. A draw picks seeds and mazes with replacement, and
its mean is over the cells of the table that they span (the pigeonhole bootstrap, Owen 2007, "The pigeonhole bootstrap",
Annals of Applied Statistics 1). With a single seed it is the plain bootstrap over mazes.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from evolve.multiobjective.scalarization import Floats
from evolve.statistics.intervals import DRAWS, Estimate, percentiles

_SEED = 20_07


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Estimate):
    """A difference between means. `p_value` is two-sided, from the draws of the interval.

    It is twice the share of the draws on the rarer side of zero, counted with the measured value as an additional draw
    (Davison and Hinkley 1997, "Bootstrap Methods and their Application", section 4.2).
    """

    p_value: float


def mean(values: ArrayLike) -> Estimate:
    """The mean of a table of (seeds, mazes)."""
    table = _table(values)
    return percentiles(float(table.mean()), _means(table))


def difference(values: ArrayLike, others: ArrayLike) -> Difference:
    """The mean difference of two tables, paired cell by cell."""
    apart = _table(values) - _table(others)
    draws = _means(apart)
    found = percentiles(float(apart.mean()), draws)
    rarer = int(min((draws <= 0).sum(), (draws >= 0).sum()))
    p_value = min(1.0, 2 * (rarer + 1) / (draws.size + 1))
    return Difference(value=found.value, low=found.low, high=found.high, p_value=p_value)


def ratio(values: ArrayLike, others: ArrayLike) -> Estimate | None:
    """The ratio of the means of two tables, paired. None if the second is zero."""
    table, other = _table(values), _table(others)
    if not other.mean() > 0:
        return None
    below = _means(other)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = _means(table) / below
    # A draw in which the other solved nothing makes the ratio as large as one likes, and never small.
    return percentiles(float(table.mean() / other.mean()), np.where(below > 0, found, np.inf))


def _means(table: Floats) -> Floats:
    seeds, mazes = _shares(*table.shape)
    found: Floats = ((seeds @ table) * mazes).sum(axis=1)
    return found


@lru_cache(maxsize=16)
def _shares(seeds: int, mazes: int) -> tuple[Floats, Floats]:
    """The weights of seeds and mazes in each draw, (draws, seeds) and (draws, mazes), always the same."""
    rng = np.random.default_rng([_SEED, seeds, mazes])
    counted = [rng.multinomial(count, np.full(count, 1 / count), DRAWS) / count for count in (seeds, mazes)]
    return counted[0], counted[1]


def _table(values: ArrayLike) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError("a table of seeds and mazes is wanted")
    return table
