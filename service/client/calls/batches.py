"""Calls of the tag batches. `scripts.openapi` writes them."""

from types import NoneType

from service.client.call import Call, place
from service.schemas.batches import Batch, BatchCreate, BatchSummary


def create_batch(body: BatchCreate) -> Call[Batch]:
    """Submit many runs as a batch. All of them are stored, or none."""
    return Call(method="POST", path="/v1/batches", body=body, answer=Batch)


def get_batch(batch_id: str, wait_seconds: int = 0) -> Call[Batch]:
    """Read a batch. `/v1/runs?batch_id=` lists its runs. `Prefer: wait=30` waits for another state."""
    return Call(
        method="GET",
        path=place("/v1/batches/{}", batch_id),
        headers={"Prefer": f"wait={wait_seconds}"} if wait_seconds else {},
        answer=Batch,
        wait_seconds=wait_seconds,
    )


def delete_batch(batch_id: str, tag: str = "") -> Call[None]:
    """Delete a batch and its runs, all ended or paused. They disappear at once, and their data later."""
    return Call(
        method="DELETE",
        path=place("/v1/batches/{}", batch_id),
        headers={"If-Match": tag} if tag else {},
        answer=NoneType,
    )


def get_batch_summary(batch_id: str) -> Call[BatchSummary]:
    """Summarise the results of a batch, by problem and by the differences of its runs other than seeds."""
    return Call(method="GET", path=place("/v1/batches/{}/summary", batch_id), answer=BatchSummary)


def pause_batch(batch_id: str) -> Call[Batch]:
    """Pause all unfinished runs of a batch."""
    return Call(method="POST", path=place("/v1/batches/{}/pause", batch_id), answer=Batch)


def resume_batch(batch_id: str) -> Call[Batch]:
    """Resume all paused runs of a batch."""
    return Call(method="POST", path=place("/v1/batches/{}/resume", batch_id), answer=Batch)


def cancel_batch(batch_id: str) -> Call[Batch]:
    """End all runs of a batch permanently."""
    return Call(method="POST", path=place("/v1/batches/{}/cancel", batch_id), answer=Batch)
