"""Batches: many runs submitted as one, steered as one, summed up."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from evolve.errors import ConfigurationError
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.connection_limits import opened_of
from service.api.dependencies import ApiDependencies
from service.api.error_responses import raises
from service.api.etags import IfMatch, batch_tag, seen, tagged
from service.api.idempotency import OnceDep, made
from service.api.openapi_responses import DELETED, LOCATION, NOT_MODIFIED, REPLAY_HEADER
from service.api.pagination import DEFAULT_LIMIT, Cursor, Limit, Paging
from service.api.problem_errors import ApiFault
from service.api.routes.runs import (
    CreatedAfter,
    CreatedBefore,
    Prefer,
    Reading,
    Steering,
    Writing,
    reader_of,
    wait_of,
)
from service.errors import (
    ConflictError,
    InvalidConfigurationError,
    InvalidProblemError,
    NotFoundError,
    QuotaError,
    RefusedError,
    StaleError,
)
from service.identifiers import new_id
from service.ports import (
    AT_WORK,
    CANCELLED,
    ENDED,
    PAUSED,
    RUNNING,
    BatchFilter,
    BatchRecord,
    Caller,
    NewRun,
    RunFilter,
    RunRecord,
)
from service.projections.batch_summaries import summarize
from service.projections.batches import batch_reply, new_batch, refuse_repeated_problem, run_requests
from service.schemas.batches import MAX_RUNS, Batch, BatchCreate, BatchPage, BatchSummary
from service.schemas.problem_details import Code

router = APIRouter(prefix="/v1/batches", tags=["batches"], route_class=ApiRoute)

BatchId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Id of a batch.")]
BatchName = Annotated[str, Query(pattern=r"^[^\x00]*$", max_length=200, description="Only those of this name.")]
POLL_SECONDS = 1.0
_MADE: dict[int | str, dict[str, Any]] = {201: {"model": Batch, "headers": LOCATION | REPLAY_HEADER}}
_SUBMITTED = _MADE | raises(NotFoundError, ConfigurationError, InvalidProblemError, RefusedError, QuotaError)
_TAKEN: dict[int | str, dict[str, Any]] = {202: {"model": Batch, "headers": LOCATION | REPLAY_HEADER}}


@router.post("", status_code=201, response_model=Batch, responses=_SUBMITTED, operation_id="create_batch")
def create_batch(body: BatchCreate, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Submit many runs as a batch. All of them are stored, or none."""
    now = parts.clock.now()
    batch_id = new_id("bat", now)
    requests = run_requests(body, batch_id)

    def effect(runs: Sequence[NewRun]) -> Response:
        parts.batches.add(new_batch(batch_id, caller.tenant, body, now))
        parts.submissions.store_all(runs)
        return _located(parts, caller, batch_id, 201)

    def prepare() -> Sequence[NewRun]:
        try:
            runs = parts.submissions.prepare(caller.tenant, requests, caller.name)
        except InvalidConfigurationError as error:
            error.base = "/sweep" if body.sweep is not None else f"/runs/{error.run}"
            raise
        refuse_repeated_problem(body.sweep, runs)
        return runs

    return once.after(prepare, effect)


@router.get("", response_model=BatchPage, operation_id="list_batches")
def list_batches(
    *,
    caller: Reading,
    parts: PartsDep,
    name: BatchName = "",
    created_after: CreatedAfter = None,
    created_before: CreatedBefore = None,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
) -> BatchPage:
    """List batches, newest first."""
    only = BatchFilter(name=name, created_after=created_after, created_before=created_before)
    paging = Paging(parts.signer, cursor, limit, {"list": "batches", "tenant": caller.tenant, "only": only})
    shared = bool(caller.run_id)
    found = [] if shared else parts.batches.batches(caller.tenant, paging.after or "", paging.limit + 1, only)
    rows, following = paging.cut(found, lambda row: row.id)
    return BatchPage(items=[batch_reply(row) for row in rows], next_cursor=following)


@router.get("/{batch_id}", response_model=Batch, responses=NOT_MODIFIED, operation_id="get_batch")
async def get_batch(
    request: Request, batch_id: BatchId, caller: Reading, parts: PartsDep, prefer: Prefer = ""
) -> Response:
    """Read a batch. `/v1/runs?batch_id=` lists its runs. `Prefer: wait=30` waits for another state."""
    batch, seconds = await run_in_threadpool(_batch, parts, caller, batch_id), wait_of(prefer)
    if seconds is None:
        return tagged(request, batch_reply(batch), batch_tag(batch))
    with opened_of(request).one(caller.actor):
        batch = await _changed(request, parts, batch, seconds)
    answer = tagged(request, batch_reply(batch), batch_tag(batch))
    answer.headers["Preference-Applied"] = f"wait={seconds}"
    return answer


@router.delete(
    "/{batch_id}",
    status_code=202,
    response_class=Response,
    responses=DELETED | raises(ConflictError),
    operation_id="delete_batch",
)
def delete_batch(batch_id: BatchId, caller: Writing, parts: PartsDep, if_match: IfMatch = "") -> Response:
    """Delete a batch and its runs, all ended or paused. They disappear at once, and their data later."""
    runs = _runs(parts, caller, _unchanged(parts, caller, batch_id, if_match).id)
    if not any(run.state in AT_WORK for run in runs):  # else it is refused below
        parts.leftovers(runs)
    with parts.unit():
        batch = _unchanged(parts, caller, batch_id, if_match)
        parts.intents(caller.tenant).delete_batch(batch.id)
        parts.batches.remove(caller.tenant, batch.id)
    return Response(status_code=202)


@router.get("/{batch_id}/summary", response_model=BatchSummary, operation_id="get_batch_summary")
def get_batch_summary(batch_id: BatchId, caller: Reading, parts: PartsDep) -> BatchSummary:
    """Summarise the results of a batch, by problem and by the differences of its runs other than seeds."""
    batch = _batch(parts, caller, batch_id)
    runs = _runs(parts, caller, batch.id)
    titles = {problem: _title(parts, caller, problem) for problem in {run.problem_id for run in runs}}
    return summarize(batch, runs, titles)


@router.post("/{batch_id}/pause", status_code=202, response_model=Batch, responses=_TAKEN, operation_id="pause_batch")
def pause_batch(batch_id: BatchId, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Pause all unfinished runs of a batch."""
    return once(lambda: _want(parts, caller, batch_id, PAUSED))


@router.post("/{batch_id}/resume", status_code=202, response_model=Batch, responses=_TAKEN, operation_id="resume_batch")
def resume_batch(batch_id: BatchId, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Resume all paused runs of a batch."""
    return once(lambda: _want(parts, caller, batch_id, RUNNING))


@router.post("/{batch_id}/cancel", status_code=202, response_model=Batch, responses=_TAKEN, operation_id="cancel_batch")
def cancel_batch(batch_id: BatchId, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """End all runs of a batch permanently."""
    return once(lambda: _want(parts, caller, batch_id, CANCELLED))


def _want(parts: ApiDependencies, caller: Caller, batch_id: str, state: str) -> Response:
    batch = _batch(parts, caller, batch_id)
    intents = parts.intents(caller.tenant)
    # Of a batch that goes on, those that have failed stay as they are.
    for run in (run for run in _runs(parts, caller, batch.id) if run.state not in ENDED):
        with suppress(ConflictError):  # it has ended meanwhile, or is about to
            intents.want(run.id, state, caller.actor)
    return _located(parts, caller, batch.id, 202)


async def _changed(request: Request, parts: ApiDependencies, batch: BatchRecord, seconds: int) -> BatchRecord:
    """A batch once its state has changed, or whatever of it `If-None-Match` has seen, or after some seconds."""
    ended = batch.state in ENDED
    until, tagged_ = parts.clock.monotonic() + seconds, bool(request.headers.get("if-none-match"))
    now, leaving = batch, opened_of(request).leaving
    while not ended and not leaving.is_set() and parts.clock.monotonic() < until:
        if not seen(request, batch_tag(now)) if tagged_ else now.state != batch.state:
            break
        await asyncio.sleep(POLL_SECONDS)
        now = await run_in_threadpool(parts.batches.get, batch.tenant, batch.id)
    return now


def _batch(parts: ApiDependencies, caller: Caller, batch_id: str) -> BatchRecord:
    if caller.run_id:
        raise ApiFault(404, Code.NOT_FOUND, f"there is no batch {batch_id}: a share shows one run")
    return parts.batches.get(caller.tenant, batch_id)


def _unchanged(parts: ApiDependencies, caller: Caller, batch_id: str, if_match: str) -> BatchRecord:
    batch = _batch(parts, caller, batch_id)
    if if_match not in ("", "*", batch_tag(batch)):
        raise StaleError(f"batch {batch.id} was changed since it was read: read it again")
    return batch


def _runs(parts: ApiDependencies, caller: Caller, batch_id: str) -> list[RunRecord]:
    return reader_of(parts, caller).runs(MAX_RUNS, None, RunFilter(batch_id=batch_id))


def _located(parts: ApiDependencies, caller: Caller, batch_id: str, status: int) -> Response:
    batch = parts.batches.get(caller.tenant, batch_id)
    return made(batch_reply(batch), status, {"Location": f"/v1/batches/{batch_id}", "ETag": batch_tag(batch)})


def _title(parts: ApiDependencies, caller: Caller, problem_id: str) -> str:
    problem = parts.problems.get(caller.tenant, problem_id)
    return f"{problem.name}@{problem.version}"
