"""Batches: many runs submitted as one, watched as one."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRecord:
    """A batch as stored; its state is that of its runs.

    Attributes:
        request: what was asked for: the list of runs, or the sweep.
        states: how many of its runs are in which state.
    """

    id: str
    tenant: str
    name: str
    request: Mapping[str, Any]
    states: Mapping[str, int]
    created_at: datetime

    @property
    def state(self) -> str:
        """queued, running, paused, succeeded, failed or cancelled: of the whole."""
        held = {state for state, count in self.states.items() if count}
        for state in ("running", "pausing", "cancelling", "queued", "paused"):
            if state in held:
                return "running" if state.endswith("ing") else state
        return next((state for state in ("failed", "cancelled") if held == {state}), "succeeded")


class BatchStore(Protocol):
    """Batches; their runs name them."""

    def add(self, batch: BatchRecord) -> None:
        """Store a batch without runs."""

    def get(self, tenant: str, batch_id: str) -> BatchRecord:
        """One batch.

        Raises:
            NotFoundError: the tenant has none.
        """

    def batches(self, tenant: str, before: str = "", limit: int = 50) -> list[BatchRecord]:
        """Batches of a tenant, newest first."""
