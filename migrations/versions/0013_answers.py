"""What programs answer, with each evaluation; null where they give no answer, as in all that was before."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    op.add_column("evaluations", sa.Column("answer", sa.Text()))


def downgrade() -> None:
    op.drop_column("evaluations", "answer")
