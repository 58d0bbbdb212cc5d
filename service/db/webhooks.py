"""Webhooks on a database, and the outbox of what they shall hear."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, delete, insert, select, update

from evolve.event_types import BestImproved
from evolve.events import EventKind
from evolve.identity import digest
from service.db.account_models import BatchRow, DeliveryRow, WebhookRow
from service.db.columns import is_id
from service.db.engine import Database
from service.db.insertion import add
from service.db.models import RunRow
from service.db.row_mappers import AnySelect
from service.errors import NotFoundError
from service.ports import ENDED, PAUSED, Delivery, LoggedEvent, Webhook
from service.projections import entered
from service.timestamps import rfc3339

_IMPROVED, _WAITING = "run.improved", "run.waiting"
# The state of a batch that has ended: the first of these that one of its runs has.
_WHOLE = ("succeeded", "failed", "cancelled")
_PENDING = "pending"
_WEBHOOKS: AnySelect = select(*WebhookRow.__table__.c)
_DELIVERIES: AnySelect = select(*DeliveryRow.__table__.c)


class SqlWebhooks:
    """The port Webhooks on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, webhook: Webhook) -> None:
        """Store a webhook."""
        with self._database.write() as connection:
            connection.execute(insert(WebhookRow), [_row(webhook)])

    def get(self, tenant: str, webhook_id: str) -> Webhook:
        """One webhook.

        Raises:
            NotFoundError: the tenant has none.
        """
        with self._database.read() as connection:
            row = connection.execute(_WEBHOOKS.where(*_mine(tenant, webhook_id))).mappings().one_or_none()
        if row is None:
            raise _missing(webhook_id)
        return Webhook(**row)

    def webhooks(self, tenant: str, after: str = "", limit: int = 50) -> list[Webhook]:
        """Webhooks in order of their ids, which is that of age."""
        query = _WEBHOOKS.where(WebhookRow.tenant == tenant, WebhookRow.id > after)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(WebhookRow.id).limit(limit)).mappings()
            return [Webhook(**row) for row in rows]

    def change(self, tenant: str, webhook_id: str, how: Callable[[Webhook], Webhook]) -> Webhook:
        """Store what `how` makes of a webhook, which nobody else changes meanwhile.

        Raises:
            NotFoundError: the tenant has none.
        """
        with self._database.write() as connection:
            # Whoever puts a message for it into the outbox need not wait.
            held = _WEBHOOKS.where(*_mine(tenant, webhook_id)).with_for_update(key_share=True)
            row = connection.execute(held).mappings().one_or_none()
            if row is None:
                raise _missing(webhook_id)
            changed = how(Webhook(**row))
            values = {name: _row(changed)[name] for name in ("url", "types", "secrets", "disabled")}
            connection.execute(update(WebhookRow).where(WebhookRow.id == row["id"]).values(values))
        return changed

    def remove(self, tenant: str, webhook_id: str) -> None:
        """Remove it with its deliveries.

        Raises:
            NotFoundError: the tenant has none.
        """
        with self._database.write() as connection:
            # Locked first: whoever adds a delivery holds the webhook, so that none comes in between.
            held = select(WebhookRow.id).where(*_mine(tenant, webhook_id)).with_for_update()
            found = connection.execute(held).scalar()
            if found is None:
                raise _missing(webhook_id)
            connection.execute(delete(DeliveryRow).where(DeliveryRow.webhook_id == found))
            connection.execute(delete(WebhookRow).where(WebhookRow.id == found))

    def deliveries(self, tenant: str, webhook_id: str, before: str = "", limit: int = 50) -> list[Delivery]:
        """Deliveries to one webhook, newest first.

        Raises:
            NotFoundError: the tenant has none.
        """
        with self._database.read() as connection:
            found = connection.execute(select(WebhookRow.id).where(*_mine(tenant, webhook_id))).scalar()
            if found is None:
                raise _missing(webhook_id)
            query = _DELIVERIES.where(DeliveryRow.webhook_id == found)
            if before:
                query = query.where(DeliveryRow.id < before)
            rows = connection.execute(query.order_by(DeliveryRow.id.desc()).limit(limit)).mappings()
            return [Delivery(**row) for row in rows]

    def deliver(self, delivery: Delivery) -> None:
        """Store a delivery to be made: a ping, or one made again.

        Raises:
            NotFoundError: there is no such webhook.
        """
        held = select(WebhookRow.id).where(is_id(WebhookRow.id, delivery.webhook_id))
        with self._database.write() as connection:
            if connection.execute(held.with_for_update(read=True, key_share=True)).scalar() is None:
                raise _missing(delivery.webhook_id)
            connection.execute(insert(DeliveryRow), [_row(delivery)])

    def due(self, now: datetime, hold_seconds: float, limit: int) -> list[tuple[Webhook, Delivery]]:
        """Deliveries whose time has come, held for a while so that no other process makes them too.

        Those of disabled webhooks are left out. A held one comes again when it was not told how the attempt went.
        """
        waiting = (
            _DELIVERIES.join(WebhookRow, WebhookRow.id == DeliveryRow.webhook_id)
            .where(DeliveryRow.state == _PENDING, DeliveryRow.next_at <= now, WebhookRow.disabled == "")
            .order_by(DeliveryRow.next_at, DeliveryRow.id)
            .limit(limit)
        )
        with self._database.read() as connection:
            if not connection.execute(waiting.limit(1)).first():
                return []  # on SQLite, asking takes no writer's lock
        until = now + timedelta(seconds=hold_seconds)
        with self._database.write() as connection:
            unclaimed = waiting.with_for_update(of=DeliveryRow, skip_locked=True)
            found = [Delivery(**row) for row in connection.execute(unclaimed).mappings()]
            ids = [delivery.id for delivery in found]
            connection.execute(update(DeliveryRow).where(DeliveryRow.id.in_(ids)).values(next_at=until))
            query = _WEBHOOKS.where(WebhookRow.id.in_({delivery.webhook_id for delivery in found}))
            webhooks = {row["id"]: Webhook(**row) for row in connection.execute(query).mappings()}
        return [(webhooks[delivery.webhook_id], replace(delivery, next_at=until)) for delivery in found]

    def attempted(self, delivery: Delivery) -> None:
        """Store how an attempt went; harmless when the webhook was removed meanwhile."""
        went = {name: getattr(delivery, name) for name in ("state", "attempts", "next_at", "status", "error")}
        with self._database.write() as connection:
            connection.execute(update(DeliveryRow).where(is_id(DeliveryRow.id, delivery.id)).values(went))


def announce(connection: Connection, run_id: str, events: Iterable[LoggedEvent]) -> None:
    """Put into the outbox what the webhooks of the run's tenant shall hear of a batch of events."""
    messages = {kind: (logged, logged.run_id) for kind, logged in _messages(events)}
    for state, (logged, _) in [(kind.removeprefix("run."), told) for kind, told in messages.items()]:
        if state in ENDED and (ended := _ended_batch(connection, run_id, state)):
            messages[f"batch.{ended[1]}"] = (logged, ended[0])
    if not messages:
        return
    # Held against their removal; one that is being removed is waited for, and then not there.
    listening = (
        select(WebhookRow.id, WebhookRow.types)
        .join(RunRow, RunRow.tenant == WebhookRow.tenant)
        .where(RunRow.id == run_id, WebhookRow.disabled == "")
        .order_by(WebhookRow.id)
        .with_for_update(of=WebhookRow, read=True, key_share=True)
    )
    rows = [
        _message(webhook_id, kind, logged, subject)
        for webhook_id, types in connection.execute(listening)
        for kind, (logged, subject) in messages.items()
        if kind in types
    ]
    add(connection, DeliveryRow, rows)


def _messages(events: Iterable[LoggedEvent]) -> Iterator[tuple[str, LoggedEvent]]:
    """Types of messages with the event that they tell of; of several of one type the last one counts."""
    for logged in events:
        event = logged.event
        if isinstance(event.data, BestImproved):
            if event.data.objective is None:
                yield _IMPROVED, logged
        elif event.kind is EventKind.RUN_WAITING:
            yield _WAITING, logged
        elif (state := entered(event)) in ENDED or state == PAUSED:
            yield f"run.{state}", logged


def _ended_batch(connection: Connection, run_id: str, state: str) -> tuple[str, str] | None:
    """The batch of which a run that enters a state is the last to end, and the state of the whole; None: there is none.

    The batch is locked: of two runs that end at once, the later one sees the end of the other.
    """
    mine = select(BatchRow.id, BatchRow.tenant).join(
        RunRow, (RunRow.batch_id == BatchRow.id) & (RunRow.tenant == BatchRow.tenant)
    )
    batch = connection.execute(mine.where(RunRow.id == run_id).with_for_update(of=BatchRow, key_share=True)).first()
    if batch is None:
        return None
    others = select(RunRow.state).distinct()
    others = others.where(RunRow.batch_id == batch.id, RunRow.tenant == batch.tenant, RunRow.id != run_id)
    held = {state, *connection.execute(others).scalars()}
    return (batch.id, next(one for one in _WHOLE if one in held)) if held <= set(ENDED) else None


def _message(webhook_id: str, kind: str, logged: LoggedEvent, subject: str) -> dict[str, Any]:
    return {
        "id": _delivery_id(webhook_id, logged, subject),
        "webhook_id": webhook_id,
        "type": kind,
        "payload": {
            "type": kind,
            "timestamp": rfc3339(logged.at),
            "data": {"id": subject},
        },
        "state": _PENDING,
        "attempts": 0,
        "next_at": logged.at,
        "status": None,
        "error": "",
        "created_at": logged.at,
    }


def _delivery_id(webhook_id: str, logged: LoggedEvent, subject: str) -> str:
    """Sorts by age as every delivery's does, and is the same for the same event: one UUID of version 7."""
    told = "" if subject == logged.run_id else f"/{subject}"
    chance = int(digest(f"{webhook_id}/{logged.run_id}/{logged.sequence}{told}", 19), 16)
    milliseconds = int(logged.at.timestamp() * 1000)
    value = (
        (milliseconds << 80) | (0x7 << 76) | ((chance >> 62 & 0xFFF) << 64) | (0b10 << 62) | (chance & (1 << 62) - 1)
    )
    return f"dlv_{UUID(int=value)}"


def _row(record: Webhook | Delivery) -> Mapping[str, Any]:
    row = {name: getattr(record, name) for name in record.__slots__}
    return row | {name: list(row[name]) for name in ("types", "secrets") if name in row}


def _mine(tenant: str, webhook_id: str) -> tuple[Any, ...]:
    return (WebhookRow.tenant == tenant, is_id(WebhookRow.id, webhook_id))


def _missing(webhook_id: str) -> NotFoundError:
    return NotFoundError(f"there is no webhook {webhook_id[:60]!r}: list the webhooks")
