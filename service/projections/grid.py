"""The grid of a run: the fittest candidate of each cell over the measures, of all islands together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.problem import Measure
from service.projections.columns import Columns, Floats, Places
from service.projections.measures import measures_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell that is filled.

    Attributes:
        bins: place on each axis.
        values: of the measures of the candidate that holds it.
        candidates: how many fell into it.
        place: which evaluation of the run was that of the one that holds it.
    """

    bins: Sequence[int]
    candidate_id: str
    fitness: float
    values: Sequence[float]
    candidates: int
    place: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Axes as declared, the range of each (None: nothing was seen), and cells, the fittest first.

    Attributes:
        filled: how many cells are, those included that are not told of.
    """

    axes: Sequence[Measure]
    ranges: Sequence[tuple[float, float] | None]
    cells: Sequence[Cell]
    filled: int


def fold_grid(columns: Columns, most: int) -> Grid:
    """Place candidates as a grid archive does: of equals the newest holds the cell; at most so many cells."""
    measures = measures_of(columns.run)
    placed = columns.placed() if measures else np.zeros(0, dtype=np.intp)
    cells, filled = _cells(columns, placed, most) if len(placed) else ([], 0)
    return Grid(axes=measures, ranges=[axis.range for axis in columns.axes], cells=cells, filled=filled)


def cover(columns: Columns) -> tuple[NDArray[np.int64], Floats] | None:
    """How many cells were filled by each evaluation, and their quality-diversity score; None: there are no measures.

    The score is the sum, over filled cells, of the fitness of the one that holds the cell (Pugh, Soros and Stanley
    2016, "Quality Diversity"). Where the lowest fitness is below 0 all are counted from there, so that a cell that is
    filled never takes anything away. Cells are those of the axes' ranges now.
    """
    if not columns.axes:
        return None
    placed, filled, gained = columns.placed(), np.zeros(len(columns), dtype=np.int64), np.zeros(len(columns))
    if len(placed):
        fitness = columns.fitness[placed]
        bins = _bins(columns, placed)
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


def _bins(columns: Columns, placed: Places) -> Places:
    values = columns.values[placed]
    return np.stack([axis.bins(column) for axis, column in zip(columns.axes, values.T, strict=True)], axis=1)


def _cells(columns: Columns, placed: Places, most: int) -> tuple[list[Cell], int]:
    fitness, values, bins = columns.fitness[placed], columns.values[placed], _bins(columns, placed)
    # By cell, in it by fitness, among equals by age: the last one of each holds it.
    order = np.lexsort((placed, fitness, *bins.T[::-1]))
    ends = np.flatnonzero(np.append((bins[order][1:] != bins[order][:-1]).any(axis=1), True))
    counts, holders = np.diff(ends, prepend=-1), order[ends]
    first = np.lexsort((*bins[holders].T[::-1], -fitness[holders]))[:most]
    shown = [
        Cell(
            bins=cell,
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
