"""Evaluations handed out to workers that cannot reach the queue; only to the operator's, for they see all tenants."""

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Request
from fastapi.responses import Response

from evolve.evaluation import Evaluation, Outcome, Trace
from evolve.views.candidate_view import stored_view
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.connection_limits import opened_of
from service.api.dependencies import ApiDependencies
from service.api.error_responses import raises
from service.api.openapi_responses import EMPTY
from service.api.problem_errors import ApiFault
from service.errors import ConflictError
from service.ports import (
    Caller,
    DeviceState,
    EvaluationLeases,
    LeaseName,
    LeaseState,
    RunningTask,
    Scope,
    WorkerHeartbeat,
    WorkerState,
)
from service.schemas.evaluations import (
    LeaseCompletion,
    LeasedTask,
    LeaseRelease,
    LeaseRenewal,
    LeaseRequest,
    LeaseStanding,
    Task,
    WorkerHeartbeatBody,
    WorkerHeartbeatReply,
    WorkerLeave,
)
from service.schemas.problem_details import Code

router = APIRouter(prefix="/v1", tags=["evaluations"], route_class=ApiRoute)

# Not limited by the minute: a worker calls as often as its slots have something to say.
Working = Annotated[Caller, Depends(requires(Scope.EVALUATIONS_LEASE, operator=True, limited=False))]
LeaseId = Annotated[str, Path(pattern=r"^[A-Za-z0-9-]{1,64}$", description="Id of a lease.")]
WorkerId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.-]{1,128}$", description="Id of a worker.")]
BundleHash = Annotated[str, Path(pattern=r"^[0-9a-f]{64}$", description="Hash of a problem's folder.")]

ASK_SECONDS = 0.5
HOLD_SECONDS = 0.25
_PURPOSE = "lease"
_BUNDLE: dict[int | str, dict[str, Any]] = {
    200: {"description": "The folder.", "content": {"application/gzip": {"schema": {"type": "string"}}}}
}
_NO_TASK: dict[int | str, dict[str, Any]] = {204: {"description": "No task arrived in that time."}}


@router.post("/evaluations/lease", response_model=LeasedTask, responses=_NO_TASK, operation_id="lease_evaluation")
async def lease_evaluation(body: LeaseRequest, request: Request, caller: Working, parts: PartsDep) -> Any:
    """Lease a task. Renew the lease every few seconds, or another worker gets the task."""
    leases, clock = parts.leases(body.pool, body.worker_id), parts.clock
    until, leaving = clock.monotonic() + body.wait_seconds, opened_of(request).leaving
    while (lease := await leases.lease(min(ASK_SECONDS, max(0.0, until - clock.monotonic())))) is None:
        # Nobody may be there any more to take what would come.
        if clock.monotonic() >= until or leaving.is_set() or await request.is_disconnected():
            return Response(status_code=204)
    held = {"key": caller.actor, "worker": body.worker_id, "pool": body.pool, "id": lease.id, "no": lease.delivery}
    task = Task(
        evaluation_id=lease.task.evaluation_id,
        bundle_hash=lease.task.bundle_hash,
        pool=lease.task.pool,
        files=dict(lease.task.program.files),
        early_stop_threshold=lease.task.scoring.early_stop_threshold,
        holdout=lease.task.scoring.holdout,
        draw=lease.task.scoring.draw,
        traced=lease.task.scoring.traced,
        render=lease.task.scoring.render,
        traceparent=lease.task.traceparent,
    )
    return LeasedTask(
        lease_id=lease.id,
        token=parts.signer.sign(_PURPOSE, held),
        delivery=lease.delivery,
        waited_seconds=lease.waited_seconds,
        task=task,
    )


@router.post(
    "/evaluations/{lease_id}/renew",
    response_model=LeaseStanding,
    responses=raises(ConflictError),
    operation_id="renew_evaluation",
)
async def renew_evaluation(
    lease_id: LeaseId, body: LeaseRenewal, request: Request, caller: Working, parts: PartsDep
) -> LeaseStanding:
    """Renew the lease of a task. The answer says whether the task was withdrawn."""
    leases, name, _ = _opened(parts, caller, lease_id, body.token)
    until = parts.clock.monotonic() + body.wait_seconds
    while (standing := await leases.renew(name)) is LeaseState.HELD and parts.clock.monotonic() < until:
        await asyncio.sleep(HOLD_SECONDS)
        if opened_of(request).leaving.is_set() or await request.is_disconnected():
            break
    if standing is LeaseState.LOST:
        raise _lost(lease_id)
    return LeaseStanding(standing="held" if standing is LeaseState.HELD else "cancelled")


@router.post(
    "/evaluations/{lease_id}/complete",
    status_code=204,
    response_class=Response,
    responses=EMPTY | raises(ConflictError),
    operation_id="complete_evaluation",
)
async def complete_evaluation(lease_id: LeaseId, body: LeaseCompletion, caller: Working, parts: PartsDep) -> Response:
    """Submit the result of a task."""
    leases, name, worker = _opened(parts, caller, lease_id, body.token)
    given = body.evaluation.model_dump() | {"outcome": Outcome(body.evaluation.outcome), "worker": worker}
    given["trace"] = Trace(**given["trace"]) if given["trace"] else None
    given["view"] = stored_view(given["view"]) if given["view"] else None
    if not await leases.complete(name, Evaluation(**given)):
        raise _lost(lease_id)
    return Response(status_code=204)


@router.post(
    "/evaluations/{lease_id}/release",
    status_code=204,
    response_class=Response,
    responses=EMPTY | raises(ConflictError),
    operation_id="release_evaluation",
)
async def release_evaluation(lease_id: LeaseId, body: LeaseRelease, caller: Working, parts: PartsDep) -> Response:
    """Return a task because its problem is missing. Its submitter sends both again."""
    leases, name, _ = _opened(parts, caller, lease_id, body.token)
    if not await leases.release(name):
        raise _lost(lease_id)
    return Response(status_code=204)


@router.get("/bundles/{bundle_hash}", response_class=Response, responses=_BUNDLE, operation_id="get_bundle")
async def get_bundle(bundle_hash: BundleHash, _: Working, parts: PartsDep) -> Response:
    """Download a problem's folder as tar.gz: evaluator, seeds and data."""
    found = await parts.leases("cpu", "api").bundle(bundle_hash)
    headers = {"Cache-Control": "private, max-age=31536000, immutable"}
    return Response(found.content, media_type="application/gzip", headers=headers)


@router.post("/workers/{worker_id}/heartbeat", response_model=WorkerHeartbeatReply, operation_id="heartbeat_worker")
async def heartbeat_worker(
    worker_id: WorkerId, body: WorkerHeartbeatBody, _: Working, parts: PartsDep
) -> WorkerHeartbeatReply:
    """Report that a worker is alive. The answer says whether it must drain. A silent worker counts as dead."""
    said = body.model_dump() | {"state": WorkerState(body.state), "started_at": body.started_at}
    said["devices"] = tuple(DeviceState(**device.model_dump()) for device in body.devices)
    said["tasks"] = tuple(RunningTask(**task.model_dump()) for task in body.tasks)
    return WorkerHeartbeatReply(
        drain=await parts.leases(body.pool, worker_id).heartbeat(WorkerHeartbeat(worker_id=worker_id, **said))
    )


@router.post(
    "/workers/{worker_id}/leave", status_code=204, response_class=Response, responses=EMPTY, operation_id="leave_worker"
)
async def leave_worker(worker_id: WorkerId, body: WorkerLeave, _: Working, parts: PartsDep) -> Response:
    """Report that a worker has ended."""
    await parts.leases(body.pool, worker_id).leave()
    return Response(status_code=204)


def _opened(
    parts: ApiDependencies, caller: Caller, lease_id: str, token: str
) -> tuple[EvaluationLeases, LeaseName, str]:
    """The leases that a token speaks of, the one lease, and its worker; only for who was given it."""
    held = parts.signer.open(_PURPOSE, token)
    if held is None or (held["id"], held["key"]) != (lease_id, caller.actor):
        raise ApiFault(409, Code.CONFLICT, "the token is not that of this lease and key: lease a task of your own")
    name = LeaseName(id=lease_id, delivery=held["no"])
    return parts.leases(held["pool"], held["worker"]), name, held["worker"]


def _lost(lease_id: str) -> ApiFault:
    detail = f"the lease {lease_id} has ended: it was completed, or lapsed and went to another worker"
    return ApiFault(409, Code.CONFLICT, detail)
