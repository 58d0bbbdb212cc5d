"""Workers: who evaluates, and who shall stop."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.ports import Caller, Scope, WorkerEvaluationRecord, WorkerHeartbeat
from service.schemas.workers import Worker, WorkerDevice, WorkerEvaluation, WorkerList, WorkerTimeline

router = APIRouter(prefix="/v1/workers", tags=["workers"], route_class=ApiRoute)

MAX_EVALUATIONS = 2000
Operating = Annotated[Caller, Depends(requires(Scope.OPERATE, operator=True))]
Minutes = Annotated[int, Query(ge=1, le=60, description="So far back.")]
WorkerId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:-]{1,200}$", description="Id of a worker.")]


@router.get("", response_model=WorkerList, operation_id="list_workers")
async def list_workers(caller: Operating, parts: PartsDep) -> WorkerList:
    """List the live workers, the number of waiting tasks, and the longest wait."""
    del caller
    workers = parts.workers
    heartbeats, depths, waits = await workers.workers(), await workers.depths(), await workers.waits()
    return WorkerList(
        items=[_shown(heartbeat) for heartbeat in heartbeats], waiting=dict(depths), oldest_seconds=dict(waits)
    )


@router.get("/evaluations", response_model=WorkerTimeline, operation_id="list_worker_evaluations")
async def list_worker_evaluations(caller: Operating, parts: PartsDep, minutes: Minutes = 10) -> WorkerTimeline:
    """List the current evaluations of workers, and those of the last minutes, at most 2000."""
    heartbeats, now = await parts.workers.workers(), parts.clock.now()
    since, ids = (
        now - timedelta(minutes=minutes),
        {task.evaluation_id for heartbeat in heartbeats for task in heartbeat.tasks},
    )
    known = await run_in_threadpool(parts.evaluated.wanted, ids) if ids else {}
    done = await run_in_threadpool(parts.evaluated.done, since, MAX_EVALUATIONS + 1)
    items = [
        _evaluation(
            caller, heartbeat.worker_id, known.get(task.evaluation_id), (heartbeat.seen_at or now), task.seconds
        )
        for heartbeat in heartbeats
        for task in heartbeat.tasks
    ]
    items += [_evaluation(caller, one.worker, one, one.ended_at or now, one.seconds) for one in done]
    return WorkerTimeline(since=since, until=now, items=items[:MAX_EVALUATIONS], truncated=len(items) > MAX_EVALUATIONS)


@router.post("/{worker_id}/drain", status_code=202, response_class=Response, operation_id="drain_worker")
async def drain_worker(worker_id: WorkerId, caller: Operating, parts: PartsDep) -> Response:
    """Drain a worker: it finishes its tasks and ends. Repeating has no effect."""
    del caller
    await parts.workers.drain(worker_id)
    return Response(status_code=202)


def _evaluation(
    caller: Caller, worker: str, one: WorkerEvaluationRecord | None, at: datetime, seconds: float
) -> WorkerEvaluation:
    mine = one is not None and one.tenant == caller.tenant
    return WorkerEvaluation(
        worker_id=worker,
        run_id=one.run_id if one and mine else None,
        candidate_id=one.candidate_id if one and mine else None,
        outcome=one.outcome or None if one else None,
        began_at=at - timedelta(seconds=seconds),
        ended_at=one.ended_at if one else None,
    )


def _shown(heartbeat: WorkerHeartbeat) -> Worker:
    said = {name: getattr(heartbeat, name) for name in Worker.model_fields}
    names = WorkerDevice.model_fields
    devices = [WorkerDevice(**{name: getattr(device, name) for name in names}) for device in heartbeat.devices]
    return Worker(**{**said, "devices": devices})
