"""The tables: what a run is, what it asked, what came back, and the events that all of it projects."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    ColumnElement,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    UniqueConstraint,
    literal_column,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from service.db.binary import Binary
from service.db.columns import Base, BinaryId, BinaryKey, Id, Key
from service.db.frequent_words import FrequentWord, stored_word
from service.db.packed import PackedJson, PackedText


class Tenant(Base):
    """Whom problems and runs belong to."""

    __tablename__ = "tenants"

    id: Mapped[Key]
    created_at: Mapped[datetime]
    quotas: Mapped[Mapping[str, Any]] = mapped_column(server_default="{}")


class BundleRow(Base):
    """A problem's folder by the hash of its content."""

    __tablename__ = "bundles"

    hash: Mapped[Key]
    content: Mapped[bytes]


class ProblemRow(Base):
    """A problem as it was at one time; another content of the same name is the next version."""

    __tablename__ = "problems"
    __table_args__ = (
        UniqueConstraint("tenant", "name", "version"),
        UniqueConstraint("tenant", "name", "bundle_hash"),
        Index(None, "bundle_hash"),
    )

    id: Mapped[Key]
    tenant: Mapped[Id] = mapped_column(ForeignKey("tenants.id"))
    name: Mapped[str]
    version: Mapped[int]
    bundle_hash: Mapped[Id] = mapped_column(ForeignKey("bundles.hash"))
    created_at: Mapped[datetime]
    document: Mapped[Mapping[str, Any]] = mapped_column(server_default="{}")


class RunRow(Base):
    """A run: what it was asked for, and the fold of its events.

    `sequence`, `last_at` and what stands below them are that fold; `fence` grows with every taking of the lease,
    `revision` with every word of a front door.
    """

    __tablename__ = "runs"
    __table_args__ = (
        Index(None, "created_at", "id"),
        Index(None, "tenant", "created_at", "id"),
        Index(None, "state"),
        Index(None, "batch_id"),
        Index(None, "problem_id"),
    )

    id: Mapped[BinaryKey]
    tenant: Mapped[Id] = mapped_column(ForeignKey("tenants.id"))
    problem_id: Mapped[Id] = mapped_column(ForeignKey("problems.id"))
    seed: Mapped[int] = mapped_column(JSON)  # of any size
    known_best: Mapped[float | None]
    integrity: Mapped[str]
    isolation: Mapped[str]
    source: Mapped[str]
    desired_state: Mapped[str]
    lease_owner: Mapped[str | None]
    lease_expires_at: Mapped[datetime | None]
    fence: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime]
    sequence: Mapped[int] = mapped_column(BigInteger)
    last_at: Mapped[datetime]
    state: Mapped[str]
    reason: Mapped[str]
    waiting: Mapped[Mapping[str, Any] | None]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    active_seconds: Mapped[float]
    best_candidate_id: Mapped[Id | None]
    best_fitness: Mapped[float | None]
    proposals: Mapped[int]
    answers: Mapped[int]
    evaluations: Mapped[int]
    valid: Mapped[int]
    failed: Mapped[int]
    duplicates: Mapped[int]
    rejected: Mapped[int]
    tokens_input: Mapped[int] = mapped_column(BigInteger)
    tokens_cached: Mapped[int] = mapped_column(BigInteger)
    tokens_output: Mapped[int] = mapped_column(BigInteger)
    cost: Mapped[str | None]
    config: Mapped[Mapping[str, Any]]
    policies: Mapped[Sequence[Any]]
    objectives: Mapped[Sequence[Any]]
    measures: Mapped[Sequence[Any]] = mapped_column(server_default="[]")
    labels: Mapped[Mapping[str, Any]] = mapped_column(server_default="{}")
    batch_id: Mapped[Id | None]
    fork_of: Mapped[Id | None]
    revision: Mapped[int] = mapped_column(server_default="0")
    desired_budget: Mapped[Mapping[str, Any]] = mapped_column(server_default="{}")
    desired_by: Mapped[str | None]
    paused_at: Mapped[datetime | None]
    created_by: Mapped[str] = mapped_column(server_default=text("''"))
    policy_health: Mapped[Mapping[str, Any] | None]


class EventRow(Base):
    """An event of a run; rows are only ever added."""

    __tablename__ = "events"

    run_id: Mapped[BinaryKey] = mapped_column(ForeignKey("runs.id"))
    sequence: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    at: Mapped[datetime]
    kind: Mapped[str] = mapped_column(FrequentWord)
    payload: Mapped[Mapping[str, Any]] = mapped_column(PackedJson)


# Most events are of these kinds, so that whoever wants them walks over the log. The others have an index.
FREQUENT_KINDS = (
    "candidate.created",
    "candidate.evaluated",
    "individual.inserted",
    "proposal.answered",
    "proposal.created",
)
# Written out: an index of some rows is used where the statement has the same words.
RARE: ColumnElement[bool] = EventRow.kind.not_in([literal_column(f"'{stored_word(kind)}'") for kind in FREQUENT_KINDS])
Index(
    "ix_events_run_id_kind_sequence",
    EventRow.run_id,
    EventRow.kind,
    EventRow.sequence,
    sqlite_where=RARE,
    postgresql_where=RARE,
)


class RunColumnsRow(Base):
    """A run in columns up to an event, as charts are drawn from it; an API process saves it for the next one."""

    __tablename__ = "run_columns"

    run_id: Mapped[BinaryKey] = mapped_column(ForeignKey("runs.id"))
    format: Mapped[str]
    sequence: Mapped[int] = mapped_column(BigInteger)
    content: Mapped[bytes]


class SnapshotRow(Base):
    """A part of a run's state up to an event; with all of its parts a runner folds only the events behind it."""

    __tablename__ = "snapshots"

    run_id: Mapped[BinaryKey] = mapped_column(ForeignKey("runs.id"))
    sequence: Mapped[int] = mapped_column(BigInteger, primary_key=True)
    part: Mapped[int] = mapped_column(primary_key=True)
    parts: Mapped[int]
    content: Mapped[bytes]


class TextRow(Base):
    """A long text by the hash of its content: a prefix that prompts share is stored once."""

    __tablename__ = "texts"

    hash: Mapped[Key]
    body: Mapped[str] = mapped_column(PackedText)


class ProposalRow(Base):
    """What a policy was asked, what it wrote and what it cost.

    `prompt` lists messages as {role, parts}, parts being hashes of texts; state: asked, answered or failed;
    probability: with which the operator was drawn; rationale: what else decided, as an event tells it; charges: what
    was paid beside the completion, as the event tells it; charged_input and so on: the sums of its tokens; form: in
    which the policy was asked to write, null: in its own; completions: packed by `service.db.completions`.
    """

    __tablename__ = "proposals"
    __table_args__ = (UniqueConstraint("id"),)

    run_id: Mapped[BinaryKey] = mapped_column(ForeignKey("runs.id"))
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    id: Mapped[BinaryId]
    island: Mapped[int]
    operator: Mapped[str]
    selection: Mapped[str]
    policy: Mapped[str]
    state: Mapped[str]
    reason: Mapped[str]
    tokens_input: Mapped[int] = mapped_column(BigInteger)
    tokens_cached: Mapped[int] = mapped_column(BigInteger)
    tokens_output: Mapped[int] = mapped_column(BigInteger)
    cost: Mapped[str | None]
    seconds: Mapped[float | None]
    attempts: Mapped[int]
    created_at: Mapped[datetime]
    answered_at: Mapped[datetime | None]
    probability: Mapped[float] = mapped_column(server_default="1")
    weights: Mapped[Sequence[Any]]
    rationale: Mapped[Mapping[str, Any]] = mapped_column(server_default="{}")
    prompt: Mapped[Sequence[Any]]
    finish_reasons: Mapped[Sequence[Any]]
    dropped: Mapped[Sequence[Any]]
    charges: Mapped[Sequence[Any]] = mapped_column(server_default="[]")
    charged_input: Mapped[int] = mapped_column(BigInteger, server_default="0")
    charged_cached: Mapped[int] = mapped_column(BigInteger, server_default="0")
    charged_output: Mapped[int] = mapped_column(BigInteger, server_default="0")
    completions: Mapped[bytes] = mapped_column(Binary)
    reasoning: Mapped[Sequence[Any]] = mapped_column(PackedJson)
    form: Mapped[Mapping[str, Any] | None]


class ProgramRow(Base):
    """Source text by its content: (path, text) pairs, sorted by path, packed by `service.db.programs`.

    `base`: the program that it was packed against; null: none.
    """

    __tablename__ = "programs"

    id: Mapped[BinaryKey]
    base: Mapped[BinaryId | None]
    files: Mapped[bytes]


_BASED = ProgramRow.base.is_not(None)
Index(None, ProgramRow.base, sqlite_where=_BASED, postgresql_where=_BASED)


class CandidateRow(Base):
    """One answer of one run. `attempt` is that of its latest evaluation; `rewards` come from there."""

    __tablename__ = "candidates"
    __table_args__ = (UniqueConstraint("id"), Index(None, "program_id"))

    run_id: Mapped[BinaryKey] = mapped_column(ForeignKey("runs.id"))
    proposal_number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    position: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    id: Mapped[BinaryId]
    island: Mapped[int]
    status: Mapped[str] = mapped_column(FrequentWord)
    reason: Mapped[str]
    program_id: Mapped[BinaryId | None] = mapped_column(ForeignKey("programs.id"))
    fingerprint: Mapped[BinaryId | None]
    changed: Mapped[str] = mapped_column(server_default=text("''"))
    duplicate_of: Mapped[BinaryId | None]
    attempt: Mapped[int | None]
    fitness: Mapped[float | None]
    rewards: Mapped[Sequence[Any] | None]
    created_at: Mapped[datetime]
    evaluated_at: Mapped[datetime | None]


# The order of a ranking: the fittest first, among equals the oldest. What filters ask about stands beside it, so that
# the candidates of a run are counted and passed over without a look at their rows.
Index(
    "ix_candidates_ranking",
    CandidateRow.run_id,
    CandidateRow.fitness.desc(),
    CandidateRow.proposal_number,
    CandidateRow.position,
    CandidateRow.status,
    CandidateRow.island,
    CandidateRow.attempt,
    CandidateRow.id,
)


class ParentRow(Base):
    """An edge of the lineage; `place` is its order among the candidate's edges."""

    __tablename__ = "parents"
    __table_args__ = (
        ForeignKeyConstraint(["candidate_id"], ["candidates.id"]),
        ForeignKeyConstraint(["parent_id"], ["candidates.id"]),
        Index(None, "parent_id"),
    )

    candidate_id: Mapped[BinaryKey]
    place: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    parent_id: Mapped[BinaryId]
    role: Mapped[str] = mapped_column(FrequentWord)


class EvaluationRow(Base):
    """One attempt at scoring a candidate.

    `measures` are the evaluator's own; `grid_measures` holds the values on the axes of the grid, built-in ones
    included; equal answers are equal texts.
    """

    __tablename__ = "evaluations"
    __table_args__ = (
        # SQLite counts outcomes in it without a look at rows, which are wide. PostgreSQL reads the table or the key.
        Index(None, "candidate_id", "attempt", "outcome").ddl_if(dialect="sqlite"),
        Index(None, "at"),
    )

    candidate_id: Mapped[BinaryKey] = mapped_column(ForeignKey("candidates.id"))
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    outcome: Mapped[str] = mapped_column(FrequentWord)
    reason: Mapped[str]
    seconds: Mapped[float]
    worker: Mapped[str]
    isolation: Mapped[str] = mapped_column(FrequentWord)
    at: Mapped[datetime]
    scores: Mapped[Mapping[str, Any]]
    measures: Mapped[Mapping[str, Any]]
    grid_measures: Mapped[Mapping[str, Any]]
    cases: Mapped[Mapping[str, Any]]
    spread: Mapped[Mapping[str, Any]]
    repeats: Mapped[int] = mapped_column(server_default="0")
    feedback: Mapped[str]
    answer: Mapped[str | None]


class CandidateViewRow(Base):
    """What a candidate looks like, as the evaluator drew it at one attempt."""

    __tablename__ = "candidate_views"

    candidate_id: Mapped[BinaryKey] = mapped_column(ForeignKey("candidates.id"))
    attempt: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    media_type: Mapped[str]
    reason: Mapped[str]
    content: Mapped[str] = mapped_column(PackedText)


class MembershipRow(Base):
    """A candidate in an island's archive, from one event of the run until another; while it is there, null."""

    __tablename__ = "memberships"

    candidate_id: Mapped[BinaryKey] = mapped_column(ForeignKey("candidates.id"))
    island: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    since: Mapped[int] = mapped_column(BigInteger, primary_key=True, autoincrement=False)
    until: Mapped[int | None] = mapped_column(BigInteger)
    run_id: Mapped[BinaryId]


_NOW = MembershipRow.until.is_(None)
Index(None, MembershipRow.run_id, MembershipRow.island, sqlite_where=_NOW, postgresql_where=_NOW)
