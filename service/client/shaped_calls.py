"""Calls whose arguments have another form than on the wire: lists, moments, labels, paths of files.

`scripts.openapi` writes the others into `service/client/calls`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from service.client.call import FOLD_SECONDS, Call, chosen, place
from service.schemas.batches import BatchPage
from service.schemas.candidates import CandidatePage
from service.schemas.events import EventFeed, EventPage
from service.schemas.export_form import ExportForm
from service.schemas.keys import Usage
from service.schemas.problems import ProblemCheck, ProblemCreate
from service.schemas.runs import RunPage
from service.schemas.series import Axis, RunComparison
from service.schemas.votes import Rule, RunVotes

__all__ = [
    "check_problem",
    "compare_runs",
    "export_run",
    "get_artifact",
    "get_candidate_file",
    "get_run_votes",
    "get_usage",
    "list_all_events",
    "list_batches",
    "list_candidates",
    "list_events",
    "list_runs",
]
# The service gives up on a check after five minutes.
CHECK_SECONDS = 320.0


def check_problem(problem: ProblemCreate, *, seeds: bool = True) -> Call[ProblemCheck]:
    """Check a problem without saving it, and run its seeds once, unless only its files shall be read."""
    path, params = "/v1/problems/check", chosen(seeds="" if seeds else "false")
    return Call(method="POST", path=path, params=params, body=problem, answer=ProblemCheck, wait_seconds=CHECK_SECONDS)


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
    return Call(method="GET", path=place("/v1/runs/{}/export", run_id), params=chosen(format=form), answer=bytes)


def get_artifact(run_id: str, name: str) -> Call[bytes]:
    """Read a file of a run."""
    parts = name.split("/")
    template = "/v1/runs/{}/artifacts/" + "/".join("{}" for _ in parts)
    return Call(method="GET", path=place(template, run_id, *parts), answer=bytes)


def get_candidate_file(candidate_id: str, path: str) -> Call[bytes]:
    """Read one file of a candidate."""
    parts = path.split("/")
    template = "/v1/candidates/{}/files/" + "/".join("{}" for _ in parts)
    return Call(method="GET", path=place(template, candidate_id, *parts), answer=bytes)


def get_run_votes(run_id: str, *, rule: Rule | None = None, min_share: float | None = None) -> Call[RunVotes]:
    """Count what the candidates of a run answer, and read which answer wins by a rule."""
    share = None if min_share is None else repr(min_share)
    path, params = place("/v1/runs/{}/votes", run_id), chosen(rule=rule, min_share=share)
    return Call(method="GET", path=path, params=params, answer=RunVotes, wait_seconds=FOLD_SECONDS)


def get_usage(*, since: datetime | None = None, until: datetime | None = None) -> Call[Usage]:
    """Read what the tenant used, and what it may."""
    params = chosen(since=since and since.isoformat(), until=until and until.isoformat())
    return Call(method="GET", path="/v1/usage", params=params, answer=Usage)


def list_all_events(*, position: str = "", kinds: Sequence[str] = (), limit: int | None = None) -> Call[EventFeed]:
    """List the events of all runs from a position on, or from now; `Client.stream_all` follows them."""
    params = chosen(cursor=position, kinds=",".join(kinds), limit=limit)
    return Call(method="GET", path="/v1/events", params=params, answer=EventFeed)


def list_batches(
    *,
    name: str = "",
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    limit: int | None = None,
) -> Call[BatchPage]:
    """List batches, newest first."""
    params = chosen(
        name=name,
        created_after=created_after.isoformat() if created_after else "",
        created_before=created_before.isoformat() if created_before else "",
        limit=limit,
    )
    return Call(method="GET", path="/v1/batches", params=params, answer=BatchPage)


def list_candidates(
    run_id: str,
    *,
    order: Literal["age", "fitness"] = "age",
    status: str = "",
    outcome: str = "",
    island: int | None = None,
    operator: str = "",
    policy: str = "",
    proposal_number: int | None = None,
    text: str = "",
    reason: str = "",
    limit: int | None = None,
    count: bool = False,
) -> Call[CandidatePage]:
    """List the programs of a run: all by age, or those that were evaluated with success by fitness."""
    params = chosen(
        order=order,
        status=status,
        outcome=outcome,
        island=island,
        operator=operator,
        policy=policy,
        proposal_number=proposal_number,
        text=text,
        reason=reason,
        limit=limit,
        include="count" if count else "",
    )
    return Call(method="GET", path=place("/v1/runs/{}/candidates", run_id), params=params, answer=CandidatePage)


def list_events(run_id: str, *, after: int = 0, kinds: Sequence[str] = (), limit: int | None = None) -> Call[EventPage]:
    """List the events of a run in order; `Client.stream` follows them."""
    params = chosen(after=after or None, kinds=",".join(kinds), limit=limit)
    return Call(method="GET", path=place("/v1/runs/{}/events", run_id), params=params, answer=EventPage)


def list_runs(
    *,
    states: Sequence[str] = (),
    problem: str = "",
    batch_id: str = "",
    created_by: str = "",
    labels: Mapping[str, str] | None = None,
    created_after: datetime | None = None,
    created_before: datetime | None = None,
    sort: Literal["-created_at", "created_at"] = "-created_at",
    limit: int | None = None,
    count: bool = False,
) -> Call[RunPage]:
    """List runs, newest first, or oldest first."""
    pairs = ",".join(f"{key}={value}" for key, value in (labels or {}).items())
    params = chosen(
        state=",".join(states),
        problem=problem,
        batch_id=batch_id,
        created_by=created_by,
        labels=pairs,
        created_after=created_after.isoformat() if created_after else "",
        created_before=created_before.isoformat() if created_before else "",
        sort=sort,
        limit=limit,
        include="count" if count else "",
    )
    return Call(method="GET", path="/v1/runs", params=params, answer=RunPage)
