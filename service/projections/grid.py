"""The grid of a run: the fittest candidate of each cell over the measures, of all islands together."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from evolve.archive import Axis
from evolve.problem import Measure
from service.ports import RunRecord, Scored


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
    """Axes as declared, the range of each (None: nothing was seen), and the cells, the fittest first."""

    axes: Sequence[Measure]
    ranges: Sequence[tuple[float, float] | None]
    cells: Sequence[Cell]


def measures_of(run: RunRecord) -> tuple[Measure, ...]:
    """The axes of a run's grid: its measures, else those that a grid archive takes on its own; else none."""
    names = ("name", "bins", "low", "high")
    measures = tuple(Measure(**{key: entry[key] for key in names if key in entry}) for entry in run.measures)
    if measures or run.config.get("archive", {}).get("kind") != "grid":
        return measures
    return Measure(name="complexity"), Measure(name="novelty")


def fold_grid(measures: Sequence[Measure], scored: Iterable[Scored]) -> Grid:
    """Place candidates, given in order of evaluation, as a grid archive does: of equals the newest holds the cell."""
    axes = [Axis(measure) for measure in measures]
    placed: list[tuple[Scored, list[float]]] = []
    for one in scored:
        values = [one.descriptor.get(axis.name, math.nan) for axis in axes]
        if one.fitness is None or not all(map(math.isfinite, values)) or not axes:
            continue
        for axis, value in zip(axes, values, strict=True):
            axis.cover(value)
        placed.append((one, values))
    holders: dict[tuple[int, ...], tuple[Scored, list[float]]] = {}
    counts: dict[tuple[int, ...], int] = {}
    for one, values in placed:
        bins = tuple(axis.bin(value) for axis, value in zip(axes, values, strict=True))
        counts[bins] = counts.get(bins, 0) + 1
        if bins not in holders or _fitness(one) >= _fitness(holders[bins][0]):
            holders[bins] = one, values
    cells = [
        Cell(bins=bins, candidate_id=one.candidate_id, fitness=_fitness(one), values=values, candidates=counts[bins])
        for bins, (one, values) in holders.items()
    ]
    cells.sort(key=lambda cell: (-cell.fitness, tuple(cell.bins)))
    return Grid(axes=measures, ranges=[axis.range for axis in axes], cells=cells)


def _fitness(scored: Scored) -> float:
    return -math.inf if scored.fitness is None else scored.fitness
