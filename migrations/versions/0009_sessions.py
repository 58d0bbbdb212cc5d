"""Sessions of browsers that were ended before their time: a copied cookie opens nothing after signing out."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "ended_sessions",
        sa.Column("id", ID, nullable=False),
        sa.Column("until", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ended_sessions")),
    )
    op.create_index(op.f("ix_ended_sessions_until"), "ended_sessions", ["until"], unique=False)


def downgrade() -> None:
    op.drop_table("ended_sessions")
