"""The grid of a run: the fittest candidate of each cell over the measures, of all islands together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evolve.problem import Measure
from service.projections.columns import Columns, Places
from service.projections.measures import measures_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A cell that is filled.

    Attributes:
        bins: place on each axis.
        values: of the measures of the candidate that holds it.
        candidates: how many fell into it.
    """

    bins: Sequence[int]
    candidate_id: str
    fitness: float
    values: Sequence[float]
    candidates: int


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


def _cells(columns: Columns, placed: Places, most: int) -> tuple[list[Cell], int]:
    fitness, values = columns.fitness[placed], columns.values[placed]
    bins = np.stack([axis.bins(column) for axis, column in zip(columns.axes, values.T, strict=True)], axis=1)
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
