"""Partitions of the measure space into cells: the boxes of a grid, or the regions around centroids."""

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cached_property
from typing import Protocol, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from evolve.archives.axis import Axis
from evolve.archives.centroids import centroids, nearest
from evolve.multiobjective.scalarization import Floats
from evolve.problem import Measure

Cell = tuple[int, ...]
_Partition = TypeVar("_Partition", bound="Partition")


class Partition(Protocol):
    """Cells that share out the measure space: each point lies in exactly one.

    Attributes:
        axes: the measures with their ranges, which may grow.
        size: how many cells there are.
    """

    axes: Sequence[Axis]
    size: int

    def covering(self, measures: Mapping[str, float]) -> Self:
        """The partition with its ranges grown to hold a point; itself where they do."""

    def cell(self, measures: Mapping[str, float]) -> Cell:
        """The cell in which a point lies."""

    def cells(self, values: Floats) -> NDArray[np.intp]:
        """The cells of many points, (n, axes), a row each, as `cell` gives them."""


class GridPartition:
    """Boxes: each axis is cut into bins of one width; what lies outside a range falls into the outermost bin."""

    def __init__(self, measures: Sequence[Measure]) -> None:
        self.axes: Sequence[Axis] = [Axis(measure) for measure in measures]
        self.size = 1
        for measure in measures:
            self.size *= measure.bins

    def covering(self, measures: Mapping[str, float]) -> Self:
        """The grid with its ranges grown to hold a point; itself where they do."""
        return _covering(self, measures)

    def cell(self, measures: Mapping[str, float]) -> Cell:
        """The bin on each axis."""
        return tuple(axis.bin(measures[axis.name]) for axis in self.axes)

    def cells(self, values: Floats) -> NDArray[np.intp]:
        """The bins of many points, (n, axes)."""
        return np.stack([axis.bins(column) for axis, column in zip(self.axes, values.T, strict=True)], axis=1)


class CvtPartition:
    """Regions of the points nearest to a centroid, all of about one size (Vassiliades, Chatzilygeroudis, Mouret 2018).

    However many measures there are, there are as many cells as are asked for; the cells of a grid multiply. Distances
    are taken in shares of the axes' ranges.

    """

    def __init__(self, measures: Sequence[Measure], size: int, seed: int) -> None:
        self.axes: Sequence[Axis] = [Axis(measure) for measure in measures]
        self.size = size
        self._seed = seed

    @cached_property
    def centres(self) -> Floats:
        """The centroids, (size, axes), in shares of the ranges; they are found when somebody first asks."""
        return centroids(self.size, len(self.axes), self._seed)

    def covering(self, measures: Mapping[str, float]) -> Self:
        """The tessellation with its ranges grown to hold a point; itself where they do. The centroids stay."""
        return _covering(self, measures)

    def cell(self, measures: Mapping[str, float]) -> Cell:
        """The nearest centroid; the first of equally near ones."""
        squares = np.zeros(self.size)
        for axis, column in zip(self.axes, self.centres.T, strict=True):
            squares += (axis.share(measures[axis.name]) - column) ** 2
        return (int(squares.argmin()),)

    def cells(self, values: Floats) -> NDArray[np.intp]:
        """The nearest centroids of many points, (n, 1)."""
        points = np.stack([axis.shares(column) for axis, column in zip(self.axes, values.T, strict=True)], axis=1)
        return nearest(points, self.centres)[:, None]


def _covering(partition: _Partition, measures: Mapping[str, float]) -> _Partition:
    axes = [axis.covering(measures[axis.name]) for axis in partition.axes]
    if all(new is old for new, old in zip(axes, partition.axes, strict=True)):
        return partition
    grown = copy(partition)
    grown.axes = axes
    return grown
