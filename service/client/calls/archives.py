"""Calls about what runs keep and how they went: islands, fronts, grids, series, comparisons, exports."""

from collections.abc import Sequence

from service.client.call import Call, chosen, place
from service.schemas.archives import Best, FrontPage, Grid, IslandPage, MemberPage, MigrationPage
from service.schemas.artifacts import ArtifactPage, ExportForm
from service.schemas.assessment import Assessment
from service.schemas.failures import RunFailures
from service.schemas.series import Axis, Metrics, RunColumns, RunComparison
from service.schemas.statistics import RunStatistics
from service.schemas.votes import Rule, RunVotes

RUN = "/v1/runs/{}"
# A long run is folded before the first byte of the answer.
FOLD_SECONDS = 60.0


def list_islands(run_id: str, *, limit: int | None = None) -> Call[IslandPage]:
    """List the islands of a run with what they hold."""
    return Call(method="GET", path=place(f"{RUN}/islands", run_id), params=chosen(limit=limit), answer=IslandPage)


def list_island_members(run_id: str, number: int, *, limit: int | None = None) -> Call[MemberPage]:
    """List the programs in the archive of an island, the fittest first."""
    path = place(f"{RUN}/islands/{{}}", run_id, str(number))
    return Call(method="GET", path=path, params=chosen(limit=limit), answer=MemberPage)


def list_migrations(run_id: str, *, limit: int | None = None) -> Call[MigrationPage]:
    """List who came from one island to another."""
    path = place(f"{RUN}/migrations", run_id)
    return Call(method="GET", path=path, params=chosen(limit=limit), answer=MigrationPage)


def list_front(run_id: str, *, limit: int | None = None) -> Call[FrontPage]:
    """List the programs that no other dominates, and the volume that they dominate."""
    path = place(f"{RUN}/front", run_id)
    return Call(method="GET", path=path, params=chosen(limit=limit), answer=FrontPage, wait_seconds=FOLD_SECONDS)


def get_assessment(run_id: str) -> Call[Assessment]:
    """Read what a run's programs are worth on what was held out, and whether its best holds."""
    return Call(method="GET", path=place(f"{RUN}/assessment", run_id), answer=Assessment)


def get_grid(run_id: str) -> Call[Grid]:
    """Read the grid over the measures of a run."""
    return Call(method="GET", path=place(f"{RUN}/grid", run_id), answer=Grid, wait_seconds=FOLD_SECONDS)


def get_best(run_id: str, weights: str = "") -> Call[Best]:
    """Read the best program of a run, by fitness or under weights such as `accuracy=1,speed=2`."""
    path = place(f"{RUN}/best", run_id)
    return Call(method="GET", path=path, params=chosen(weights=weights), answer=Best, wait_seconds=FOLD_SECONDS)


def get_run_metrics(run_id: str, *, points: int | None = None) -> Call[Metrics]:
    """Read how a run went over its evaluations."""
    path = place(f"{RUN}/metrics", run_id)
    return Call(method="GET", path=path, params=chosen(points=points), answer=Metrics, wait_seconds=FOLD_SECONDS)


def get_run_statistics(run_id: str) -> Call[RunStatistics]:
    """Read what a run came to, in numbers."""
    path = place(f"{RUN}/statistics", run_id)
    return Call(method="GET", path=path, answer=RunStatistics, wait_seconds=FOLD_SECONDS)


def get_run_failures(run_id: str) -> Call[RunFailures]:
    """Read why answers of a run came to nothing, grouped by reason."""
    path = place(f"{RUN}/failures", run_id)
    return Call(method="GET", path=path, answer=RunFailures, wait_seconds=FOLD_SECONDS)


def get_run_votes(run_id: str, *, rule: Rule | None = None, min_share: float | None = None) -> Call[RunVotes]:
    """Count what the candidates of a run answer, and read which answer wins by a rule."""
    share = None if min_share is None else repr(min_share)
    path, params = place(f"{RUN}/votes", run_id), chosen(rule=rule, min_share=share)
    return Call(method="GET", path=path, params=params, answer=RunVotes, wait_seconds=FOLD_SECONDS)


def get_run_columns(run_id: str, *, after: int | None = None, points: int | None = None) -> Call[RunColumns]:
    """Read the evaluations of a run in columns: all, those behind the first so many, or about so many points."""
    path, params = place(f"{RUN}/columns", run_id), chosen(after=after, points=points)
    return Call(method="GET", path=path, params=params, answer=RunColumns, wait_seconds=FOLD_SECONDS)


def compare_runs(
    runs: Sequence[str],
    *,
    points: int | None = None,
    over: Axis = "evaluations",
    by: str = "",
    names: Sequence[str] = (),
    budgets: Sequence[float] = (),
) -> Call[RunComparison]:
    """Set runs side by side, grouped by a key or by a name for each."""
    params = chosen(
        runs=",".join(runs),
        points=points,
        over=over if over != "evaluations" else "",
        by=by,
        names=",".join(names),
        budgets=",".join(f"{budget:.12f}".rstrip("0").rstrip(".") for budget in budgets),
    )
    return Call(method="GET", path="/v1/compare", params=params, answer=RunComparison, wait_seconds=FOLD_SECONDS)


def export_run(run_id: str, form: ExportForm = "jsonl") -> Call[bytes]:
    """Take a run away; `Client.lines` gives it as it comes."""
    return Call(method="GET", path=place(f"{RUN}/export", run_id), params=chosen(format=form), answer=bytes)


def list_artifacts(run_id: str, *, limit: int | None = None) -> Call[ArtifactPage]:
    """List the files of a run."""
    path = place(f"{RUN}/artifacts", run_id)
    return Call(method="GET", path=path, params=chosen(limit=limit), answer=ArtifactPage)


def get_artifact(run_id: str, name: str) -> Call[bytes]:
    """Read a file of a run."""
    parts = name.split("/")
    template = f"{RUN}/artifacts/" + "/".join("{}" for _ in parts)
    return Call(method="GET", path=place(template, run_id, *parts), answer=bytes)
