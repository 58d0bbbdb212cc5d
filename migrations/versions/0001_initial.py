"""The first schema: every table, and the tenant `default`."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001_initial"
down_revision = None

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
TEXT, JSON, BINARY = sa.Text(), sa.JSON(), sa.LargeBinary()
INTEGER, BIG_INTEGER, DOUBLE = sa.Integer(), sa.BigInteger(), sa.Double[float]()
# In the order of references.
TABLES = (
    "tenants", "bundles", "problems", "usage", "runs", "events", "run_columns", "texts", "proposals", "programs",
    "candidates", "parents", "evaluations", "memberships", "reevaluations", "api_keys", "ended_sessions", "audit",
    "idempotency_keys", "webhooks", "webhook_deliveries", "batches", "notes", "pins", "views", "shares",
)  # fmt: skip


def upgrade() -> None:
    _tenants()
    _runs()
    _events()
    _proposals()
    _candidates()
    _evaluations()
    _access()
    _webhooks()
    _annotations()
    op.bulk_insert(
        sa.table("tenants", sa.column("id", sa.String), sa.column("created_at", TIME)),
        [{"id": "default", "created_at": datetime.now(UTC)}],
    )


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)


def _tenants() -> None:
    op.create_table(
        "tenants",
        *_required(ID, "id"),
        *_required(TIME, "created_at"),
        *_required(JSON, "quotas", default="{}"),
        _key("tenants", "id"),
    )
    op.create_table("bundles", *_required(ID, "hash"), *_required(BINARY, "content"), _key("bundles", "hash"))
    op.create_table(
        "problems",
        *_required(ID, "id", "tenant"),
        *_required(TEXT, "name"),
        *_required(INTEGER, "version"),
        *_required(ID, "bundle_hash"),
        *_required(TIME, "created_at"),
        *_required(JSON, "document", default="{}"),
        *_references("problems", bundle_hash="bundles.hash", tenant="tenants.id"),
        _key("problems", "id"),
        _unique("problems", "tenant", "name", "bundle_hash"),
        _unique("problems", "tenant", "name", "version"),
    )
    _index("problems", "bundle_hash")
    op.create_table(
        "usage",
        *_required(ID, "tenant"),
        *_required(TIME, "hour"),
        *_required(ID, "run_id"),
        *_required(INTEGER, "runs"),
        *_required(BIG_INTEGER, "proposals", "answers", "evaluations"),
        *_required(DOUBLE, "evaluation_seconds"),
        *_required(BIG_INTEGER, "tokens_input", "tokens_cached", "tokens_output"),
        _key("usage", "tenant", "hour", "run_id"),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        *_required(ID, "id", "tenant", "problem_id"),
        *_required(JSON, "seed"),
        *_optional(DOUBLE, "known_best"),
        *_required(TEXT, "integrity", "isolation", "source", "desired_state"),
        *_optional(TEXT, "lease_owner"),
        *_optional(TIME, "lease_expires_at"),
        *_required(BIG_INTEGER, "fence"),
        *_required(TIME, "created_at"),
        *_required(BIG_INTEGER, "sequence"),
        *_required(TIME, "last_at"),
        *_required(TEXT, "state", "reason"),
        *_optional(JSON, "waiting"),
        *_optional(TIME, "started_at", "finished_at"),
        *_required(DOUBLE, "active_seconds"),
        *_optional(ID, "best_candidate_id"),
        *_optional(DOUBLE, "best_fitness"),
        *_required(INTEGER, "proposals", "answers", "evaluations", "valid", "failed", "duplicates", "rejected"),
        *_required(BIG_INTEGER, "tokens_input", "tokens_cached", "tokens_output"),
        *_optional(TEXT, "cost"),
        *_required(JSON, "config", "policies", "objectives"),
        *_required(JSON, "measures", default="[]"),
        *_required(JSON, "labels", default="{}"),
        *_optional(ID, "batch_id", "fork_of"),
        *_required(INTEGER, "revision", default="0"),
        *_required(JSON, "desired_budget", default="{}"),
        *_optional(TEXT, "desired_by"),
        *_optional(TIME, "paused_at"),
        *_required(TEXT, "created_by", default=sa.text("''")),
        *_optional(JSON, "policy_health"),
        *_references("runs", problem_id="problems.id", tenant="tenants.id"),
        _key("runs", "id"),
    )
    _index("runs", "batch_id")
    _index("runs", "created_at", "id")
    _index("runs", "problem_id")
    _index("runs", "state")
    _index("runs", "tenant", "created_at", "id")


def _events() -> None:
    op.create_table(
        "events",
        *_required(ID, "run_id"),
        *_required(BIG_INTEGER, "sequence"),
        *_required(TEXT, "kind"),
        *_required(TIME, "at"),
        *_required(JSON, "payload"),
        *_references("events", run_id="runs.id"),
        _key("events", "run_id", "sequence"),
    )
    _index("events", "run_id", "kind", "sequence")
    op.create_table(
        "run_columns",
        *_required(ID, "run_id"),
        *_required(TEXT, "format"),
        *_required(BIG_INTEGER, "sequence"),
        *_required(BINARY, "content"),
        *_references("run_columns", run_id="runs.id"),
        _key("run_columns", "run_id"),
    )
    op.create_table("texts", *_required(ID, "hash"), *_required(TEXT, "body"), _key("texts", "hash"))


def _proposals() -> None:
    op.create_table(
        "proposals",
        *_required(ID, "run_id"),
        *_required(INTEGER, "number"),
        *_required(ID, "id"),
        *_required(INTEGER, "island"),
        *_required(TEXT, "operator", "selection", "policy", "state", "reason"),
        *_required(BIG_INTEGER, "tokens_input", "tokens_cached", "tokens_output"),
        *_optional(TEXT, "cost"),
        *_optional(DOUBLE, "seconds"),
        *_required(INTEGER, "attempts"),
        *_required(TIME, "created_at"),
        *_optional(TIME, "answered_at"),
        *_required(DOUBLE, "probability", default="1"),
        *_required(JSON, "weights"),
        *_required(JSON, "rationale", default="{}"),
        *_required(JSON, "prompt", "finish_reasons", "dropped"),
        *_required(JSON, "charges", default="[]"),
        *_required(BIG_INTEGER, "charged_input", "charged_cached", "charged_output", default="0"),
        *_required(JSON, "completions"),
        *_required(JSON, "reasoning", default="[]"),
        *_optional(JSON, "form"),
        *_references("proposals", run_id="runs.id"),
        _key("proposals", "run_id", "number"),
        _unique("proposals", "id"),
    )


def _candidates() -> None:
    op.create_table("programs", *_required(ID, "id"), *_required(JSON, "files"), _key("programs", "id"))
    op.create_table(
        "candidates",
        *_required(ID, "run_id"),
        *_required(INTEGER, "proposal_number", "position"),
        *_required(ID, "id"),
        *_required(INTEGER, "island"),
        *_required(TEXT, "status", "reason"),
        *_optional(ID, "program_id", "fingerprint", "duplicate_of"),
        *_optional(INTEGER, "attempt"),
        *_optional(DOUBLE, "fitness"),
        *_optional(JSON, "rewards"),
        *_required(TIME, "created_at"),
        *_optional(TIME, "evaluated_at"),
        *_references("candidates", program_id="programs.id", run_id="runs.id"),
        _key("candidates", "run_id", "proposal_number", "position"),
        _unique("candidates", "id"),
    )
    _index("candidates", "program_id")
    op.create_index(
        "ix_candidates_ranking",
        "candidates",
        ["run_id", sa.text("fitness DESC"), "proposal_number", "position", "status", "island", "attempt", "id"],
    )
    op.create_table(
        "parents",
        *_required(ID, "candidate_id"),
        *_required(INTEGER, "place"),
        *_required(ID, "parent_id"),
        *_required(TEXT, "role"),
        *_references("parents", candidate_id="candidates.id", parent_id="candidates.id"),
        _key("parents", "candidate_id", "place"),
    )
    _index("parents", "parent_id")


def _evaluations() -> None:
    op.create_table(
        "evaluations",
        *_required(ID, "candidate_id"),
        *_required(INTEGER, "attempt"),
        *_required(TEXT, "outcome", "reason"),
        *_required(DOUBLE, "seconds"),
        *_required(TEXT, "worker", "isolation"),
        *_required(TIME, "at"),
        *_required(JSON, "scores", "measures", "grid_measures", "cases", "spread"),
        *_required(INTEGER, "repeats", default="0"),
        *_required(TEXT, "feedback"),
        *_optional(TEXT, "answer"),
        *_references("evaluations", candidate_id="candidates.id"),
        _key("evaluations", "candidate_id", "attempt"),
    )
    _index("evaluations", "at")
    if op.get_bind().dialect.name == "sqlite":  # PostgreSQL counts outcomes without it
        _index("evaluations", "candidate_id", "attempt", "outcome")
    op.create_table(
        "memberships",
        *_required(ID, "candidate_id"),
        *_required(INTEGER, "island"),
        *_required(BIG_INTEGER, "since"),
        *_optional(BIG_INTEGER, "until"),
        *_required(ID, "run_id", default=sa.text("''")),
        *_references("memberships", candidate_id="candidates.id"),
        _key("memberships", "candidate_id", "island", "since"),
    )
    _index("memberships", "run_id", "island", where=sa.text("until IS NULL"))
    op.create_table(
        "reevaluations",
        *_required(ID, "run_id", "candidate_id"),
        *_required(TEXT, "requested_by"),
        *_required(TIME, "created_at"),
        *_references("reevaluations", candidate_id="candidates.id", run_id="runs.id"),
        _key("reevaluations", "run_id", "candidate_id"),
    )


def _access() -> None:
    op.create_table(
        "api_keys",
        *_required(ID, "id", "tenant"),
        *_required(TEXT, "name", "shown"),
        *_required(ID, "hash"),
        *_required(JSON, "scopes"),
        *_required(TEXT, "created_by"),
        *_required(TIME, "created_at"),
        *_optional(TIME, "expires_at", "last_used_at", "revoked_at"),
        *_references("api_keys", tenant="tenants.id"),
        _key("api_keys", "id"),
        _unique("api_keys", "hash"),
    )
    _index("api_keys", "tenant", "id")
    op.create_table("ended_sessions", *_required(ID, "id"), *_required(TIME, "until"), _key("ended_sessions", "id"))
    _index("ended_sessions", "until")
    op.create_table(
        "audit",
        *_required(ID, "id", "tenant"),
        *_required(TIME, "at"),
        *_required(TEXT, "actor", "action", "subject", "outcome", "request_id", "address"),
        _key("audit", "id"),
    )
    _index("audit", "tenant", "id")
    op.create_table(
        "idempotency_keys",
        *_required(ID, "actor", "key"),
        *_required(TEXT, "request_hash"),
        *_optional(INTEGER, "status"),
        *_required(JSON, "headers"),
        *_optional(BINARY, "body"),
        *_required(TIME, "created_at"),
        _key("idempotency_keys", "actor", "key"),
    )
    _index("idempotency_keys", "created_at")


def _webhooks() -> None:
    op.create_table(
        "webhooks",
        *_required(ID, "id", "tenant"),
        *_required(TEXT, "url"),
        *_required(JSON, "types", "secrets"),
        *_required(TEXT, "disabled"),
        *_required(TIME, "created_at"),
        *_references("webhooks", tenant="tenants.id"),
        _key("webhooks", "id"),
    )
    _index("webhooks", "tenant", "id")
    op.create_table(
        "webhook_deliveries",
        *_required(ID, "id", "webhook_id"),
        *_required(TEXT, "type"),
        *_required(JSON, "payload"),
        *_required(ID, "state"),
        *_required(INTEGER, "attempts"),
        *_optional(TIME, "next_at"),
        *_optional(INTEGER, "status"),
        *_required(TEXT, "error"),
        *_required(TIME, "created_at"),
        *_references("webhook_deliveries", webhook_id="webhooks.id"),
        _key("webhook_deliveries", "id"),
    )
    _index("webhook_deliveries", "state", "next_at")
    _index("webhook_deliveries", "webhook_id", "id")


def _annotations() -> None:
    op.create_table(
        "batches",
        *_required(ID, "id", "tenant"),
        *_required(TEXT, "name"),
        *_required(JSON, "request"),
        *_required(TIME, "created_at"),
        *_references("batches", tenant="tenants.id"),
        _key("batches", "id"),
    )
    _index("batches", "tenant", "id")
    op.create_table(
        "notes",
        *_required(ID, "id", "run_id"),
        *_required(TEXT, "candidate_id", "body", "author"),
        *_required(TIME, "created_at", "updated_at"),
        *_references("notes", run_id="runs.id"),
        _key("notes", "id"),
    )
    _index("notes", "run_id", "id")
    op.create_table(
        "pins",
        *_required(ID, "run_id", "candidate_id"),
        *_required(TEXT, "author"),
        *_required(TIME, "created_at"),
        *_references("pins", candidate_id="candidates.id", run_id="runs.id"),
        _key("pins", "run_id", "candidate_id"),
    )
    op.create_table(
        "views",
        *_required(ID, "id", "tenant", "run_id"),
        *_required(TEXT, "name"),
        *_required(JSON, "settings"),
        *_required(TIME, "created_at"),
        *_references("views", tenant="tenants.id"),
        _key("views", "id"),
    )
    _index("views", "tenant", "run_id", "id")
    op.create_table(
        "shares",
        *_required(ID, "id", "tenant", "run_id", "hash"),
        *_required(TEXT, "created_by"),
        *_required(TIME, "created_at"),
        *_optional(TIME, "expires_at", "revoked_at"),
        *_references("shares", run_id="runs.id", tenant="tenants.id"),
        _key("shares", "id"),
        _unique("shares", "hash"),
    )
    _index("shares", "run_id", "id")


def _required(
    kind: sa.types.TypeEngine[Any], *names: str, default: str | sa.TextClause | None = None
) -> Iterator[sa.Column[Any]]:
    for name in names:
        yield sa.Column(name, kind, server_default=default, nullable=False)


def _optional(kind: sa.types.TypeEngine[Any], *names: str) -> Iterator[sa.Column[Any]]:
    for name in names:
        yield sa.Column(name, kind, nullable=True)


def _key(table: str, *columns: str) -> sa.PrimaryKeyConstraint:
    return sa.PrimaryKeyConstraint(*columns, name=op.f(f"pk_{table}"))


def _unique(table: str, *columns: str) -> sa.UniqueConstraint:
    return sa.UniqueConstraint(*columns, name=op.f(f"uq_{table}_{'_'.join(columns)}"))


def _references(table: str, **targets: str) -> Iterator[sa.ForeignKeyConstraint]:
    for column, target in targets.items():
        yield sa.ForeignKeyConstraint([column], [target], name=op.f(f"fk_{table}_{column}"))


def _index(table: str, *columns: str, where: sa.TextClause | None = None) -> None:
    name = op.f(f"ix_{table}_{'_'.join(columns)}")
    op.create_index(name, table, columns, sqlite_where=where, postgresql_where=where)
