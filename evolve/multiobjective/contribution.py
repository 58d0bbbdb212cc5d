"""Contributions: the volume that a front would lose with each of its points.

Rewards are (n, k) arrays, one row an individual, and more is better in every column.
"""

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evolve.multiobjective.pareto import front, reference_point
from evolve.multiobjective.scalarization import Floats

EXACT = 3
SAMPLES = 4_096
BATCH = 256


def contributions(points: ArrayLike, reference: ArrayLike) -> Floats:
    """By how much the hypervolume of the front falls without each of its points, (n,); for up to 3 objectives.

    What is dominated, not better than the reference everywhere, or there twice, contributes nothing. In 3 objectives
    by a sweep along the third, O(n log n) but for the splicing of lists (Emmerich and Fonseca 2011).

    Args:
        points: (n, k).
        reference: (k,), the worst point that counts.

    Raises:
        ValueError: there are more than 3 objectives; `evolve.multiobjective.exact_hypervolume` may compute those, and
            `draw_contributor` draws by them.
    """
    gains, places, alone = _gains(points, reference)
    found = np.zeros(len(alone))
    match gains.shape[1]:
        case 1:
            found[places] = _line(gains)
        case 2:
            found[places] = _steps(gains)
        case 3:
            found[places] = _solid(gains)
        case k:
            raise ValueError(f"contributions to the hypervolume of {k} objectives are not computed here")
    return np.where(alone, found, 0.0)


def draw_contributor(gains: Floats, rng: np.random.Generator) -> int | None:
    """A row drawn with probability proportional to its contribution, for any number of objectives.

    Points are drawn uniformly from what is dominated, until one lies where a single row dominates: that row. They come
    from the box around all rows; or from the boxes of the rows, each as likely as it is large, where these are smaller
    together. A point that m rows dominate comes m times as often from there, which a single one is not: so the draw is
    exact (Karp and Luby 1983 count unions likewise).

    Args:
        gains: positive rows over the reference, each once, none of which dominates another.
        rng: where the draw comes from.

    Returns:
        The row; None where `SAMPLES` points found none.
    """
    sizes = gains.prod(axis=1)
    box = gains.max(axis=0, initial=0.0)
    chances = sizes / sizes.sum() if 0 < sizes.sum() < box.prod() else None
    for _ in range(SAMPLES // BATCH if len(gains) else 0):
        upper = box if chances is None else gains[rng.choice(len(gains), size=BATCH, p=chances)]
        points = rng.random((BATCH, gains.shape[1])) * upper
        covered = points[:, :1] <= gains[:, 0]
        for column, values in zip(points.T[1:], gains.T[1:], strict=True):
            covered &= column[:, None] <= values
        single = np.flatnonzero(covered.sum(axis=1) == 1)
        if single.size:
            return int(covered[single[0]].argmax())
    return None


def _gains(points: ArrayLike, reference: ArrayLike) -> tuple[Floats, NDArray[np.intp], NDArray[np.bool_]]:
    """What the front gains on the reference, each point once; where each is; which rows are there once."""
    rows = np.asarray(points, dtype=np.float64)
    gains = rows - reference_point(reference, rows.shape[1])
    _, firsts, which, counts = np.unique(rows, axis=0, return_index=True, return_inverse=True, return_counts=True)
    places = np.sort(firsts[front(rows[firsts])])
    places = places[(gains[places] > 0).all(axis=1)]
    return gains[places], places, np.asarray(counts[which.reshape(-1)] == 1)


def _line(gains: Floats) -> Floats:
    return gains[:, 0]  # a front of one objective is one point


def _steps(gains: Floats) -> Floats:
    """The corner of each step of a staircase."""
    order = np.argsort(gains[:, 0])
    x, y = gains[order].T
    found = np.empty(len(gains))
    found[order] = np.diff(x, prepend=0.0) * -np.diff(y, append=0.0)
    return found


@dataclass(slots=True)
class _Column:
    """Part of what one point alone dominates: from x `left` to `right`, above y `bottom`, since z was `since`."""

    left: float
    right: float
    bottom: float
    since: float


class _Sweep:
    """The staircase of the points above a falling height z, each with what it alone dominates."""

    def __init__(self, count: int) -> None:
        self.found = np.zeros(count)
        self._x = [0.0, np.inf]
        self._y = [np.inf, 0.0]
        self._who = [-1, -1]
        self._columns: dict[int, list[_Column]] = {-1: []}
        self._tops: dict[int, float] = {-1: 0.0}

    def add(self, who: int, x: float, y: float, z: float) -> None:
        """Lower the height to z, where a point joins that no other covers."""
        stop = bisect_right(self._x, x)
        start = stop
        while self._y[start - 1] <= y:
            start -= 1
        self._cut_below(self._who[start - 1], y, z)
        self._cut_left(self._who[stop], x, z)
        edges = [*self._x[start - 1 : stop], x]
        bottoms = [*self._y[start:stop], self._y[stop]]
        for gone in self._who[start:stop]:
            self.close(gone, z)
        self._columns[who] = [
            _Column(edges[number], edges[number + 1], bottom, z) for number, bottom in enumerate(bottoms)
        ]
        self._tops[who] = y
        self._x[start:stop], self._y[start:stop], self._who[start:stop] = [x], [y], [who]

    def close(self, who: int, z: float) -> None:
        """Take a point out."""
        for column in self._columns.pop(who):
            self._count(who, column, z)
        del self._tops[who]

    def end(self) -> None:
        """Lower the height to the ground."""
        for who in [who for who in self._who if who >= 0]:
            self.close(who, 0.0)

    def _count(self, who: int, column: _Column, z: float) -> None:
        area = (column.right - column.left) * (self._tops[who] - column.bottom)
        self.found[who] += area * (column.since - z)

    def _cut_below(self, who: int, y: float, z: float) -> None:
        """What a point has below y is covered now; columns reach the lower the further they are to the right."""
        columns = self._columns[who]
        first = bisect_right(columns, -y, key=lambda column: -column.bottom)
        if first < len(columns):
            merged = _Column(columns[first].left, columns[-1].right, y, z)
            for column in columns[first:]:
                self._count(who, column, z)
            columns[first:] = [merged]

    def _cut_left(self, who: int, x: float, z: float) -> None:
        """What a point has left of x is covered now."""
        columns = self._columns[who]
        last = bisect_left(columns, x, key=lambda column: column.left)
        for column in columns[:last]:
            self._count(who, column, z)
        rest = columns[last - 1] if last else None
        columns[:last] = [_Column(x, rest.right, rest.bottom, z)] if rest is not None and rest.right > x else []


def _solid(gains: Floats) -> Floats:
    sweep = _Sweep(len(gains))
    order = np.lexsort((gains[:, 0], gains[:, 1], gains[:, 2]))[::-1]
    for who in order.tolist():
        sweep.add(who, *gains[who].tolist())
    sweep.end()
    return sweep.found
