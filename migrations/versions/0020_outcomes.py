"""PostgreSQL has no index of outcomes beside the key of evaluations: none of its plans used it."""

from alembic import op

revision = "0020"
down_revision = "0019"

NAME = "ix_evaluations_candidate_id_attempt_outcome"


def upgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.drop_index(op.f(NAME), "evaluations")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.create_index(op.f(NAME), "evaluations", ["candidate_id", "attempt", "outcome"], unique=False)
