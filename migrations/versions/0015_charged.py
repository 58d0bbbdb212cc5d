"""Proposals add up the tokens of their charges, so that what a tenant used is a sum of columns."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"

_COLUMNS = ("charged_input", "charged_cached", "charged_output")


def upgrade() -> None:
    for name in _COLUMNS:
        op.add_column("proposals", sa.Column(name, sa.BigInteger(), server_default="0", nullable=False))


def downgrade() -> None:
    for name in reversed(_COLUMNS):
        op.drop_column("proposals", name)
