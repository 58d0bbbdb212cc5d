"""What each candidate changed of its parent, `candidates.changed`."""

import sqlalchemy as sa
from alembic import op

revision = "0004_changed_parts"
down_revision = "0003_policies"


def upgrade() -> None:
    op.add_column("candidates", sa.Column("changed", sa.Text(), server_default=sa.text("''"), nullable=False))


def downgrade() -> None:
    op.drop_column("candidates", "changed")
