"""A run in columns on the wire."""

import numpy as np

from service.projections.chart_data import ChartData, DrawnFront
from service.projections.columns import ColumnMark, Floats
from service.projections.program_map import ProgramMap as PlacedPrograms
from service.schemas.program_map import ProgramMap
from service.schemas.series import RunColumns, RunFront, RunMark


def shown_columns(run_id: str, drawn: ChartData) -> RunColumns:
    """A run in columns, as it is shown."""
    return RunColumns(
        run_id=run_id,
        sequence=drawn.sequence,
        total=drawn.total,
        begin=drawn.begin,
        sampled=drawn.sampled,
        first_at=drawn.first_at,
        objectives=list(drawn.objectives),
        outcomes=list(drawn.outcomes.names),
        operators=list(drawn.operators.names),
        policies=list(drawn.policies.names),
        place=drawn.places.tolist(),
        proposal_number=drawn.numbers.tolist(),
        position=drawn.positions.tolist(),
        island=drawn.islands.tolist(),
        outcome=drawn.outcomes.codes.tolist(),
        operator=drawn.operators.codes.tolist(),
        policy=drawn.policies.codes.tolist(),
        parent=drawn.parents.tolist(),
        fitness=_nullable(drawn.fitness),
        seconds=drawn.seconds.tolist(),
        rewards=[_nullable(column) for column in drawn.rewards],
        marks=[_mark(place, mark) for place, mark in drawn.marks],
        front=None if drawn.front is None else _front(drawn.front),
    )


def shown_program_map(run_id: str, drawn: ChartData, placed: PlacedPrograms) -> ProgramMap:
    """The map of a run, as it is shown."""
    return ProgramMap(
        run_id=run_id,
        sequence=drawn.sequence,
        total=drawn.total,
        sampled=drawn.sampled,
        complete=placed.complete,
        landmarks=placed.landmarks,
        compared=placed.compared,
        correlation=None if placed.correlation is None else round(placed.correlation, 3),
        outcomes=list(drawn.outcomes.names),
        operators=list(drawn.operators.names),
        place=drawn.places.tolist(),
        proposal_number=drawn.numbers.tolist(),
        position=drawn.positions.tolist(),
        island=drawn.islands.tolist(),
        outcome=drawn.outcomes.codes.tolist(),
        operator=drawn.operators.codes.tolist(),
        fitness=_nullable(drawn.fitness),
        x=placed.positions[:, 0].round(4).tolist(),
        y=placed.positions[:, 1].round(4).tolist(),
    )


def _front(front: DrawnFront) -> RunFront:
    return RunFront(
        until=list(front.until),
        counts=front.counts.tolist(),
        sizes=front.sizes.tolist(),
        ended=front.ended.tolist(),
        ended_by=front.ended_by.tolist(),
    )


def _nullable(values: Floats) -> list[float | None]:
    """Numbers as JSON has them: what is none is null."""
    found = values.astype(object)
    found[~np.isfinite(values)] = None
    numbers: list[float | None] = found.tolist()
    return numbers


def _mark(place: int, mark: ColumnMark) -> RunMark:
    return RunMark(place=place, kind=mark.kind, at=mark.at, from_island=mark.from_island, to_island=mark.to_island)
