"""Calls about batches of runs."""

from service.client.call import Call, chosen, place
from service.schemas.batches import Batch, BatchCreate, BatchPage, BatchSummary

BATCHES, BATCH = "/v1/batches", "/v1/batches/{}"


def create_batch(batch: BatchCreate) -> Call[Batch]:
    """Submit many runs as one."""
    return Call(method="POST", path=BATCHES, body=batch, answer=Batch)


def list_batches(*, limit: int | None = None) -> Call[BatchPage]:
    """List batches, newest first."""
    return Call(method="GET", path=BATCHES, params=chosen(limit=limit), answer=BatchPage)


def get_batch(batch_id: str) -> Call[Batch]:
    """Read a batch."""
    return Call(method="GET", path=place(BATCH, batch_id), answer=Batch)


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
