"""Those who use the service: keys, audit, webhooks, batches, annotations; and what they want of runs."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    _columns()
    _doors()
    _messages()
    _beside_runs()
    _looks()


def downgrade() -> None:
    for table in (
        "webhook_deliveries",
        "webhooks",
        "reevaluations",
        "notes",
        "pins",
        "views",
        "shares",
        "batches",
        "idempotency_keys",
        "audit",
        "api_keys",
    ):
        op.drop_table(table)
    op.drop_index(op.f("ix_runs_batch_id"), "runs")
    op.drop_index(op.f("ix_runs_state"), "runs")
    op.drop_index(op.f("ix_runs_tenant_created_at_id"), "runs")
    for table, column in (
        ("problems", "document"),
        ("runs", "measures"),
        ("runs", "labels"),
        ("runs", "batch_id"),
        ("runs", "fork_of"),
        ("runs", "revision"),
        ("runs", "desired_budget"),
        ("runs", "desired_by"),
        ("runs", "paused_at"),
        ("tenants", "quotas"),
    ):
        op.drop_column(table, column)


def _columns() -> None:
    op.add_column("problems", sa.Column("document", sa.JSON(), server_default="{}", nullable=False))
    op.add_column("runs", sa.Column("measures", sa.JSON(), server_default="[]", nullable=False))
    op.add_column("runs", sa.Column("labels", sa.JSON(), server_default="{}", nullable=False))
    op.add_column("runs", sa.Column("batch_id", ID, nullable=True))
    op.add_column("runs", sa.Column("fork_of", ID, nullable=True))
    op.add_column("runs", sa.Column("revision", sa.Integer(), server_default="0", nullable=False))
    op.add_column("runs", sa.Column("desired_budget", sa.JSON(), server_default="{}", nullable=False))
    op.add_column("runs", sa.Column("desired_by", sa.Text(), nullable=True))
    op.add_column("runs", sa.Column("paused_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("tenants", sa.Column("quotas", sa.JSON(), server_default="{}", nullable=False))
    op.create_index(op.f("ix_runs_batch_id"), "runs", ["batch_id"], unique=False)
    op.create_index(op.f("ix_runs_state"), "runs", ["state"], unique=False)
    op.create_index(op.f("ix_runs_tenant_created_at_id"), "runs", ["tenant", "created_at", "id"], unique=False)


def _doors() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", ID, nullable=False),
        sa.Column("tenant", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("shown", sa.Text(), nullable=False),
        sa.Column("hash", ID, nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("last_used_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"], name=op.f("fk_api_keys_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("hash", name=op.f("uq_api_keys_hash")),
    )
    op.create_index(op.f("ix_api_keys_tenant_id"), "api_keys", ["tenant", "id"], unique=False)
    op.create_table(
        "audit",
        sa.Column("id", ID, nullable=False),
        sa.Column("tenant", ID, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("subject", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("request_id", sa.Text(), nullable=False),
        sa.Column("address", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit")),
    )
    op.create_index(op.f("ix_audit_tenant_id"), "audit", ["tenant", "id"], unique=False)
    op.create_table(
        "idempotency_keys",
        sa.Column("actor", ID, nullable=False),
        sa.Column("key", ID, nullable=False),
        sa.Column("request_hash", sa.Text(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("headers", sa.JSON(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("actor", "key", name=op.f("pk_idempotency_keys")),
    )
    op.create_index(op.f("ix_idempotency_keys_created_at"), "idempotency_keys", ["created_at"], unique=False)


def _messages() -> None:
    op.create_table(
        "webhooks",
        sa.Column("id", ID, nullable=False),
        sa.Column("tenant", ID, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("types", sa.JSON(), nullable=False),
        sa.Column("secrets", sa.JSON(), nullable=False),
        sa.Column("disabled", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"], name=op.f("fk_webhooks_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhooks")),
    )
    op.create_index(op.f("ix_webhooks_tenant_id"), "webhooks", ["tenant", "id"], unique=False)
    op.create_table(
        "webhook_deliveries",
        sa.Column("id", ID, nullable=False),
        sa.Column("webhook_id", ID, nullable=False),
        sa.Column("type", sa.Text(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("state", ID, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("next_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("status", sa.Integer(), nullable=True),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["webhook_id"], ["webhooks.id"], name=op.f("fk_webhook_deliveries_webhook_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook_deliveries")),
    )
    op.create_index(
        op.f("ix_webhook_deliveries_state_next_at"), "webhook_deliveries", ["state", "next_at"], unique=False
    )
    op.create_index(
        op.f("ix_webhook_deliveries_webhook_id_id"), "webhook_deliveries", ["webhook_id", "id"], unique=False
    )


def _beside_runs() -> None:
    op.create_table(
        "batches",
        sa.Column("id", ID, nullable=False),
        sa.Column("tenant", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"], name=op.f("fk_batches_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_batches")),
    )
    op.create_index(op.f("ix_batches_tenant_id"), "batches", ["tenant", "id"], unique=False)
    op.create_table(
        "reevaluations",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("candidate_id", ID, nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidates.id"], name=op.f("fk_reevaluations_candidate_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_reevaluations_run_id")),
        sa.PrimaryKeyConstraint("run_id", "candidate_id", name=op.f("pk_reevaluations")),
    )
    op.create_table(
        "notes",
        sa.Column("id", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("candidate_id", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("updated_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_notes_run_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notes")),
    )
    op.create_index(op.f("ix_notes_run_id_id"), "notes", ["run_id", "id"], unique=False)
    op.create_table(
        "pins",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("candidate_id", ID, nullable=False),
        sa.Column("author", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidates.id"], name=op.f("fk_pins_candidate_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_pins_run_id")),
        sa.PrimaryKeyConstraint("run_id", "candidate_id", name=op.f("pk_pins")),
    )


def _looks() -> None:
    op.create_table(
        "views",
        sa.Column("id", ID, nullable=False),
        sa.Column("tenant", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"], name=op.f("fk_views_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_views")),
    )
    op.create_index(op.f("ix_views_tenant_run_id_id"), "views", ["tenant", "run_id", "id"], unique=False)
    op.create_table(
        "shares",
        sa.Column("id", ID, nullable=False),
        sa.Column("tenant", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("hash", ID, nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_shares_run_id")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"], name=op.f("fk_shares_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_shares")),
        sa.UniqueConstraint("hash", name=op.f("uq_shares_hash")),
    )
    op.create_index(op.f("ix_shares_run_id_id"), "shares", ["run_id", "id"], unique=False)
