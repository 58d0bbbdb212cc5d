"""Means over training seeds and mazes, with intervals that say how far another choice of either might move them.

The unit of a claim about a method is a training: its mean over the mazes is one value, and Student's t is taken over
these. Every seed is asked the same mazes, whose choice matters too, so the same is done over mazes, and an interval
covers both. One training says nothing about a method: its differences have no bounds.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evolve.multiobjective.scalarization import Floats
from evolve.statistics.binomial import exact_bounds
from evolve.statistics.intervals import COVERED, Estimate
from evolve.statistics.significance import paired_p_value
from evolve.statistics.t_distribution import quantile


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference(Estimate):
    """A difference between means; `p_value` is that of Student's t, two-sided: the larger of seeds and mazes."""

    p_value: float


def mean(values: ArrayLike) -> Estimate:
    """The mean of a table of (seeds, mazes); of one seed, over mazes alone.

    A table of zeros and ones is counted: its interval also covers the exact binomial bounds, of mazes as the unit.
    """
    table = _table(values)
    value = float(table.mean())
    reaches = [_reach(means) for means in _means(table) if means.size > 1]
    reach = max(reaches, default=math.inf)
    low, high = value - reach, value + reach
    if table.min() >= 0 and table.max() <= 1:  # shares, and means of shares
        low, high = max(low, 0.0), min(high, 1.0)
    if np.isin(table, (0.0, 1.0)).all():
        least, most = exact_bounds(value * table.shape[1], table.shape[1], COVERED)
        low, high = min(low, least), max(high, most)
    return Estimate(value=value, low=low, high=high)


def difference(values: ArrayLike, others: ArrayLike) -> Difference:
    """How far one table lies above another in the mean, paired cell by cell."""
    apart = _table(values) - _table(others)
    value = float(apart.mean())
    if len(apart) < 2:
        return Difference(value=value, low=-math.inf, high=math.inf, p_value=1.0)
    several = [means for means in _means(apart) if means.size > 1]
    reach = max(_reach(means) for means in several)
    p_value = max(paired_p_value(means) for means in several)
    return Difference(value=value, low=value - reach, high=value + reach, p_value=p_value)


def ratio(values: ArrayLike, others: ArrayLike) -> Estimate | None:
    """The mean of one table over that of another, paired; None where the other is zero.

    The interval holds every ratio that Student's t does not reject (Fieller 1954, Journal of the Royal Statistical
    Society B 16), over seeds and over mazes. It has no upper bound where the other might be zero.
    """
    table, other = _table(values), _table(others)
    if not other.mean() > 0:
        return None
    bounds = [_fieller(one, two) for one, two in zip(_means(table), _means(other), strict=True) if one.size > 1]
    if len(table) < 2:
        bounds.append((0.0, math.inf))
    lows, highs = zip(*bounds, strict=True)
    return Estimate(value=float(table.mean() / other.mean()), low=min(lows), high=max(highs))


def _means(table: Floats) -> tuple[Floats, Floats]:
    """One value a seed, and one value a maze."""
    return table.mean(axis=1), table.mean(axis=0)


def _reach(means: Floats) -> float:
    """Half the width of Student's interval of a mean."""
    return _student(means.size) * float(means.std(ddof=1)) / math.sqrt(means.size)


def _student(count: int) -> float:
    return quantile((1 + COVERED) / 2, count - 1)


def _fieller(above: Floats, below: Floats) -> tuple[float, float]:
    """The ratios r >= 0 for which the mean of above - r * below is within Student's reach of zero."""
    square = _student(above.size) ** 2 / above.size
    (aa, ab), (_, bb) = np.cov(above, below)
    a, b = float(above.mean()), float(below.mean())
    # The mean squared, less its reach squared: a parabola in r that is below zero where r is not rejected.
    second, first, constant = b * b - square * bb, a * b - square * ab, a * a - square * aa
    root = math.sqrt(max(0.0, first * first - second * constant))
    if second > 0:
        return max(0.0, (first - root) / second), (first + root) / second
    if constant <= 0 or second == 0:
        return 0.0, math.inf
    return max(0.0, (first - root) / second), math.inf


def _table(values: ArrayLike) -> Floats:
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError("a table of seeds and mazes is wanted")
    return table
