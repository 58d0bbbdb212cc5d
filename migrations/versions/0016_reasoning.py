"""Proposals keep what their chains thought, where a server tells it apart; nothing of those that were before."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    op.add_column("proposals", sa.Column("reasoning", sa.JSON(), server_default="[]", nullable=False))


def downgrade() -> None:
    op.drop_column("proposals", "reasoning")
