"""Policies with versions, the jobs that train them, and what may be trained on."""

import sqlalchemy as sa
from alembic import op

revision = "0003_policies"
down_revision = "0002_views_and_changes"

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)
# In the order of references.
TABLES = ("policies", "policy_versions", "training_jobs", "training_events", "training_permissions")


def upgrade() -> None:
    _policies()
    _jobs()
    _permissions()


def downgrade() -> None:
    for table in reversed(TABLES):
        op.drop_table(table)


def _policies() -> None:
    op.create_table(
        "policies",
        sa.Column("tenant", ID, nullable=False),
        sa.Column("name", ID, nullable=False),
        sa.Column("description", sa.Text(), nullable=False),
        sa.Column("shared", sa.Boolean(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"], name=op.f("fk_policies_tenant")),
        sa.PrimaryKeyConstraint("tenant", "name", name=op.f("pk_policies")),
    )
    op.create_table(
        "policy_versions",
        sa.Column("tenant", ID, nullable=False),
        sa.Column("policy", ID, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("base", sa.Text(), nullable=False),
        sa.Column("settings", sa.JSON(), nullable=False),
        sa.Column("bundle_hash", ID, nullable=False),
        sa.Column("training", sa.JSON(), nullable=False),
        sa.Column("card", sa.Text(), nullable=False),
        sa.Column("evaluations", sa.JSON(), nullable=False),
        sa.Column("promotion", sa.JSON(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("promoted_at", TIME, nullable=True),
        sa.Column("archived_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant", "policy"], ["policies.tenant", "policies.name"], name=op.f("fk_policy_versions_tenant_policy")
        ),
        sa.ForeignKeyConstraint(["bundle_hash"], ["bundles.hash"], name=op.f("fk_policy_versions_bundle_hash")),
        sa.PrimaryKeyConstraint("tenant", "policy", "version", name=op.f("pk_policy_versions")),
    )
    op.create_index(op.f("ix_policy_versions_bundle_hash"), "policy_versions", ["bundle_hash"])


def _jobs() -> None:
    op.create_table(
        "training_jobs",
        sa.Column("id", ID, nullable=False),
        sa.Column("tenant", ID, nullable=False),
        sa.Column("policy", ID, nullable=False),
        sa.Column("request", sa.JSON(), nullable=False),
        sa.Column("runs", sa.JSON(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("desired_state", sa.Text(), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_expires_at", TIME, nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("progress", sa.JSON(), nullable=False),
        sa.Column("checkpoint", sa.JSON(), nullable=False),
        sa.Column("error", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=True),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("finished_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(
            ["tenant", "policy"], ["policies.tenant", "policies.name"], name=op.f("fk_training_jobs_tenant_policy")
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_training_jobs")),
    )
    op.create_index(op.f("ix_training_jobs_tenant_id"), "training_jobs", ["tenant", "id"])
    op.create_index(op.f("ix_training_jobs_state"), "training_jobs", ["state"])
    op.create_table(
        "training_events",
        sa.Column("job_id", ID, nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["job_id"], ["training_jobs.id"], name=op.f("fk_training_events_job_id")),
        sa.PrimaryKeyConstraint("job_id", "sequence", name=op.f("pk_training_events")),
    )


def _permissions() -> None:
    op.create_table(
        "training_permissions",
        sa.Column("id", ID, nullable=False),
        sa.Column("tenant", ID, nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("allowed", sa.Boolean(), nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("at", TIME, nullable=False),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"], name=op.f("fk_training_permissions_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_training_permissions")),
    )
    op.create_index(op.f("ix_training_permissions_tenant_run_id"), "training_permissions", ["tenant", "run_id"])
