"""Intervals: how far a mean over runs, or the lead of some runs over others, might move with other seeds.

The percentile bootstrap (Efron 1979), always with the same draws. Over few runs its intervals are too narrow; the
percentiles are therefore those that make it as wide as Student's (Hesterberg 2015, "What Teachers Should Know About the
Bootstrap", American Statistician 69: expanded percentiles). With fewer runs than a test of randomisation needs there is
no interval: not even the whole range of so few values holds their mean in 95 of 100 cases.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from evolve.multiobjective.scalarization import Floats
from evolve.statistics.t_distribution import quantile

DRAWS = 4000
COVERED = 0.95
_SEED = 19_79


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean, or what is made of means, with its interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"

    @property
    def signed(self) -> str:
        """With its sign, as a difference is written."""
        return f"{self.value:+.3f} [{self.low:+.3f}, {self.high:+.3f}]"

    def above(self, other: "Estimate") -> bool:
        """Whether its interval lies wholly above another."""
        return self.low > other.high


def percentiles(value: float, draws: Floats, tail: float = (1 - COVERED) / 2) -> Estimate:
    """A value with the percentiles of its bootstrap draws that leave out `tail` on either side."""
    low, high = np.quantile(draws, [tail, 1 - tail], method="inverted_cdf")
    return Estimate(value=value, low=float(low), high=float(high))


def mean_over_runs(values: ArrayLike) -> Estimate | None:
    """The mean of independent values with its interval; None for too few of them."""
    given = np.asarray(values, dtype=np.float64)
    if not enough_pairs(given.size):
        return None
    return percentiles(float(given.mean()), _means(given, 0), expanded_tail(given.size))


def lead(values: ArrayLike, others: ArrayLike) -> Estimate | None:
    """How far the mean of some values lies above that of others that are not paired with them, each drawn anew.

    None for too few of them.
    """
    own, their = (np.asarray(given, dtype=np.float64) for given in (values, others))
    if min(own.size, their.size) < 2 or not enough_apart(own.size, their.size):
        return None
    tail = expanded_tail(min(own.size, their.size))
    return percentiles(float(own.mean() - their.mean()), _means(own, 0) - _means(their, 1), tail)


def expanded_tail(count: int) -> float:
    """The share of the draws to leave out on either side, for the mean of so many values: Phi(-t sqrt(n / (n - 1)))."""
    reach = quantile((1 + COVERED) / 2, count - 1) * math.sqrt(count / (count - 1))
    return NormalDist().cdf(-reach)


def enough_pairs(count: int) -> bool:
    """Whether so many pairs can tell anything: all of one sign come by chance twice in 2^n."""
    return 2 * 0.5**count < 1 - COVERED


def enough_apart(count: int, others: int) -> bool:
    """Whether so many values and others can tell anything: all above all others come by chance twice in C(n + m, n)."""
    return 2 / math.comb(count + others, count) < 1 - COVERED


def _means(values: Floats, which: int) -> Floats:
    """The mean of each draw; of equal values exactly these, whatever shares round to."""
    return np.asarray(values[0] + _shares(values.size, which) @ (values - values[0]))


@lru_cache(maxsize=64)
def _shares(count: int, which: int) -> Floats:
    """How much of each draw is which value, (draws, count); always the same, and another for each of two groups."""
    rng = np.random.default_rng([_SEED, count, which])
    return np.asarray(rng.multinomial(count, np.full(count, 1 / count), DRAWS) / count)
