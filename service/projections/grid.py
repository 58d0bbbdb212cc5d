"""The cells of a run: the fittest candidate of each cell over the measures, of all islands together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.archives import CvtPartition
from evolve.problem import Measure
from service.projections.columns import Columns, Floats
from service.projections.measures import measures_of


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledCell:
    """A cell that is filled.

    Attributes:
        bins: place on each axis of a grid; of a tessellation the number of the region alone.
        centre: of the region of a tessellation, on each axis; None: the cell is one of a grid.
        values: of the measures of the candidate that holds it.
        candidates: how many fell into it.
        place: which evaluation of the run was that of the one that holds it.
    """

    bins: Sequence[int]
    centre: Sequence[float] | None
    candidate_id: str
    fitness: float
    values: Sequence[float]
    candidates: int
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Axes as declared, the range of each (None: nothing was seen), and cells, the fittest first.

    Attributes:
        evaluations: of how many the grid is.
        size: how many cells there are, filled or not.
        tessellation: whether cells are the regions around centroids, not the boxes of a grid.
        filled: how many cells are, those included that are not told of.
    """

    axes: Sequence[Measure]
    ranges: Sequence[tuple[float, float] | None]
    cells: Sequence[FilledCell]
    filled: int
    evaluations: int
    size: int
    tessellation: bool


def fold_grid(columns: Columns, maximum: int, until: int | None = None) -> Grid:
    """Place candidates as a grid archive does: of equals the newest holds the cell.

    Args:
        maximum: cells that are told of, at most.
        until: only the first so many evaluations count, in cells of the axes' ranges now; None: all of them.
    """
    count = len(columns) if until is None else min(until, len(columns))
    cells, filled = _cells(columns, maximum, count)
    return Grid(
        axes=measures_of(columns.run),
        ranges=[axis.range for axis in columns.axes],
        cells=cells,
        filled=filled,
        evaluations=count,
        size=columns.partition.size if columns.partition else 0,
        tessellation=isinstance(columns.partition, CvtPartition),
    )


def cover(columns: Columns) -> tuple[NDArray[np.int64], Floats] | None:
    """How many cells were filled by each evaluation, and their quality-diversity score; None: there are no measures.

    The score is the sum, over filled cells, of the fitness of the one that holds the cell (Pugh, Soros and Stanley
    2016, "Quality Diversity"). Where the lowest fitness is below 0 all are counted from there, so that a cell that is
    filled never takes anything away. Cells are those of the axes' ranges now.
    """
    if not columns.axes:
        return None
    placed, bins = columns.placed()
    filled, gained = np.zeros(len(columns), dtype=np.int64), np.zeros(len(columns))
    if len(placed):
        fitness = columns.fitness[placed]
        order = np.lexsort((placed, *bins.T[::-1]))  # by cell, in it by age
        first = np.insert((bins[order][1:] != bins[order][:-1]).any(axis=1), 0, True)
        held = _held(fitness[order], first)
        before = np.where(first, min(0.0, float(fitness.min())), np.insert(held[:-1], 0, 0.0))
        filled[placed[order]] = first
        gained[placed[order]] = held - before
    return np.cumsum(filled), np.cumsum(gained)


def _held(fitness: Floats, first: NDArray[np.bool_]) -> Floats:
    """The highest so far in each cell; cells stand one after the other, each begins at its `first`."""
    values, ranks = np.unique(fitness, return_inverse=True)
    cell = (np.cumsum(first) - 1) * len(values)
    return np.asarray(values[np.maximum.accumulate(cell + ranks) - cell])


def _cells(columns: Columns, maximum: int, count: int) -> tuple[list[FilledCell], int]:
    placed, bins = columns.placed()
    placed, bins = placed[placed < count], bins[placed < count]
    if not len(placed):
        return [], 0
    fitness, values = columns.fitness[placed], columns.values[placed]
    # By cell, in it by fitness, among equals by age: the last one of each holds it.
    order = np.lexsort((placed, fitness, *bins.T[::-1]))
    ends = np.flatnonzero(np.append((bins[order][1:] != bins[order][:-1]).any(axis=1), True))
    counts, holders = np.diff(ends, prepend=-1), order[ends]
    first = np.lexsort((*bins[holders].T[::-1], -fitness[holders]))[:maximum]
    shown = [
        FilledCell(
            bins=cell,
            centre=_centre(columns, cell),
            candidate_id=columns.ids[place],
            fitness=worth,
            values=measured,
            candidates=count,
            place=place,
        )
        for cell, place, worth, measured, count in zip(
            bins[holders[first]].tolist(),
            placed[holders[first]].tolist(),
            fitness[holders[first]].tolist(),
            values[holders[first]].tolist(),
            counts[first].tolist(),
            strict=True,
        )
    ]
    return shown, len(ends)


def _centre(columns: Columns, cell: Sequence[int]) -> Sequence[float] | None:
    """Where the region of a tessellation lies, in units of the measures."""
    if not isinstance(columns.partition, CvtPartition):
        return None
    shares = columns.partition.centres[cell[0]].tolist()
    return [axis.value(share) for axis, share in zip(columns.axes, shares, strict=True)]
