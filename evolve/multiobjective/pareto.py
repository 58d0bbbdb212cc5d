"""Pareto: who is beaten by nobody, ranks and crowding behind them, and the volume that a set dominates.

Rewards are (n, k) arrays, one row an individual, and more is better in every column.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evolve.multiobjective.scalarization import Floats

Places = NDArray[np.int32]
SMALL = 256  # rows up to which all are compared with all
FEW = 32  # rows that are compared with all others one by one
STRONG = 32  # rows that are likely to beat many, tried on all before anything else
LARGE_FRONTS = 200  # a front with one in so many rows is found at once, a smaller one row by row


def front(rewards: ArrayLike) -> NDArray[np.bool_]:
    """Which rows no other row dominates (at least as good everywhere, better somewhere); equal rows stay together.

    By sorting for up to 2 objectives, by divide and conquer for more (Kung, Luccio and Preparata 1975): O(n log n) and
    O(n (log n)^(k-2)).

    Raises:
        ValueError: a reward is NaN or infinite.
    """
    places, which = _distinct(_points(rewards))
    return _maximal(places)[which]


def dominated(rewards: ArrayLike, by: ArrayLike) -> NDArray[np.bool_]:
    """Which rows some row of another set dominates.

    Raises:
        ValueError: a reward is NaN or infinite.
    """
    points, others = _points(rewards), _points(by)
    if min(len(points), len(others)) <= FEW:
        return _beaten(points, others)
    places, which = _distinct(np.concatenate([others, points]))
    sources, targets = np.unique(which[: len(others)]), np.unique(which[len(others) :])
    beaten = np.zeros(len(places), dtype=np.bool_)
    # A row of both sets covers itself: only the rest of the other set can beat it.
    alone = np.isin(targets, sources, assume_unique=True)
    beaten[targets[~alone]] = _covered(places[targets[~alone]], places[sources])
    if alone.any():
        beaten[sources] |= ~_maximal(places[sources])
    return beaten[which[len(others) :]]


def ranks(rewards: ArrayLike) -> NDArray[np.intp]:
    """Rank of each row by non-dominated sorting: 0 on the front, 1 on the front without those, and so on (n,).

    With two objectives O(n log n) (Jensen 2003). With three O(n log n log f): each of f fronts keeps a staircase, and a
    row seeks its front by binary search (ENS-BS; Zhang, Tian, Cheng and Jin 2015). With more front by front while
    fronts are large, at most `LARGE_FRONTS` of them, then by binary search.

    Raises:
        ValueError: a reward is NaN or infinite.
    """
    points = _points(rewards)
    if points.shape[1] == 1:
        inverse: NDArray[np.intp] = np.unique(-points[:, 0], return_inverse=True)[1]
        return inverse
    places, which = _distinct(points)
    if places.shape[1] == 2:
        return _heights(places[:, 1])[which]
    return (_sorted_in(places[:, 1:], _Staircase) if places.shape[1] == 3 else _peeled(places))[which]


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
        ValueError: there are more than 3 objectives, which `hypervolume_sampled` takes; or the reference point is not
            finite, or has another number of objectives.
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


def reference_point(reference: ArrayLike, width: int) -> Floats:
    """A reference point of so many objectives, as an array.

    Raises:
        ValueError: it is not finite, or has another number of objectives.
    """
    point = np.asarray(reference, dtype=np.float64)
    if point.shape != (width,):
        raise ValueError(f"the reference point must have one number for each of {width} objectives, not {point.shape}")
    if not np.isfinite(point).all():
        raise ValueError("the reference point must be finite")
    return point


def _points(rewards: ArrayLike) -> Floats:
    points = np.asarray(rewards, dtype=np.float64)
    if points.ndim != 2:
        raise ValueError(f"rewards must have one row for each individual, not shape {points.shape}")
    if not np.isfinite(points).all():
        raise ValueError("rewards must be finite")
    return points


def _distinct(points: Floats) -> tuple[Places, NDArray[np.intp]]:
    """The distinct rows, each value by its place in its column, in falling order of the columns; and which each row is.

    Places are compared as values are, and their sums neither overflow nor round.
    """
    places = np.empty(points.shape, dtype=np.int32)
    for number, column in enumerate(points.T):
        places[:, number] = np.unique(column, return_inverse=True)[1]
    order = np.lexsort(-places.T[::-1])
    ordered = places[order]
    new = np.ones(len(ordered), dtype=np.bool_)
    new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    which = np.empty(len(ordered), dtype=np.intp)
    which[order] = np.cumsum(new) - 1
    return ordered[new], which


def _maximal(places: Places) -> NDArray[np.bool_]:
    """Which rows are covered by no other; rows are distinct and in falling order of their columns."""
    n, width = places.shape
    if width < 2:
        return np.arange(n) < 1
    if width == 2:
        return _highest(places[:, 1])
    mask = np.ones(n, dtype=np.bool_)
    strong = np.argsort(-places.sum(axis=1, dtype=np.int64), kind="stable")[:STRONG]
    for best in strong:
        if mask[best]:
            mask &= ~(places <= places[best]).all(axis=1)
            mask[best] = True
    left = np.flatnonzero(mask)
    mask[left] = _halved(places[left])
    return mask


def _highest(column: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which values are above all before them."""
    before = np.maximum.accumulate(np.concatenate([[-1], column[:-1]])) if len(column) else column
    return np.asarray(column > before)


def _heights(column: NDArray[np.int32]) -> NDArray[np.intp]:
    """The rank of each value: the first front of which all values before it are below; as `ranks` in two columns."""
    highest: list[int] = []  # of each front, with its sign turned: they rise from front to front
    found = np.empty(len(column), dtype=np.intp)
    for row, value in enumerate(column.tolist()):
        rank = bisect_right(highest, -value)
        highest[rank : rank + 1] = [-value]
        found[row] = rank
    return found


class _Staircase:
    """A front in two columns: the highest second value from each first value on; O(log n) but for splicing a list."""

    def __init__(self) -> None:
        self._first: list[int] = []
        self._second: list[int] = []

    def covers(self, row: Sequence[int]) -> bool:
        """Whether one of them is at least as good everywhere."""
        place = bisect_left(self._first, row[0])
        return place < len(self._first) and self._second[place] >= row[1]

    def add(self, row: Sequence[int]) -> None:
        """Take in a row that none of them covers."""
        stop = bisect_right(self._first, row[0])
        start = stop
        while start and self._second[start - 1] <= row[1]:
            start -= 1
        self._first[start:stop], self._second[start:stop] = [row[0]], [row[1]]


class _Block:
    """A front in any number of columns, all of whose rows are compared."""

    def __init__(self) -> None:
        self._rows: Places = np.empty((0, 0), dtype=np.int32)
        self._count = 0

    def covers(self, row: Sequence[int]) -> bool:
        """Whether one of them is at least as good everywhere."""
        held = self._rows[:, : self._count]
        mask = held[0] >= row[0]
        for column, value in zip(held[1:], row[1:], strict=True):
            mask &= column >= value
        return bool(mask.any())

    def add(self, row: Sequence[int]) -> None:
        """Take in a row that none of them covers."""
        if self._count == self._rows.shape[1]:
            grown = np.empty((len(row), max(16, 2 * self._count)), dtype=np.int32)
            grown[:, : self._count] = self._rows[:, : self._count] if self._count else 0
            self._rows = grown
        self._rows[:, self._count] = row
        self._count += 1


def _sorted_in(places: Places, kind: type[_Staircase] | type[_Block]) -> NDArray[np.intp]:
    """As `ranks`, of rows in falling order: whoever is covered by a front is covered by all fronts before it."""
    fronts: list[_Staircase | _Block] = []
    found = np.empty(len(places), dtype=np.intp)
    for number, row in enumerate(places.tolist()):
        rank, stop = 0, len(fronts)
        while rank < stop:
            middle = (rank + stop) // 2
            if fronts[middle].covers(row):
                rank = middle + 1
            else:
                stop = middle
        if rank == len(fronts):
            fronts.append(kind())
        fronts[rank].add(row)
        found[number] = rank
    return found


def _peeled(places: Places) -> NDArray[np.intp]:
    """As `ranks`, of rows as `_maximal` takes them: what a front leaves is in their order too."""
    found = np.empty(len(places), dtype=np.intp)
    left = np.arange(len(places))
    rank, size = 0, len(places)
    while left.size and size * LARGE_FRONTS >= len(places):
        mask = _maximal(places[left])
        found[left[mask]] = rank
        left, size = left[~mask], int(mask.sum())
        rank += 1
    found[left] = rank + _sorted_in(places[left, 1:], _Block)
    return found


def _halved(places: Places) -> NDArray[np.bool_]:
    """As `_maximal`: the front of the upper half, and what of the front of the lower half that does not cover."""
    n = len(places)
    if n <= SMALL:
        return np.asarray(_covers(places, places).sum(axis=0) == 1)
    upper, lower = places[: n // 2], places[n // 2 :]
    above, below = _halved(upper), _halved(lower)
    # In the first column none of the upper half is below one of the lower half.
    below[below] = ~_covered(lower[below][:, 1:], upper[above][:, 1:])
    return np.concatenate([above, below])


def _covered(rows: Places, by: Places) -> NDArray[np.bool_]:
    """Which rows some row of another set is at least as good as, everywhere."""
    if not len(rows) or not len(by):
        return np.zeros(len(rows), dtype=np.bool_)
    if rows.shape[1] == 1:
        return np.asarray(rows[:, 0] <= by[:, 0].max())
    if rows.shape[1] == 2:
        return _under_stairs(rows, by)
    if len(rows) * len(by) <= SMALL * SMALL:
        return np.asarray(_covers(by, rows).any(axis=0))
    if by[:, 0].min() >= rows[:, 0].max():
        return _covered(rows[:, 1:], by[:, 1:])
    return _split(rows, by)


def _split(rows: Places, by: Places) -> NDArray[np.bool_]:
    """As `_covered`, by a value of the first column: what is above covers what is below wherever the rest does."""
    rows_first, by_first = rows[:, 0], by[:, 0]
    both = np.concatenate([rows_first, by_first])
    middle = np.partition(both, len(both) // 2)[len(both) // 2]
    if middle == both.min():
        middle += 1
    high, by_high = rows_first >= middle, by_first >= middle
    found = np.zeros(len(rows), dtype=np.bool_)
    found[high] = _covered(rows[high], by[by_high])
    found[~high] = _covered(rows[~high][:, 1:], by[by_high][:, 1:])
    left = np.flatnonzero(~high & ~found)
    found[left] = _covered(rows[left], by[~by_high])
    return found


def _covers(places: Places, others: Places) -> NDArray[np.bool_]:
    """Which are at least as good everywhere as which, (n, m)."""
    found = places[:, :1] >= others[:, 0]
    for number in range(1, places.shape[1]):
        found &= places[:, number, None] >= others[:, number]
    return np.asarray(found)


def _beaten(points: Floats, others: Floats) -> NDArray[np.bool_]:
    """Which rows are dominated by one of others, when one side is few."""
    if len(others) > len(points):
        found = [bool(((others >= point).all(axis=1) & (others > point).any(axis=1)).any()) for point in points]
        return np.array(found, dtype=np.bool_)
    beaten = np.zeros(len(points), dtype=np.bool_)
    for other in others:
        beaten |= (points <= other).all(axis=1) & (points < other).any(axis=1)
    return beaten


def _under_stairs(rows: Places, by: Places) -> NDArray[np.bool_]:
    """As `_covered` in two columns: the highest second value among those whose first is no lower."""
    order = np.argsort(by[:, 0])
    stairs = np.maximum.accumulate(by[order, 1][::-1])[::-1]
    place = np.searchsorted(by[order, 0], rows[:, 0])
    return np.asarray(np.append(stairs, -1)[place] >= rows[:, 1])


def _gains(points: ArrayLike, reference: ArrayLike) -> Floats:
    rows = _points(points)
    gains = rows - reference_point(reference, rows.shape[1])
    return gains[(gains > 0).all(axis=1)]


def _area(gains: Floats) -> float:
    """Area under the staircase: in falling order of x, each point adds what its y rises above those before it."""
    order = np.lexsort((-gains[:, 1], -gains[:, 0]))
    x, y = gains[order].T
    height = np.maximum.accumulate(y)
    return float((x * np.diff(height, prepend=0.0)).sum())


def _volume(gains: Floats) -> float:
    """Slabs between neighbouring heights z, each with the area under the staircase of the points that reach it.

    Points join in falling order of z, and the area grows by the steps that they cover: a sweep in O(n log n), but for
    splicing lists (Fonseca, Paquete and Lopez-Ibanez 2006).
    """
    steps_x, steps_y = [0.0, np.inf], [np.inf, 0.0]  # the outermost never leave
    total = area = 0.0
    below = gains[:, 2].max()
    for x, y, z in gains[np.lexsort(-gains.T)].tolist():
        total, below = total + area * (below - z), z
        place = bisect_left(steps_x, x)
        if steps_y[place] >= y:
            continue
        stop = place + (steps_x[place] == x)
        right = x
        while steps_y[place - 1] <= y:
            area += (right - steps_x[place - 1]) * (y - steps_y[place])
            place, right = place - 1, steps_x[place - 1]
        area += (right - steps_x[place - 1]) * (y - steps_y[place])
        steps_x[place:stop], steps_y[place:stop] = [x], [y]
    return float(total + area * below)
