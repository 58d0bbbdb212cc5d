"""What policies cost: of each proposal and of each run; null where it is not known, as of all that was before."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    for table in ("runs", "proposals"):
        op.add_column(table, sa.Column("cost", sa.Text(), nullable=True))
    # Nobody was asked yet, so nothing was spent.
    op.execute("UPDATE runs SET cost = '0' WHERE proposals = 0")


def downgrade() -> None:
    for table in ("proposals", "runs"):
        op.drop_column(table, "cost")
