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
        """queued, running, paused, succeeded (one of its runs has), failed or cancelled: of the whole."""
        held = {state for state, count in self.states.items() if count}
        going = held - {"succeeded", "failed", "cancelled"}
        if held <= {"queued"}:
            return "queued"
        if going:
            return "paused" if going == {"paused"} else "running"
        return next(state for state in ("succeeded", "failed", "cancelled") if state in held)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchFilter:
    """Which batches; empty: all.

    Attributes:
        created_after: those created then or later.
        created_before: those created earlier.
    """

    name: str = ""
    created_after: datetime | None = None
    created_before: datetime | None = None


ALL_BATCHES = BatchFilter()


class BatchStore(Protocol):
    """Batches; their runs name them."""

    def add(self, batch: BatchRecord) -> None:
        """Store a batch without runs."""

    def get(self, tenant: str, batch_id: str) -> BatchRecord:
        """One batch, by its id or a beginning of it.

        Raises:
            NotFoundError: the tenant has none.
            AmbiguousIdError: the beginning is that of several, or too short to tell.
        """

    def batches(
        self, tenant: str, before: str = "", limit: int = 50, only: BatchFilter = ALL_BATCHES
    ) -> list[BatchRecord]:
        """Batches of a tenant, newest first."""

    def remove(self, tenant: str, batch_id: str) -> None:
        """Remove a batch that has no runs any more, by its whole id."""
