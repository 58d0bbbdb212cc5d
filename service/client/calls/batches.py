"""Calls about batches of runs."""

from datetime import datetime
from types import NoneType

from service.client.call import Call, chosen, place
from service.schemas.batches import Batch, BatchCreate, BatchPage, BatchSummary

BATCHES, BATCH = "/v1/batches", "/v1/batches/{}"


def create_batch(batch: BatchCreate) -> Call[Batch]:
    """Submit many runs as one."""
    return Call(method="POST", path=BATCHES, body=batch, answer=Batch)


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
    return Call(method="GET", path=BATCHES, params=params, answer=BatchPage)


def get_batch(batch_id: str, wait_seconds: int = 0) -> Call[Batch]:
    """Read a batch; with `wait_seconds`, once its state has changed or so much time has passed."""
    headers = {"Prefer": f"wait={wait_seconds}"} if wait_seconds else {}
    return Call(method="GET", path=place(BATCH, batch_id), headers=headers, answer=Batch, wait_seconds=wait_seconds)


def delete_batch(batch_id: str, tag: str = "") -> Call[None]:
    """Delete a batch with its runs, none of which may be at work; what is theirs is removed later."""
    headers = {"If-Match": tag} if tag else {}
    return Call(method="DELETE", path=place(BATCH, batch_id), headers=headers, answer=NoneType)


def get_batch_summary(batch_id: str) -> Call[BatchSummary]:
    """Read what a batch has come to so far."""
    return Call(method="GET", path=place(f"{BATCH}/summary", batch_id), answer=BatchSummary)


def pause_batch(batch_id: str) -> Call[Batch]:
    """Have all its runs that have not ended stop until they are resumed."""
    return Call(method="POST", path=place(f"{BATCH}/pause", batch_id), answer=Batch)


def resume_batch(batch_id: str) -> Call[Batch]:
    """Have all its paused runs go on."""
    return Call(method="POST", path=place(f"{BATCH}/resume", batch_id), answer=Batch)


def cancel_batch(batch_id: str) -> Call[Batch]:
    """End all its runs for good."""
    return Call(method="POST", path=place(f"{BATCH}/cancel", batch_id), answer=Batch)
