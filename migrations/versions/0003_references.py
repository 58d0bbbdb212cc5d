"""Ways back from content to what refers to it: removing a program or a problem looks for those first."""

from alembic import op

revision = "0003"
down_revision = "0002"

INDEXES = (("candidates", "program_id"), ("runs", "problem_id"), ("problems", "bundle_hash"))


def upgrade() -> None:
    for table, column in INDEXES:
        op.create_index(op.f(f"ix_{table}_{column}"), table, [column], unique=False)


def downgrade() -> None:
    for table, column in INDEXES:
        op.drop_index(op.f(f"ix_{table}_{column}"), table)
