"""Pareto: who is beaten by nobody, ranks and crowding behind them, and the volume that a set dominates.

Rewards are (n, k) arrays, one row an individual, and more is better in every column.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evolve.scalarization import Floats


def front(rewards: ArrayLike) -> NDArray[np.bool_]:
    """Which rows no other row dominates (at least as good everywhere, better somewhere); equal rows stay together.

    Raises:
        ValueError: a reward is NaN or infinite.
    """
    points = _points(rewards)
    mask = np.zeros(len(points), dtype=np.bool_)
    # A row that dominates another has no smaller sum and comes before it in the order below, ties included.
    order = np.lexsort((*points.T[::-1], points.sum(axis=1)))[::-1]
    while order.size:
        best, others = order[0], order[1:]
        mask[best] = True
        beaten = _beaten(points[others], points[best])
        order = others[~beaten]
    return mask


def ranks(rewards: ArrayLike) -> NDArray[np.intp]:
    """Rank of each row by non-dominated sorting: 0 on the front, 1 on the front without those, and so on (n,)."""
    points = _points(rewards)
    if points.shape[1] == 1:
        inverse: NDArray[np.intp] = np.unique(-points[:, 0], return_inverse=True)[1]
        return inverse
    found = np.zeros(len(points), dtype=np.intp)
    left = np.arange(len(points))
    rank = 0
    while left.size:
        mask = front(points[left])
        found[left[mask]] = rank
        left = left[~mask]
        rank += 1
    return found


def crowding(rewards: ArrayLike) -> Floats:
    """Crowding distance of each row of one front (Deb et al. 2002, NSGA-II), (n,).

    The sum over objectives of the gap between a row's neighbours, in shares of the objective's range; infinite at both
    ends of an objective. An objective on which all rows are equal counts for nothing.
    """
    points = _points(rewards)
    total = np.zeros(len(points))
    for column in points.T:
        span = np.ptp(column) if column.size else 0.0
        if span == 0:
            continue
        order = np.argsort(column, kind="stable")
        total[order[[0, -1]]] = np.inf
        total[order[1:-1]] += (column[order[2:]] - column[order[:-2]]) / span
    return total


def hypervolume(points: ArrayLike, reference: ArrayLike) -> float:
    """Volume between the reference point and the front (Zitzler and Thiele 1998), exact for up to 3 objectives.

    Args:
        points: (n, k); a point that is not better than the reference everywhere adds nothing.
        reference: (k,), the worst point that counts.

    Raises:
        ValueError: there are more than 3 objectives; `hypervolume_sampled` takes those.
    """
    gains = _gains(points, reference)
    if not gains.size:
        return 0.0
    match gains.shape[1]:
        case 1:
            return float(gains.max())
        case 2:
            return _area(gains)
        case 3:
            return _volume(gains)
        case k:
            raise ValueError(f"the hypervolume of {k} objectives is sampled, not computed")


def hypervolume_sampled(
    points: ArrayLike, reference: ArrayLike, rng: np.random.Generator, samples: int = 10_000
) -> float:
    """Unbiased Monte Carlo estimate of the hypervolume, for any number of objectives.

    Points are drawn uniformly from the box between the reference and the best of each objective; the share of them that
    is dominated, times the box. Its standard deviation is box * sqrt(p (1 - p) / samples), p being that share.
    """
    gains = _gains(points, reference)
    if not gains.size:
        return 0.0
    box = gains.max(axis=0)
    drawn = rng.random((samples, gains.shape[1])) * box
    covered = np.zeros(samples, dtype=np.bool_)
    for gain in gains[front(gains)]:
        covered |= (drawn <= gain).all(axis=1)
    return float(box.prod() * covered.mean())


def _points(rewards: ArrayLike) -> Floats:
    points = np.asarray(rewards, dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"rewards must have one row for each individual, not shape {points.shape}")
    if not np.isfinite(points).all():
        raise ValueError("rewards must be finite")
    return points


def _beaten(points: Floats, best: Floats) -> NDArray[np.bool_]:
    return np.asarray((points <= best).all(axis=1) & (points < best).any(axis=1))


def _gains(points: ArrayLike, reference: ArrayLike) -> Floats:
    gains = _points(points) - np.asarray(reference, dtype=np.float64)
    return gains[(gains > 0).all(axis=1)]


def _area(gains: Floats) -> float:
    """Area under the staircase: in falling order of x, each point adds what its y rises above those before it."""
    order = np.lexsort((-gains[:, 1], -gains[:, 0]))
    x, y = gains[order].T
    height = np.maximum.accumulate(y)
    return float((x * np.diff(height, prepend=0.0)).sum())


def _volume(gains: Floats) -> float:
    """Slabs between neighbouring heights z, each with the area of the points that reach it."""
    gains = gains[front(gains)]
    gains = gains[np.argsort(-gains[:, 2])]
    thickness = gains[:, 2] - np.append(gains[1:, 2], 0.0)
    return float(sum(_area(gains[: i + 1, :2]) * slab for i, slab in enumerate(thickness) if slab > 0))
