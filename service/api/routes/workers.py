"""Workers: who evaluates, and who shall stop."""

from typing import Annotated

from fastapi import APIRouter, Depends, Path
from fastapi.responses import Response

from service.api.access import PartsDep, requires
from service.ports import Caller, Scope, WorkerBeat
from service.schemas.workers import Worker, WorkerList

router = APIRouter(prefix="/v1/workers", tags=["workers"])

Operating = Annotated[Caller, Depends(requires(Scope.OPERATE, operator=True))]
WorkerId = Annotated[str, Path(pattern=r"^[A-Za-z0-9_.:-]{1,200}$", description="Id of a worker.")]


@router.get("", response_model=WorkerList, operation_id="list_workers")
async def list_workers(caller: Operating, parts: PartsDep) -> WorkerList:
    """List the workers that live, and how many tasks wait for one, and for how long."""
    del caller
    workers = parts.workers
    beats, depths, waits = await workers.workers(), await workers.depths(), await workers.waits()
    return WorkerList(items=[_shown(beat) for beat in beats], waiting=dict(depths), oldest_seconds=dict(waits))


@router.post("/{worker_id}/drain", status_code=202, response_class=Response, operation_id="drain_worker")
async def drain_worker(worker_id: WorkerId, caller: Operating, parts: PartsDep) -> Response:
    """Have a worker finish what it has and end; repeating changes nothing."""
    del caller
    await parts.workers.drain(worker_id)
    return Response(status_code=202)


def _shown(beat: WorkerBeat) -> Worker:
    return Worker(**{name: getattr(beat, name) for name in Worker.model_fields})
