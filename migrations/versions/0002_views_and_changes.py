"""What candidates look like, `candidate_views`, and what people want changed of runs at work, `run_changes`."""

import sqlalchemy as sa
from alembic import op

revision = "0002_views_and_changes"
down_revision = "0001_initial"

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "run_changes",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("id", ID, nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("payload", sa.JSON(), nullable=False),
        sa.Column("files", sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_changes_run_id")),
        sa.PrimaryKeyConstraint("run_id", "id", name=op.f("pk_run_changes")),
    )
    op.create_table(
        "candidate_views",
        sa.Column("candidate_id", ID, nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("media_type", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidates.id"], name=op.f("fk_candidate_views_candidate_id")),
        sa.PrimaryKeyConstraint("candidate_id", "attempt", name=op.f("pk_candidate_views")),
    )


def downgrade() -> None:
    op.drop_table("candidate_views")
    op.drop_table("run_changes")
