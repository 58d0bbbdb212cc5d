"""Calls of the tag archives. `scripts.openapi` writes them."""

from service.client.call import FOLD_SECONDS, Call, chosen, place
from service.schemas.archives import Best, FrontPage, Grid, IslandPage, MemberPage, MigrationPage
from service.schemas.assessment import Assessment


def list_islands(run_id: str, *, limit: int | None = None) -> Call[IslandPage]:
    """List the islands of a run with their contents."""
    return Call(method="GET", path=place("/v1/runs/{}/islands", run_id), params=chosen(limit=limit), answer=IslandPage)


def list_island_members(run_id: str, number: int, *, limit: int | None = None) -> Call[MemberPage]:
    """List the programs in the archive of an island, fittest first."""
    return Call(
        method="GET",
        path=place("/v1/runs/{}/islands/{}", run_id, str(number)),
        params=chosen(limit=limit),
        answer=MemberPage,
    )


def list_migrations(run_id: str, *, limit: int | None = None) -> Call[MigrationPage]:
    """List the migrations between the islands of a run, in order."""
    return Call(
        method="GET", path=place("/v1/runs/{}/migrations", run_id), params=chosen(limit=limit), answer=MigrationPage
    )


def list_front(run_id: str, *, limit: int | None = None) -> Call[FrontPage]:
    """List the programs of the Pareto front, fittest first, with the hypervolume."""
    return Call(
        method="GET",
        path=place("/v1/runs/{}/front", run_id),
        params=chosen(limit=limit),
        answer=FrontPage,
        wait_seconds=FOLD_SECONDS,
    )


def get_assessment(run_id: str) -> Call[Assessment]:
    """Read the holdout scores of a run's programs, and whether its best program holds under other seeds."""
    return Call(method="GET", path=place("/v1/runs/{}/assessment", run_id), answer=Assessment)


def get_grid(run_id: str, *, until: int | None = None) -> Call[Grid]:
    """Read the grid over the measures of a run: the fittest program of each cell, of all islands together."""
    return Call(
        method="GET",
        path=place("/v1/runs/{}/grid", run_id),
        params=chosen(until=until),
        answer=Grid,
        wait_seconds=FOLD_SECONDS,
    )


def get_best(run_id: str, *, weights: str | None = None) -> Call[Best]:
    """Read the best program of a run by fitness, or under weights of the objectives."""
    return Call(
        method="GET",
        path=place("/v1/runs/{}/best", run_id),
        params=chosen(weights=weights),
        answer=Best,
        wait_seconds=FOLD_SECONDS,
    )
