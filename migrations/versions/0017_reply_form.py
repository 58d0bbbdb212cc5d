"""Proposals keep the form in which they were asked; of those that were before it is not known."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    op.add_column("proposals", sa.Column("form", sa.JSON(), nullable=True))


def downgrade() -> None:
    op.drop_column("proposals", "form")
