"""Runs know who submitted them, and what workers did of late is found without a look at all evaluations."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    op.add_column("runs", sa.Column("created_by", sa.Text(), server_default=sa.text("''"), nullable=False))
    op.create_index(op.f("ix_evaluations_at"), "evaluations", ["at"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_evaluations_at"), "evaluations")
    op.drop_column("runs", "created_by")
