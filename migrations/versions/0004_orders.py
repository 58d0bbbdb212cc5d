"""Indexes in the order of what is read a page at a time: rankings of a run, and its events of a kind."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    op.drop_index(op.f("ix_candidates_run_id_fitness"), "candidates")
    op.create_index(
        op.f("ix_candidates_run_id_fitness_number_position"),
        "candidates",
        ["run_id", sa.text("fitness DESC"), "number", "position"],
        unique=False,
    )
    op.create_index(op.f("ix_events_run_id_kind_sequence"), "events", ["run_id", "kind", "sequence"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_events_run_id_kind_sequence"), "events")
    op.drop_index(op.f("ix_candidates_run_id_fitness_number_position"), "candidates")
    op.create_index(op.f("ix_candidates_run_id_fitness"), "candidates", ["run_id", "fitness"], unique=False)
