"""What candidates look like, `candidate_views`, and what a user suggests to a run, `runs.desired_hint`."""

import sqlalchemy as sa
from alembic import op

revision = "0002_views_and_hints"
down_revision = "0001_initial"

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.add_column("runs", sa.Column("desired_hint", sa.JSON(), server_default="{}", nullable=False))
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
    op.drop_column("runs", "desired_hint")
