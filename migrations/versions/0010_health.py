"""Runs tell how the server of their policy fares, as their runner saw it last."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    op.add_column("runs", sa.Column("policy_health", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("runs", "policy_health")
