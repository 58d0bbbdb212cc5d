"""What tenants used is rolled up by run and hour; of what was there before, by the rows of its runs."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

ID = sa.String().with_variant(sa.String(collation="C"), "postgresql")
COUNTS = ("proposals", "answers", "evaluations", "tokens_input", "tokens_cached", "tokens_output")
HOURS = {
    "postgresql": "date_trunc('hour', {} AT TIME ZONE 'UTC') AT TIME ZONE 'UTC'",
    "sqlite": "strftime('%Y-%m-%d %H:00:00.000000', {})",
}
ASKED = "runs JOIN proposals ON proposals.run_id = runs.id"
WRITTEN = "runs JOIN candidates ON candidates.run_id = runs.id"
EVALUATED = f"{WRITTEN} JOIN evaluations ON evaluations.candidate_id = candidates.id"
# Where what was used stands, which columns of the rollup it is, the time that it counts by, and which rows count.
SOURCES = (
    ("runs", {"runs": "1"}, "runs.created_at", "1 = 1"),
    (ASKED, {"proposals": "1"}, "proposals.created_at", "1 = 1"),
    (
        ASKED,
        {
            "tokens_input": "proposals.tokens_input + proposals.charged_input",
            "tokens_cached": "proposals.tokens_cached + proposals.charged_cached",
            "tokens_output": "proposals.tokens_output + proposals.charged_output",
        },
        "proposals.answered_at",
        "proposals.answered_at IS NOT NULL",
    ),
    (WRITTEN, {"answers": "1"}, "candidates.created_at", "candidates.number > 0"),
    (
        EVALUATED,
        {"evaluations": "1", "evaluation_seconds": "evaluations.seconds"},
        "evaluations.at",
        "evaluations.outcome <> 'cancelled'",
    ),
)


def upgrade() -> None:
    op.create_table(
        "usage",
        sa.Column("tenant", ID, nullable=False),
        sa.Column("hour", sa.DateTime(timezone=True), nullable=False),
        sa.Column("run_id", ID, nullable=False),
        sa.Column("runs", sa.Integer(), nullable=False),
        *(sa.Column(name, sa.BigInteger(), nullable=False) for name in COUNTS),
        sa.Column("evaluation_seconds", sa.Double(), nullable=False),
        sa.PrimaryKeyConstraint("tenant", "hour", "run_id", name=op.f("pk_usage")),
    )
    op.execute(_rollup(op.get_bind().dialect.name))


def downgrade() -> None:
    op.drop_table("usage")


def _rollup(dialect: str) -> str:
    """What the runs that are there used, by hour."""
    names = ("runs", *COUNTS, "evaluation_seconds")
    parts = []
    for source, columns, at, condition in SOURCES:
        measures = ", ".join(f"{columns.get(name, 0)} AS {name}" for name in names)
        key = f"runs.tenant, {HOURS[dialect].format(at)} AS hour, runs.id AS run_id"
        parts.append(f"SELECT {key}, {measures} FROM {source} WHERE {condition}")  # noqa: S608 - constants
    sums = ", ".join(f"SUM({name})" for name in names)
    return (
        f"INSERT INTO usage (tenant, hour, run_id, {', '.join(names)}) SELECT tenant, hour, run_id, {sums}"  # noqa: S608 - constants
        f" FROM ({' UNION ALL '.join(parts)}) AS used GROUP BY tenant, hour, run_id"
    )
