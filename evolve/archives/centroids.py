"""Centroids of a centroidal Voronoi tessellation of the unit cube, by Lloyd's method."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from evolve.multiobjective.scalarization import Floats

ROUNDS = 25
MAX_SAMPLES = 50_000
WORK = 1_000_000_000  # comparisons of coordinates, about: a few seconds
STILL = 1e-3  # of the mean distance between neighbours: a round that moves no centroid farther is the last
_STREAM = 0x435654  # apart from the streams of proposals
_SLAB = 256  # points that are compared at once
_GUESSES = 16  # centres tried on either side for a first bound


@lru_cache(maxsize=16)
def centroids(size: int, width: int, seed: int) -> Floats:
    """Centroids of so many regions of about one size, (size, width) in [0, 1], by their first coordinate.

    Lloyd (1982) on uniform samples, as Vassiliades, Chatzilygeroudis and Mouret (2018) take them: each sample goes to
    its nearest centroid, each centroid to the mean of its samples, until hardly any moves. The same numbers on every
    machine: only sums and products in a fixed order are used. Of thousands of regions in many dimensions, which only
    more samples than can be afforded would even out, the centroids are the samples themselves.
    """
    rng = np.random.default_rng([seed, size, width, _STREAM])
    points = rng.random((_samples(size, width), width))
    points = points[np.argsort(points[:, 0], kind="stable")]
    centres = _sorted(points[rng.choice(len(points), size, replace=False)])
    for _ in range(ROUNDS if len(points) > size else 0):
        which = nearest(points, centres)
        counts = np.bincount(which, minlength=size)
        sums = np.stack([np.bincount(which, weights=column, minlength=size) for column in points.T], axis=1)
        moved = np.where(counts[:, None] > 0, sums / np.maximum(counts, 1)[:, None], centres)
        farthest = float(np.abs(moved - centres).max())
        centres = _sorted(moved)
        if farthest < STILL * size ** (-1 / width):
            break
    centres.flags.writeable = False
    return centres


def _samples(size: int, width: int) -> int:
    """How many samples are worth their time: they are compared with fewer centres the fewer axes there are."""
    compared = min(1.0, 4 * size ** (-1 / width))
    affordable = int(WORK / (ROUNDS * size * width * compared))
    return max(size, min(max(2_000, 25 * size), MAX_SAMPLES, affordable))


def nearest(points: Floats, centres: Floats) -> NDArray[np.intp]:
    """Which centre is nearest to each point, (n,); the first of equally near ones.

    Points are taken slab by slab along the first axis, and compared with the centres that can be nearest to one of the
    slab: those no farther off on that axis than the nearest that a few guesses found.

    Args:
        centres: (m, width), in rising order of the first coordinate.
    """
    found = np.zeros(len(points), dtype=np.intp)
    order = np.argsort(points[:, 0], kind="stable")
    first = np.ascontiguousarray(centres[:, 0])
    for start in range(0, len(points), _SLAB):
        rows = order[start : start + _SLAB]
        slab = points[rows]
        reach = _bound(slab, centres, first)
        low = int(np.searchsorted(first, slab[0, 0] - reach, side="left"))
        high = int(np.searchsorted(first, slab[-1, 0] + reach, side="right"))
        found[rows] = low + _squares(slab, centres[low:high]).argmin(axis=1)
    return found


def _bound(slab: Floats, centres: Floats, first: Floats) -> float:
    """How far the nearest centre can be from a point of a slab, at most."""
    middle = np.searchsorted(first, slab[:, 0])
    begin = np.clip(middle - _GUESSES, 0, max(0, len(centres) - 2 * _GUESSES))
    tried = centres[np.minimum(begin[:, None] + np.arange(2 * _GUESSES), len(centres) - 1)]
    squares = np.square(tried - slab[:, None, :]).sum(axis=2).min(axis=1)
    return float(np.sqrt(squares.max())) * (1 + 1e-9)  # above what rounding may take away


def _squares(points: Floats, centres: Floats) -> Floats:
    squares = np.zeros((len(points), len(centres)))
    for column, other in zip(points.T, centres.T, strict=True):
        squares += (column[:, None] - other) ** 2
    return squares


def _sorted(centres: Floats) -> Floats:
    return centres[np.lexsort(centres.T[::-1])]
