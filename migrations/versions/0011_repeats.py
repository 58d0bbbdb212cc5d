"""How often each evaluation was repeated; 0 where it is not known, as of all that was before."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    op.add_column("evaluations", sa.Column("repeats", sa.Integer(), server_default="0", nullable=False))


def downgrade() -> None:
    op.drop_column("evaluations", "repeats")
