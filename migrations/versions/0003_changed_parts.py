"""What each candidate changed of its parent, `candidates.changed`."""

import sqlalchemy as sa
from alembic import op

revision = "0003_changed_parts"
down_revision = "0002_views_and_changes"


def upgrade() -> None:
    op.add_column("candidates", sa.Column("changed", sa.Text(), server_default="", nullable=False))


def downgrade() -> None:
    op.drop_column("candidates", "changed")
