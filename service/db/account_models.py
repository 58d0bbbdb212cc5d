"""The tables of those who use the service: their keys, what they did, and what they put beside runs."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, Index, LargeBinary, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from service.db.columns import Base, BinaryId, BinaryKey, Id, Key


class ApiKeyRow(Base):
    """A key of a tenant, known by its keyed hash."""

    __tablename__ = "api_keys"
    __table_args__ = (UniqueConstraint("hash"), Index(None, "tenant", "id"))

    id: Mapped[Key]
    tenant: Mapped[Id] = mapped_column(ForeignKey("tenants.id"))
    name: Mapped[str]
    shown: Mapped[str]
    hash: Mapped[Id]
    scopes: Mapped[Sequence[Any]]
    created_by: Mapped[str]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]


class EndedSessionRow(Base):
    """A session of a browser that was ended before its time."""

    __tablename__ = "ended_sessions"
    __table_args__ = (Index(None, "until"),)

    id: Mapped[Key]
    until: Mapped[datetime]


class AuditRow(Base):
    """Something that somebody did or was refused; rows are only ever added."""

    __tablename__ = "audit"
    __table_args__ = (Index(None, "tenant", "id"),)

    id: Mapped[Key]
    tenant: Mapped[Id]
    at: Mapped[datetime]
    actor: Mapped[str]
    action: Mapped[str]
    subject: Mapped[str]
    outcome: Mapped[str]
    request_id: Mapped[str]
    address: Mapped[str]


class RequestRow(Base):
    """A request that came with an idempotency key, and what it was answered with."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (Index(None, "created_at"),)

    actor: Mapped[Key]
    key: Mapped[Key]
    request_hash: Mapped[str]
    status: Mapped[int | None]
    headers: Mapped[Mapping[str, Any]]
    body: Mapped[bytes | None] = mapped_column(LargeBinary)
    created_at: Mapped[datetime]


class WebhookRow(Base):
    """An address that hears what becomes of runs."""

    __tablename__ = "webhooks"
    __table_args__ = (Index(None, "tenant", "id"),)

    id: Mapped[Key]
    tenant: Mapped[Id] = mapped_column(ForeignKey("tenants.id"))
    url: Mapped[str]
    types: Mapped[Sequence[Any]]
    secrets: Mapped[Sequence[Any]]
    disabled: Mapped[str]
    created_at: Mapped[datetime]


class DeliveryRow(Base):
    """A message to a webhook."""

    __tablename__ = "webhook_deliveries"
    __table_args__ = (Index(None, "webhook_id", "id"), Index(None, "state", "next_at"))

    id: Mapped[Key]
    webhook_id: Mapped[Id] = mapped_column(ForeignKey("webhooks.id"))
    type: Mapped[str]
    payload: Mapped[Mapping[str, Any]]
    state: Mapped[Id]
    attempts: Mapped[int]
    next_at: Mapped[datetime | None]
    status: Mapped[int | None]
    error: Mapped[str]
    created_at: Mapped[datetime]


class BatchRow(Base):
    """Many runs submitted as one; its runs name it."""

    __tablename__ = "batches"
    __table_args__ = (Index(None, "tenant", "id"),)

    id: Mapped[Key]
    tenant: Mapped[Id] = mapped_column(ForeignKey("tenants.id"))
    name: Mapped[str]
    request: Mapped[Mapping[str, Any]]
    created_at: Mapped[datetime]


class UsageRow(Base):
    """What a run used in an hour, `hour` being its beginning in UTC; it stays when the run is deleted."""

    __tablename__ = "usage"

    tenant: Mapped[Key]
    hour: Mapped[datetime] = mapped_column(primary_key=True)
    run_id: Mapped[Key]
    runs: Mapped[int]
    proposals: Mapped[int] = mapped_column(BigInteger)
    answers: Mapped[int] = mapped_column(BigInteger)
    evaluations: Mapped[int] = mapped_column(BigInteger)
    evaluation_seconds: Mapped[float]
    tokens_input: Mapped[int] = mapped_column(BigInteger)
    tokens_cached: Mapped[int] = mapped_column(BigInteger)
    tokens_output: Mapped[int] = mapped_column(BigInteger)


class ReevaluationRow(Base):
    """A candidate that waits to be evaluated once more."""

    __tablename__ = "reevaluations"

    run_id: Mapped[BinaryKey] = mapped_column(ForeignKey("runs.id"))
    candidate_id: Mapped[BinaryKey] = mapped_column(ForeignKey("candidates.id"))
    requested_by: Mapped[str]
    created_at: Mapped[datetime]


class ViewRequestRow(Base):
    """A candidate whose view waits to be drawn. `due_at`: when it may be taken up, by whomever."""

    __tablename__ = "view_requests"

    run_id: Mapped[BinaryKey] = mapped_column(ForeignKey("runs.id"))
    candidate_id: Mapped[BinaryKey] = mapped_column(ForeignKey("candidates.id"))
    requested_by: Mapped[str]
    created_at: Mapped[datetime]
    due_at: Mapped[datetime]
    tries: Mapped[int]
    reason: Mapped[str]


class RunChangeRow(Base):
    """A change that a person wants of a run at work and that no search has made yet.

    `kind` and `payload` are those of the event to be; files: of the program that it brings, by path; none otherwise.
    """

    __tablename__ = "run_changes"

    run_id: Mapped[BinaryKey] = mapped_column(ForeignKey("runs.id"))
    id: Mapped[Key]
    kind: Mapped[str]
    payload: Mapped[Mapping[str, Any]]
    files: Mapped[Mapping[str, Any]]


class NoteRow(Base):
    """A text about a run or a candidate."""

    __tablename__ = "notes"
    __table_args__ = (Index(None, "run_id", "id"),)

    id: Mapped[Key]
    run_id: Mapped[BinaryId] = mapped_column(ForeignKey("runs.id"))
    candidate_id: Mapped[str]
    body: Mapped[str]
    author: Mapped[str]
    created_at: Mapped[datetime]
    updated_at: Mapped[datetime]


class PinRow(Base):
    """A candidate that somebody wants at hand."""

    __tablename__ = "pins"

    run_id: Mapped[BinaryKey] = mapped_column(ForeignKey("runs.id"))
    candidate_id: Mapped[BinaryKey] = mapped_column(ForeignKey("candidates.id"))
    author: Mapped[str]
    created_at: Mapped[datetime]


class SavedFilterRow(Base):
    """A saved filter; `run_id` empty: of no run in particular."""

    __tablename__ = "views"
    __table_args__ = (Index(None, "tenant", "run_id", "id"),)

    id: Mapped[Key]
    tenant: Mapped[Id] = mapped_column(ForeignKey("tenants.id"))
    run_id: Mapped[Id]
    name: Mapped[str]
    settings: Mapped[Mapping[str, Any]]
    created_at: Mapped[datetime]


class ShareRow(Base):
    """A token that lets its bearer read one run, known by its keyed hash."""

    __tablename__ = "shares"
    __table_args__ = (UniqueConstraint("hash"), Index(None, "run_id", "id"))

    id: Mapped[Key]
    tenant: Mapped[Id] = mapped_column(ForeignKey("tenants.id"))
    run_id: Mapped[BinaryId] = mapped_column(ForeignKey("runs.id"))
    hash: Mapped[Id]
    created_by: Mapped[str]
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
