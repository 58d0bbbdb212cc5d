"""Training jobs: submit, follow, cancel and resume, and what may be trained on."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.connection_limits import admission_of
from service.api.dependencies import ApiDependencies
from service.api.error_responses import raises
from service.api.idempotency import OnceDep, made
from service.api.openapi_responses import LOCATION, REPLAY_HEADER
from service.api.pagination import DEFAULT_LIMIT, MAX_LIMIT, Cursor, Limit, Paging
from service.api.routes.events import After, LastEventId
from service.api.stream import MEDIA_TYPE, PING, EventStream, Lifetime, begun, told
from service.errors import ConflictError, NotFoundError, RefusedError
from service.ports import JOB_ENDED, Caller, Scope
from service.projections.training import event_reply, job_reply, permission_reply
from service.schemas.training import (
    TrainingEventPage,
    TrainingJob,
    TrainingJobCreate,
    TrainingJobPage,
    TrainingPermission,
    TrainingPermissionList,
    TrainingPermissionSet,
)

router = APIRouter(prefix="/v1", tags=["training"], route_class=ApiRoute)

Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ))]
Writing = Annotated[Caller, Depends(requires(Scope.RUNS_WRITE))]
Steering = Annotated[Caller, Depends(requires(Scope.RUNS_CONTROL))]
JobId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Id of a training job.")]
_MADE: dict[int | str, dict[str, Any]] = {201: {"model": TrainingJob, "headers": LOCATION | REPLAY_HEADER}}
_TAKEN: dict[int | str, dict[str, Any]] = {202: {"model": TrainingJob, "headers": LOCATION | REPLAY_HEADER}}
_STREAM = {
    MEDIA_TYPE: {"schema": {"type": "string"}, "example": "event: training.progress\\ndata: {...}\\nid: 3\\n\\n"}
}
_PAGED: dict[int | str, dict[str, Any]] = {200: {"model": TrainingEventPage, "content": _STREAM}}


@router.post(
    "/training-jobs",
    status_code=201,
    response_model=TrainingJob,
    responses=_MADE | raises(ConflictError, NotFoundError, RefusedError),
    operation_id="create_training_job",
)
def create_training_job(body: TrainingJobCreate, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Train a version of a policy. A trainer takes the job, and its runs must be allowed for training."""

    def effect() -> Response:
        job = parts.training.submit(caller.tenant, body.model_dump(mode="json"), caller.name)
        return made(job_reply(job), 201, {"Location": f"/v1/training-jobs/{job.id}"})

    return once(effect)


@router.get("/training-jobs", response_model=TrainingJobPage, operation_id="list_training_jobs")
def list_training_jobs(
    caller: Reading, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = ""
) -> TrainingJobPage:
    """List training jobs, newest first."""
    paging = Paging(parts.signer, cursor, limit, {"list": "training-jobs", "tenant": caller.tenant})
    found = parts.training.jobs(caller.tenant, paging.after or "", paging.limit + 1)
    rows, following = paging.cut(found, lambda row: row.id)
    return TrainingJobPage(items=[job_reply(row) for row in rows], next_cursor=following)


@router.get("/training-jobs/{job_id}", response_model=TrainingJob, operation_id="get_training_job")
def get_training_job(job_id: JobId, caller: Reading, parts: PartsDep) -> TrainingJob:
    """Read a training job."""
    return job_reply(parts.training.get(caller.tenant, job_id))


@router.post(
    "/training-jobs/{job_id}/cancel",
    status_code=202,
    response_model=TrainingJob,
    responses=_TAKEN | raises(ConflictError),
    operation_id="cancel_training_job",
)
def cancel_training_job(job_id: JobId, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """End a training job. Its trainer stops within seconds."""
    place = {"Location": f"/v1/training-jobs/{job_id}"}
    return once(lambda: made(job_reply(parts.training.cancel(caller.tenant, job_id)), 202, place))


@router.post(
    "/training-jobs/{job_id}/resume",
    status_code=202,
    response_model=TrainingJob,
    responses=_TAKEN | raises(ConflictError),
    operation_id="resume_training_job",
)
def resume_training_job(job_id: JobId, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Queue a cancelled or failed training job again. It continues from its newest checkpoint."""
    place = {"Location": f"/v1/training-jobs/{job_id}"}
    return once(lambda: made(job_reply(parts.training.resume(caller.tenant, job_id)), 202, place))


@router.get(
    "/training-jobs/{job_id}/events",
    response_class=Response,
    responses=_PAGED,
    operation_id="list_training_events",
)
async def list_training_events(
    request: Request,
    job_id: JobId,
    caller: Reading,
    parts: PartsDep,
    after: After = 0,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
    last_event_id: LastEventId = "",
) -> Response:
    """List the events of a training job in order, or follow them as a stream (`Accept: text/event-stream`).

    In a stream, `id` is the sequence number, `event` the kind and `data` the event. It begins after `Last-Event-ID` or
    `after`, pings every 15 seconds, and closes with `event: end` after the last event of an ended job. A connection
    lasts at most 10 minutes.
    """
    if MEDIA_TYPE in request.headers.get("accept", "").lower():
        job = await run_in_threadpool(parts.training.get, caller.tenant, job_id)
        numbered = last_event_id.isascii() and last_event_id.isdecimal() and len(last_event_id) <= 16
        chunks = _chunks(parts, caller.tenant, job.id, int(last_event_id) if numbered else after)
        return EventStream(chunks, admission_of(request, parts, caller))
    paging = Paging(parts.signer, cursor, limit, {"list": "training-events", "job": job_id})
    begin = after if paging.after is None else int(paging.after)
    found = await run_in_threadpool(parts.training.events, caller.tenant, job_id, begin, paging.limit + 1)
    rows, following = paging.cut(found, lambda row: row.sequence)
    return made(TrainingEventPage(items=[event_reply(row) for row in rows], next_cursor=following), 200)


@router.put(
    "/training-permissions",
    response_model=TrainingPermission,
    responses=raises(NotFoundError),
    operation_id="set_training_permission",
)
def set_training_permission(body: TrainingPermissionSet, caller: Writing, parts: PartsDep) -> TrainingPermission:
    """Allow or forbid that a run, or all of your runs, are trained on. Each answer is recorded."""
    answer = parts.training.permit(caller.tenant, body.run_id or "", allowed=body.allowed, by=caller.name)
    return permission_reply(answer)


@router.get("/training-permissions", response_model=TrainingPermissionList, operation_id="list_training_permissions")
def list_training_permissions(caller: Reading, parts: PartsDep) -> TrainingPermissionList:
    """List what may be trained on. Without an answer, nothing may."""
    found = parts.training.permissions(caller.tenant)
    return TrainingPermissionList(items=[permission_reply(answer) for answer in found])


async def _chunks(parts: ApiDependencies, tenant: str, job_id: str, after: int) -> AsyncGenerator[bytes, None]:
    """The events of a job as they come. No session of the database is held in between."""
    lifetime, quiet = Lifetime(), 0.0
    yield begun()
    while not lifetime.over:
        job = await run_in_threadpool(parts.training.get, tenant, job_id)
        rows = await run_in_threadpool(parts.training.events, tenant, job_id, after, MAX_LIMIT)
        for row in rows:
            after = row.sequence
            yield told(row.kind, event_reply(row).model_dump(mode="json"), str(row.sequence))
        if not rows and job.state in JOB_ENDED and after >= job.sequence:
            yield told("end", {"state": job.state})
            return
        if rows:
            quiet = 0.0
            continue
        await asyncio.sleep(parts.events_poll_seconds)
        quiet += parts.events_poll_seconds
        if quiet >= lifetime.pause_seconds:
            quiet = 0.0
            yield PING
