"""Proposals tell what decided: with which probability the operator was drawn, and what else the selection went by."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    op.add_column("proposals", sa.Column("probability", sa.Double(), server_default="1", nullable=False))
    op.add_column("proposals", sa.Column("rationale", sa.JSON(), server_default="{}", nullable=False))


def downgrade() -> None:
    op.drop_column("proposals", "rationale")
    op.drop_column("proposals", "probability")
