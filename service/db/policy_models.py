"""The tables of registered policies and of the jobs that train them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ForeignKey, ForeignKeyConstraint, Index
from sqlalchemy.orm import Mapped, mapped_column

from service.db.columns import Base, Id, Key


class PolicyRow(Base):
    """A policy with versions; `shared`: whether all tenants may use it."""

    __tablename__ = "policies"

    tenant: Mapped[Key] = mapped_column(ForeignKey("tenants.id"))
    name: Mapped[Key]
    description: Mapped[str]
    shared: Mapped[bool]
    created_by: Mapped[str]
    created_at: Mapped[datetime]


class PolicyVersionRow(Base):
    """A version of a policy; its folder is a bundle."""

    __tablename__ = "policy_versions"
    __table_args__ = (
        ForeignKeyConstraint(["tenant", "policy"], ["policies.tenant", "policies.name"]),
        Index(None, "bundle_hash"),
    )

    tenant: Mapped[Key]
    policy: Mapped[Key]
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    state: Mapped[str]
    base: Mapped[str]
    settings: Mapped[Mapping[str, Any]]
    bundle_hash: Mapped[Id] = mapped_column(ForeignKey("bundles.hash"))
    training: Mapped[Mapping[str, Any]]
    card: Mapped[str]
    evaluations: Mapped[Sequence[Any]]
    promotion: Mapped[Mapping[str, Any]]
    created_by: Mapped[str]
    created_at: Mapped[datetime]
    promoted_at: Mapped[datetime | None]
    archived_at: Mapped[datetime | None]


class TrainingJobRow(Base):
    """A job that trains a version of a policy; `fence` grows with every taking of the lease.

    `request` is what was asked for, `runs` the runs that it learns from, `progress` the newest figures and `checkpoint`
    where a trainer would continue.
    """

    __tablename__ = "training_jobs"
    __table_args__ = (
        ForeignKeyConstraint(["tenant", "policy"], ["policies.tenant", "policies.name"]),
        Index(None, "tenant", "id"),
        Index(None, "state"),
    )

    id: Mapped[Key]
    tenant: Mapped[Id]
    policy: Mapped[Id]
    request: Mapped[Mapping[str, Any]]
    runs: Mapped[Sequence[Any]]
    state: Mapped[str]
    desired_state: Mapped[str]
    lease_owner: Mapped[str | None]
    lease_expires_at: Mapped[datetime | None]
    fence: Mapped[int] = mapped_column(BigInteger)
    sequence: Mapped[int] = mapped_column(BigInteger)
    progress: Mapped[Mapping[str, Any]]
    checkpoint: Mapped[Mapping[str, Any]]
    error: Mapped[str]
    version: Mapped[int | None]
    created_by: Mapped[str]
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]


class TrainingEventRow(Base):
    """An event of a training job; rows are only ever added."""

    __tablename__ = "training_events"

    job_id: Mapped[Key] = mapped_column(ForeignKey("training_jobs.id"))
    sequence: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    kind: Mapped[str]
    at: Mapped[datetime]
    payload: Mapped[Mapping[str, Any]]


class TrainingPermissionRow(Base):
    """A tenant's answer to whether runs may be trained on; the newest counts, and rows are only ever added.

    `run_id` empty: the answer holds for all runs of the tenant without an answer of their own.
    """

    __tablename__ = "training_permissions"
    __table_args__ = (Index(None, "tenant", "run_id"),)

    id: Mapped[Key]
    tenant: Mapped[Id] = mapped_column(ForeignKey("tenants.id"))
    run_id: Mapped[Id]
    allowed: Mapped[bool]
    by: Mapped[str]
    at: Mapped[datetime]
