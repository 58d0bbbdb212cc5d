"""Proposals tell what was paid beside their completions; nothing of those that were before."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    op.add_column("proposals", sa.Column("charges", sa.JSON(), server_default="[]", nullable=False))


def downgrade() -> None:
    op.drop_column("proposals", "charges")
