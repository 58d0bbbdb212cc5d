"""Columns of runs are saved, so that an API that has just started does not read long runs again."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "run_columns",
        sa.Column("run_id", ID, nullable=False),
        sa.Column("format", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_run_columns_run_id")),
        sa.PrimaryKeyConstraint("run_id", name=op.f("pk_run_columns")),
    )


def downgrade() -> None:
    op.drop_table("run_columns")
