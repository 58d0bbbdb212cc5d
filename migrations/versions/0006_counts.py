"""Indexes that hold what the filters of programs ask about: they are counted without a look at their rows."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

RANKING: tuple[str | sa.TextClause, ...] = ("run_id", sa.text("fitness DESC"), "number", "position")
FILTERED = ["status", "island", "attempt", "id"]


def upgrade() -> None:
    op.create_index("ix_candidates_ranking", "candidates", [*RANKING, *FILTERED], unique=False)
    op.drop_index(op.f("ix_candidates_run_id_fitness_number_position"), "candidates")
    op.create_index(
        op.f("ix_evaluations_candidate_id_attempt_outcome"),
        "evaluations",
        ["candidate_id", "attempt", "outcome"],
        unique=False,
    )


def downgrade() -> None:
    op.drop_index(op.f("ix_evaluations_candidate_id_attempt_outcome"), "evaluations")
    op.create_index(op.f("ix_candidates_run_id_fitness_number_position"), "candidates", [*RANKING], unique=False)
    op.drop_index("ix_candidates_ranking", "candidates")
