"""Calls of the tag metrics. `scripts.openapi` writes them."""

from service.client.call import FOLD_SECONDS, Call, chosen, place
from service.schemas.failures import RunFailures
from service.schemas.program_map import ProgramMap
from service.schemas.series import Metrics, RunColumns
from service.schemas.statistics import RunStatistics


def get_run_failures(run_id: str) -> Call[RunFailures]:
    """Count the failed answers of a run by reason, with the time that their evaluations took."""
    return Call(method="GET", path=place("/v1/runs/{}/failures", run_id), answer=RunFailures, wait_seconds=FOLD_SECONDS)


def get_program_map(run_id: str) -> Call[ProgramMap]:
    """Read the map of the evaluated programs of a run, in which programs with similar tokens lie near each other."""
    return Call(
        method="GET", path=place("/v1/runs/{}/program-map", run_id), answer=ProgramMap, wait_seconds=FOLD_SECONDS
    )


def get_run_metrics(run_id: str, *, points: int | None = None) -> Call[Metrics]:
    """Read the progress of a run over its evaluations: best, waste, cost, and success by operator and policy."""
    return Call(
        method="GET",
        path=place("/v1/runs/{}/metrics", run_id),
        params=chosen(points=points),
        answer=Metrics,
        wait_seconds=FOLD_SECONDS,
    )


def get_run_columns(
    run_id: str, *, after: int | None = None, points: int | None = None, front: bool | None = None
) -> Call[RunColumns]:
    """Read the evaluations of a run in columns, as for a chart: all, or those after `after`."""
    return Call(
        method="GET",
        path=place("/v1/runs/{}/columns", run_id),
        params=chosen(after=after, points=points, front=front),
        answer=RunColumns,
        wait_seconds=FOLD_SECONDS,
    )


def get_run_statistics(run_id: str) -> Call[RunStatistics]:
    """Read the statistics of a run: best@k, pass@k, hypervolume, coverage, diversity, migration, yields, cost."""
    return Call(
        method="GET", path=place("/v1/runs/{}/statistics", run_id), answer=RunStatistics, wait_seconds=FOLD_SECONDS
    )
