"""The first schema: problems, runs, their events and all that these project."""

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    _owners()
    _runs()
    _logs()
    _candidates()
    _results()
    op.bulk_insert(
        sa.table("tenants", sa.column("id", sa.String), sa.column("created_at", sa.DateTime(timezone=True))),
        [{"id": "default", "created_at": datetime.now(UTC)}],
    )


def downgrade() -> None:
    for table in (
        "memberships",
        "evaluations",
        "parents",
        "candidates",
        "programs",
        "proposals",
        "texts",
        "events",
        "runs",
        "problems",
        "bundles",
        "tenants",
    ):
        op.drop_table(table)


def _owners() -> None:
    op.create_table(
        "tenants",
        sa.Column("id", ID, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_tenants")),
    )
    op.create_table(
        "bundles",
        sa.Column("hash", ID, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_bundles")),
    )
    op.create_table(
        "problems",
        sa.Column("id", ID, nullable=False),
        sa.Column("tenant", ID, nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("bundle_hash", ID, nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["bundle_hash"], ["bundles.hash"], name=op.f("fk_problems_bundle_hash")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"], name=op.f("fk_problems_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_problems")),
        sa.UniqueConstraint("tenant", "name", "bundle_hash", name=op.f("uq_problems_tenant_name_bundle_hash")),
        sa.UniqueConstraint("tenant", "name", "version", name=op.f("uq_problems_tenant_name_version")),
    )


def _runs() -> None:
    op.create_table(
        "runs",
        sa.Column("id", ID, nullable=False),
        sa.Column("tenant", ID, nullable=False),
        sa.Column("problem_id", ID, nullable=False),
        sa.Column("seed", sa.JSON(), nullable=False),
        sa.Column("known_best", sa.Double(), nullable=True),
        sa.Column("integrity", sa.Text(), nullable=False),
        sa.Column("isolation", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("desired_state", sa.Text(), nullable=False),
        sa.Column("lease_owner", sa.Text(), nullable=True),
        sa.Column("lease_expires_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("fence", sa.BigInteger(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("last_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("waiting", sa.JSON(), nullable=True),
        sa.Column("started_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("finished_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("active_seconds", sa.Double(), nullable=False),
        sa.Column("best_candidate_id", ID, nullable=True),
        sa.Column("best_fitness", sa.Double(), nullable=True),
        sa.Column("proposals", sa.Integer(), nullable=False),
        sa.Column("answers", sa.Integer(), nullable=False),
        sa.Column("evaluations", sa.Integer(), nullable=False),
        sa.Column("valid", sa.Integer(), nullable=False),
        sa.Column("failed", sa.Integer(), nullable=False),
        sa.Column("duplicates", sa.Integer(), nullable=False),
        sa.Column("rejected", sa.Integer(), nullable=False),
        sa.Column("tokens_input", sa.BigInteger(), nullable=False),
        sa.Column("tokens_cached", sa.BigInteger(), nullable=False),
        sa.Column("tokens_output", sa.BigInteger(), nullable=False),
        sa.Column("config", sa.JSON(), nullable=False),
        sa.Column("policies", sa.JSON(), nullable=False),
        sa.Column("objectives", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["problem_id"], ["problems.id"], name=op.f("fk_runs_problem_id")),
        sa.ForeignKeyConstraint(["tenant"], ["tenants.id"], name=op.f("fk_runs_tenant")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_created_at_id"), "runs", ["created_at", "id"], unique=False)


def _logs() -> None:
    op.create_table(
        "events",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("sequence", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_events_run_id")),
        sa.PrimaryKeyConstraint("run_id", "sequence", name=op.f("pk_events")),
    )
    op.create_table(
        "texts",
        sa.Column("hash", ID, nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_texts")),
    )
    op.create_table(
        "proposals",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("island", sa.Integer(), nullable=False),
        sa.Column("operator", sa.Text(), nullable=False),
        sa.Column("selection", sa.Text(), nullable=False),
        sa.Column("policy", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("tokens_input", sa.BigInteger(), nullable=False),
        sa.Column("tokens_cached", sa.BigInteger(), nullable=False),
        sa.Column("tokens_output", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=True),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("answered_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("weights", sa.JSON(), nullable=False),
        sa.Column("prompt", sa.JSON(), nullable=False),
        sa.Column("finish_reasons", sa.JSON(), nullable=False),
        sa.Column("dropped", sa.JSON(), nullable=False),
        sa.Column("completions", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_proposals_run_id")),
        sa.PrimaryKeyConstraint("run_id", "number", name=op.f("pk_proposals")),
        sa.UniqueConstraint("id", name=op.f("uq_proposals_id")),
    )


def _candidates() -> None:
    op.create_table(
        "programs",
        sa.Column("id", ID, nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_programs")),
    )
    op.create_table(
        "candidates",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("number", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("position", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("island", sa.Integer(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("program_id", ID, nullable=True),
        sa.Column("fingerprint", ID, nullable=True),
        sa.Column("duplicate_of", ID, nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("fitness", sa.Double(), nullable=True),
        sa.Column("rewards", sa.JSON(), nullable=True),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("evaluated_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["program_id"], ["programs.id"], name=op.f("fk_candidates_program_id")),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_candidates_run_id")),
        sa.PrimaryKeyConstraint("run_id", "number", "position", name=op.f("pk_candidates")),
        sa.UniqueConstraint("id", name=op.f("uq_candidates_id")),
    )
    op.create_index(op.f("ix_candidates_run_id_fitness"), "candidates", ["run_id", "fitness"], unique=False)
    op.create_table(
        "parents",
        sa.Column("candidate_id", ID, nullable=False),
        sa.Column("place", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("parent_id", ID, nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidates.id"], name=op.f("fk_parents_candidate_id")),
        sa.ForeignKeyConstraint(["parent_id"], ["candidates.id"], name=op.f("fk_parents_parent_id")),
        sa.PrimaryKeyConstraint("candidate_id", "place", name=op.f("pk_parents")),
    )
    op.create_index(op.f("ix_parents_parent_id"), "parents", ["parent_id"], unique=False)


def _results() -> None:
    op.create_table(
        "evaluations",
        sa.Column("candidate_id", ID, nullable=False),
        sa.Column("attempt", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=False),
        sa.Column("isolation", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("scores", sa.JSON(), nullable=False),
        sa.Column("measures", sa.JSON(), nullable=False),
        sa.Column("grid_measures", sa.JSON(), nullable=False),
        sa.Column("cases", sa.JSON(), nullable=False),
        sa.Column("spread", sa.JSON(), nullable=False),
        sa.Column("feedback", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidates.id"], name=op.f("fk_evaluations_candidate_id")),
        sa.PrimaryKeyConstraint("candidate_id", "attempt", name=op.f("pk_evaluations")),
    )
    op.create_table(
        "memberships",
        sa.Column("candidate_id", ID, nullable=False),
        sa.Column("island", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("since", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("until", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidates.id"], name=op.f("fk_memberships_candidate_id")),
        sa.PrimaryKeyConstraint("candidate_id", "island", "since", name=op.f("pk_memberships")),
    )
