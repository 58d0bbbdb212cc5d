"""States of runs up to an event, `snapshots`."""

import sqlalchemy as sa
from alembic import op

revision = "0007_snapshots"
down_revision = "0006_compact_rows"


def upgrade() -> None:
    op.create_table(
        "snapshots",
        sa.Column("run_id", sa.LargeBinary(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("part", sa.Integer(), nullable=False),
        sa.Column("parts", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_snapshots_run_id")),
        sa.PrimaryKeyConstraint("run_id", "sequence", "part", name=op.f("pk_snapshots")),
    )


def downgrade() -> None:
    op.drop_table("snapshots")
