"""Runs: submit, watch, steer."""

import re
from datetime import datetime
from typing import Annotated, Any, Literal, get_args

from fastapi import APIRouter, Depends, Header, Path, Query, Request
from fastapi.responses import Response
from pydantic import AwareDatetime, BeforeValidator
from pydantic.json_schema import SkipJsonSchema
from starlette.concurrency import run_in_threadpool

from evolve.change_events import RequestedChange
from evolve.errors import ConfigurationError
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, parts_of, requires
from service.api.connection_limits import opened_of
from service.api.dependencies import ApiDependencies
from service.api.error_responses import raises
from service.api.etags import IfMatch, revision_of, run_tag, seen, tagged
from service.api.event_poller import watch_of
from service.api.idempotency import IdempotentRequests, OnceDep, made
from service.api.openapi_responses import DELETED, LOCATION, NOT_MODIFIED, REPLAY_HEADER
from service.api.pagination import DEFAULT_LIMIT, Cursor, Include, Limit, Paging
from service.api.serializers.runs import shown, shown_alike
from service.errors import ConflictError, InvalidProblemError, NotFoundError, QuotaError, RefusedError, StaleError
from service.ports import CANCELLED, ENDED, PAUSED, RUNNING, Caller, RunFilter, RunReader, RunRecord, RunRequest, Scope
from service.projections.candidates import candidate_of
from service.schemas.changes import ChangedRun
from service.schemas.runs import BudgetExtension, Run, RunCheck, RunCreate, RunFork, RunPage, RunPatch, State

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=ApiRoute)

Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ, shared=True))]
Writing = Annotated[Caller, Depends(requires(Scope.RUNS_WRITE))]
Steering = Annotated[Caller, Depends(requires(Scope.RUNS_CONTROL))]
RunId = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Id of a run, or a beginning that no other run's has.")
]
_PAIR = r"[^\x00=,]+=[^\x00,]*"
_STATE = "|".join(get_args(State))
States = Annotated[
    str,
    Query(
        pattern=rf"^(({_STATE})(,({_STATE}))*)?$",
        max_length=200,
        description="Only in these states, separated by commas.",
    ),
]
LabelPairs = Annotated[
    str,
    Query(
        pattern=rf"^({_PAIR}(,{_PAIR})*)?$",
        max_length=1000,
        description="Only with these labels: `key=value,key=value`.",
    ),
]
ProblemName = Annotated[str, Query(pattern=r"^[^\x00]*$", max_length=200, description="Only of this problem, by name.")]
Submitter = Annotated[
    str,
    Query(pattern=r"^[^\x00]*$", max_length=200, description="Only those submitted with a key of this name."),
]


def _spelled(value: object) -> object:
    if isinstance(value, str) and not _DATE.match(value):
        raise ValueError("must be a time as RFC 3339 writes it, such as 2026-01-31T12:00:00Z")
    return value


# A parameter of a query is left out, and never null; seconds since 1970 are no time that a person writes.
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
Instant = Annotated[AwareDatetime, BeforeValidator(_spelled)] | SkipJsonSchema[None]
CreatedAfter = Annotated[Instant, Query(description="Only those created at this time or later, RFC 3339.")]
CreatedBefore = Annotated[Instant, Query(description="Only those created before this time, RFC 3339.")]
Sort = Annotated[
    Literal["-created_at", "created_at"], Query(description="`-created_at`: newest first. `created_at`: oldest first.")
]
BatchId = Annotated[str, Query(pattern=r"^[A-Za-z0-9_-]*$", max_length=100, description="Only of this batch.")]
Prefer = Annotated[
    str,
    Header(
        max_length=200,
        description="`wait=30` waits for another state, or with `If-None-Match` for any change, or for 30 s.",
    ),
]
DecisionPrefer = Annotated[str, Header(alias="Prefer", max_length=200, description="`wait=10` waits up to 10 s.")]
MAX_WAIT_SECONDS = 60
_WAIT = re.compile(r"\bwait=(\d{1,4})\b")
_MADE: dict[int | str, dict[str, Any]] = {201: {"model": Run, "headers": LOCATION | REPLAY_HEADER}}
_PREPARED = raises(NotFoundError, ConfigurationError, InvalidProblemError, RefusedError)
_SUBMITTED = _MADE | _PREPARED | raises(QuotaError)
STEERED: dict[int | str, dict[str, Any]] = raises(ConflictError) | {
    202: {"model": Run, "headers": LOCATION | REPLAY_HEADER}
}
_CONTINUED = STEERED | raises(QuotaError)
_EXTENDED = _CONTINUED | raises(ConfigurationError)
CHANGED = STEERED | {202: {"model": ChangedRun, "headers": LOCATION | REPLAY_HEADER}}
HINTED = CHANGED | raises(ConfigurationError)


def reader_of(parts: ApiDependencies, caller: Caller) -> RunReader:
    """The reader of a caller, to whom nothing else is there."""
    return parts.readers.of(caller.tenant, caller.run_id)


@router.post("", status_code=201, response_model=Run, responses=_SUBMITTED, operation_id="create_run")
def create_run(body: RunCreate, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Submit a run. A runner takes it from the queue. A run that cannot work is refused at once."""
    return _submitted(parts, caller, _asked(body), once)


@router.post("/check", response_model=RunCheck, responses=_PREPARED, operation_id="check_run")
def check_run(body: RunCreate, caller: Writing, parts: PartsDep) -> RunCheck:
    """Check a run without submitting it. Nothing is stored or run."""
    run = parts.submissions.prepare(caller.tenant, [_asked(body)])[0]
    return RunCheck(problem=run.problem_name, config=run.config, policies=list(run.policies))


@router.get("", response_model=RunPage, operation_id="list_runs")
def list_runs(
    *,
    caller: Reading,
    parts: PartsDep,
    state: States = "",
    problem: ProblemName = "",
    batch_id: BatchId = "",
    created_by: Submitter = "",
    labels: LabelPairs = "",
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    sort: Sort = "-created_at",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
    include: Include = "",
) -> RunPage:
    """List runs, newest first, or in the order of `sort`."""
    only = RunFilter(
        states=tuple(filter(None, state.split(","))),
        problem=problem,
        batch_id=batch_id,
        created_by=created_by,
        labels=_pairs(labels),
        created_after=created_after,
        created_before=created_before,
    )
    paging = Paging(parts.signer, cursor, limit, {"list": "runs", "tenant": caller.tenant, "only": only, "sort": sort})
    after = (datetime.fromisoformat(paging.after[0]), paging.after[1]) if paging.after else None
    reader = reader_of(parts, caller)
    found = reader.runs(paging.limit + 1, after, only, oldest_first=sort == "created_at")
    rows, following = paging.cut(found, lambda run: (run.created_at.isoformat(), run.id))
    count = reader.count_runs(only) if include else None
    return RunPage(items=[shown(run, caller) for run in rows], next_cursor=following, count=count)


@router.get("/{run_id}", response_model=Run, responses=NOT_MODIFIED, operation_id="get_run")
async def get_run(request: Request, run_id: RunId, caller: Reading, parts: PartsDep, prefer: Prefer = "") -> Response:
    """Read a run. `Prefer: wait=30` waits for another state."""
    reader = reader_of(parts, caller)
    run = await run_in_threadpool(reader.run, run_id)
    seconds = wait_of(prefer)
    if seconds is None:
        return tagged(request, shown(run, caller), run_tag(run))
    if run.state not in ENDED:
        with opened_of(request).one(caller.actor):
            if not request.headers.get("if-none-match"):
                await watch_of(request).left(run.id, shown_alike(run), seconds)
            elif seen(request, run_tag(run)):
                await watch_of(request).beyond(run.id, run.sequence, seconds)
        run = await run_in_threadpool(reader.run, run.id)
    answer = tagged(request, shown(run, caller), run_tag(run))
    answer.headers["Preference-Applied"] = f"wait={seconds}"
    return answer


@router.patch("/{run_id}", response_model=Run, operation_id="update_run")
def update_run(run_id: RunId, body: RunPatch, caller: Writing, parts: PartsDep, if_match: IfMatch = "") -> Response:
    """Replace a run's labels."""
    run = reader_of(parts, caller).run(run_id)
    run = parts.intents(caller.tenant).label(run.id, body.labels, revision_of(if_match))
    return made(shown(run, caller), 200, {"ETag": run_tag(run)})


@router.delete(
    "/{run_id}",
    status_code=202,
    response_class=Response,
    responses=DELETED | raises(ConflictError),
    operation_id="delete_run",
)
def delete_run(run_id: RunId, caller: Writing, parts: PartsDep, if_match: IfMatch = "") -> Response:
    """Delete an ended or paused run. It disappears at once, and its data later."""
    wanted = revision_of(if_match)
    parts.leftovers([_unchanged(parts, caller, run_id, wanted)])
    with parts.unit():
        run = _unchanged(parts, caller, run_id, wanted)
        parts.intents(caller.tenant).delete(run.id)
    return Response(status_code=202)


@router.post("/{run_id}/pause", status_code=202, response_model=Run, responses=STEERED, operation_id="pause_run")
def pause_run(run_id: RunId, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Pause a run. Repeating has no effect."""
    return once(lambda: _want(parts, caller, run_id, PAUSED))


@router.post("/{run_id}/resume", status_code=202, response_model=Run, responses=_CONTINUED, operation_id="resume_run")
def resume_run(run_id: RunId, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Resume a paused or failed run. Repeating has no effect."""
    return once(lambda: _want(parts, caller, run_id, RUNNING))


@router.post("/{run_id}/cancel", status_code=202, response_model=Run, responses=STEERED, operation_id="cancel_run")
def cancel_run(run_id: RunId, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """End a run permanently. Repeating has no effect."""
    return once(lambda: _want(parts, caller, run_id, CANCELLED))


@router.post("/{run_id}/extend", status_code=202, response_model=Run, responses=_EXTENDED, operation_id="extend_run")
def extend_run(run_id: RunId, body: BudgetExtension, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Change the budget of a run. A run that has succeeded or failed continues: it is queued again.

    A run that ends before its runner sees the new budget is queued again too.
    """
    budget = body.budget.model_dump(exclude_unset=True)
    run = reader_of(parts, caller).run(run_id)

    def extend() -> Response:
        _admit(parts, caller, run)
        return located(parts.intents(caller.tenant).extend(run.id, budget, caller.actor), 202, caller)

    return once(extend)


@router.post("/{run_id}/fork", status_code=201, response_model=Run, responses=_SUBMITTED, operation_id="fork_run")
def fork_run(run_id: RunId, body: RunFork, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Submit a run that starts from a program of this run."""
    reader = reader_of(parts, caller)
    candidate = candidate_of(reader, reader.run(run_id), body.candidate_id)
    request = RunRequest(config=body.config, policy=body.policy, labels=body.labels, fork_of=candidate.id)
    return _submitted(parts, caller, request, once)


def _unchanged(parts: ApiDependencies, caller: Caller, run_id: str, revision: int | None) -> RunRecord:
    """A run, which is at a revision if one is named.

    Raises:
        NotFoundError, StaleError: it is not there, or was changed.
    """
    run = reader_of(parts, caller).run(run_id)
    if revision not in (None, run.revision):
        raise StaleError(f"run {run.id} was changed since it was read: read it again")
    return run


def wait_of(prefer: str) -> int | None:
    """How many seconds a caller prefers to wait; None: it did not say."""
    wait = _WAIT.search(prefer)
    return min(int(wait.group(1)), MAX_WAIT_SECONDS) if wait else None


def _asked(body: RunCreate) -> RunRequest:
    return RunRequest(problem=body.problem, config=body.config, policy=body.policy, labels=body.labels)


def _submitted(parts: ApiDependencies, caller: Caller, request: RunRequest, once: IdempotentRequests) -> Response:
    return once.after(
        lambda: parts.submissions.prepare(caller.tenant, [request], caller.name)[0],
        lambda run: located(parts.submissions.store(run), 201, caller),
    )


def _admit(parts: ApiDependencies, caller: Caller, run: RunRecord) -> None:
    """A run that has ended is one more run at work when it is continued."""
    if run.state in ENDED and run.state != CANCELLED:
        parts.submissions.admit(caller.tenant)


def _want(parts: ApiDependencies, caller: Caller, run_id: str, state: str) -> Response:
    run = reader_of(parts, caller).run(run_id)
    if state == RUNNING:
        _admit(parts, caller, run)
        if run.state == PAUSED:
            parts.submissions.admit_again(caller.tenant)
    return located(parts.intents(caller.tenant).want(run.id, state, caller.actor), 202, caller)


def located(run: RunRecord, status: int, caller: Caller) -> Response:
    """A run as it was written, and where it is."""
    return made(shown(run, caller), status, {"Location": f"/v1/runs/{run.id}", "ETag": run_tag(run)})


def steered(parts: ApiDependencies, caller: Caller, run: RunRecord, change: RequestedChange) -> Response:
    """A run that is asked for a change, with the id under which the decision of its search is found."""
    run = parts.intents(caller.tenant).change(run.id, change)
    change_id = change.data.change_id
    body = ChangedRun(**dict(shown(run, caller)), change_id=change_id)
    return made(body, 202, {"Location": f"/v1/runs/{run.id}/changes/{change_id}", "ETag": run_tag(run)})


def _pairs(text: str) -> dict[str, str]:
    pairs = (pair.partition("=") for pair in text.split(",") if pair)
    return {key: value for key, _, value in pairs}


__all__ = [
    "CHANGED",
    "HINTED",
    "Reading",
    "RunId",
    "Steering",
    "Writing",
    "located",
    "parts_of",
    "reader_of",
    "router",
    "steered",
]
