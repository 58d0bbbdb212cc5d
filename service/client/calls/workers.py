"""Calls of the tag workers. `scripts.openapi` writes them."""

from types import NoneType

from service.client.call import Call, chosen, place
from service.schemas.workers import WorkerList, WorkerTimeline


def list_workers() -> Call[WorkerList]:
    """List the live workers, the number of waiting tasks, and the longest wait."""
    return Call(method="GET", path="/v1/workers", answer=WorkerList)


def list_worker_evaluations(*, minutes: int | None = None) -> Call[WorkerTimeline]:
    """List the current evaluations of workers, and those of the last minutes, at most 2000."""
    return Call(method="GET", path="/v1/workers/evaluations", params=chosen(minutes=minutes), answer=WorkerTimeline)


def drain_worker(worker_id: str) -> Call[None]:
    """Drain a worker: it finishes its tasks and ends. Repeating has no effect."""
    return Call(method="POST", path=place("/v1/workers/{}/drain", worker_id), answer=NoneType)
