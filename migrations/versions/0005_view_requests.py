"""Views that wait to be drawn, `view_requests`."""

import sqlalchemy as sa
from alembic import op

revision = "0005_view_requests"
down_revision = "0004_changed_parts"

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "view_requests",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("candidate_id", ID, nullable=False),
        sa.Column("requested_by", sa.Text(), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("due_at", TIME, nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_view_requests_run_id")),
        sa.ForeignKeyConstraint(["candidate_id"], ["candidates.id"], name=op.f("fk_view_requests_candidate_id")),
        sa.PrimaryKeyConstraint("run_id", "candidate_id", name=op.f("pk_view_requests")),
    )


def downgrade() -> None:
    op.drop_table("view_requests")
