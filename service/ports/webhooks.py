"""Webhooks: addresses that hear what becomes of runs, and the deliveries that wait to be made."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

WEBHOOK_TYPES = (
    "run.succeeded",
    "run.failed",
    "run.cancelled",
    "run.improved",
    "run.waiting",
    "run.paused",
    "batch.succeeded",
    "batch.failed",
    "batch.cancelled",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """An address and what it hears.

    Attributes:
        secrets: `whsec_` and base64; two while one takes the other's place, the new one first.
        disabled: why it hears nothing; empty: it does.
    """

    id: str
    tenant: str
    url: str
    types: Sequence[str]
    secrets: Sequence[str] = field(repr=False)
    disabled: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message to one webhook. State: pending, delivered or failed (given up)."""

    id: str
    webhook_id: str
    type: str
    payload: Mapping[str, Any]
    state: str
    attempts: int
    next_at: datetime | None
    status: int | None
    error: str
    created_at: datetime


class Webhooks(Protocol):
    """Webhooks and their deliveries; deliveries are added in the transaction of the event that they tell of."""

    def add(self, webhook: Webhook) -> None:
        """Store a webhook."""

    def get(self, tenant: str, webhook_id: str) -> Webhook:
        """One webhook.

        Raises:
            NotFoundError: the tenant has none.
        """

    def webhooks(self, tenant: str, after: str = "", limit: int = 50) -> list[Webhook]:
        """Webhooks in order of their ids, which is that of age."""

    def change(self, tenant: str, webhook_id: str, how: Callable[[Webhook], Webhook]) -> Webhook:
        """Store what becomes of a webhook: address, types, secrets, whether it is disabled.

        `how` makes the new one of the one that is stored, which nobody else changes meanwhile; it asks nobody anything.

        Raises:
            NotFoundError: the tenant has none.
        """

    def remove(self, tenant: str, webhook_id: str) -> None:
        """Remove it with its deliveries.

        Raises:
            NotFoundError: the tenant has none.
        """

    def deliveries(self, tenant: str, webhook_id: str, before: str = "", limit: int = 50) -> list[Delivery]:
        """Deliveries to one webhook, newest first.

        Raises:
            NotFoundError: the tenant has none.
        """

    def deliver(self, delivery: Delivery) -> None:
        """Store a delivery to be made: a ping, or one made again. Ids begin with `dlv_` and sort by age.

        Raises:
            NotFoundError: there is no such webhook.
        """

    def due(self, now: datetime, hold_seconds: float, limit: int) -> list[tuple[Webhook, Delivery]]:
        """Deliveries whose time has come, held for a while so that no other process makes them too.

        Those of disabled webhooks are left out. A held one comes again when nobody told how the attempt went.
        """

    def attempted(self, delivery: Delivery) -> None:
        """Store how an attempt went; harmless when the webhook was removed meanwhile."""
