"""Tests of differences between means, and their correction where several are made at once."""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from evolve.statistics.t_distribution import upper_tail


def paired_p_value(differences: ArrayLike) -> float:
    """Student's t test that the mean of differences is zero, two-sided.

    Args:
        differences: (n,), two or more.
    """
    given = np.asarray(differences, dtype=np.float64)
    return _two_sided(float(given.mean()), float(given.var(ddof=1)) / given.size, given.size - 1)


def welch_p_value(values: ArrayLike, others: ArrayLike) -> float:
    """Welch's t test that two means are equal, two-sided; the degrees of freedom are rounded down.

    Welch 1947, "The generalization of 'Student's' problem when several different population variances are involved".

    Args:
        values, others: (n,) and (m,), two or more of each.
    """
    own, their = (np.asarray(given, dtype=np.float64) for given in (values, others))
    parts = [float(given.var(ddof=1)) / given.size for given in (own, their)]
    spread = sum(parts)
    divisor = sum(part * part / (given.size - 1) for part, given in zip(parts, (own, their), strict=True))
    freedom = max(1, math.floor(spread * spread / divisor + 1e-9)) if divisor else 1
    return _two_sided(float(own.mean() - their.mean()), spread, freedom)


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values of tests that are made together, in their order.

    Those below a level keep the chance of any false finding among all of them below that level, however the tests
    depend on one another (Holm 1979, "A simple sequentially rejective multiple test procedure").
    """
    count, highest, found = len(p_values), 0.0, [0.0] * len(p_values)
    for rank, place in enumerate(sorted(range(count), key=p_values.__getitem__)):
        highest = max(highest, min(1.0, (count - rank) * p_values[place]))
        found[place] = highest
    return found


def _two_sided(mean: float, variance: float, freedom: int) -> float:
    if not variance:
        return 0.0 if mean else 1.0
    return min(1.0, 2 * upper_tail(abs(mean) / math.sqrt(variance), freedom))
