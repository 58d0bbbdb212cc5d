"""Members of archives know their run: who is in its archives now is found without a look at all of its candidates."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
NOW = sa.text("until IS NULL")


def upgrade() -> None:
    op.add_column("memberships", sa.Column("run_id", ID, server_default=sa.text("''"), nullable=False))
    op.execute(
        "UPDATE memberships SET run_id ="
        " (SELECT candidates.run_id FROM candidates WHERE candidates.id = memberships.candidate_id)"
    )
    op.create_index(
        op.f("ix_memberships_run_id_island"),
        "memberships",
        ["run_id", "island"],
        unique=False,
        sqlite_where=NOW,
        postgresql_where=NOW,
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_memberships_run_id_island"), "memberships")
    op.drop_column("memberships", "run_id")
