"""Runs of a database side by side, in the form in which a service tells of them."""

import math
from collections.abc import Sequence

from service.api.compared_shown import shown
from service.errors import UsageError
from service.ports import RunReader
from service.projections.comparison import compare
from service.schemas.series import RunComparison

MOST_RUNS, POINTS = 20, 200


def compare_stored(reader: RunReader, run_ids: Sequence[str]) -> RunComparison:
    """Set runs side by side.

    Raises:
        UsageError: there are too many of them.
    """
    if len(run_ids) > MOST_RUNS:
        raise UsageError(f"{len(run_ids)} runs are too many to compare: name {MOST_RUNS} at most")
    runs = [reader.run(run_id) for run_id in run_ids]
    found = compare(runs, [_fitness(reader, run.id) for run in runs], POINTS)
    return shown(found)


def _fitness(reader: RunReader, run_id: str) -> list[float]:
    """Of every evaluation, in order; NaN where it has none."""
    return [math.nan if one.fitness is None else one.fitness for one in reader.scored(run_id)]
