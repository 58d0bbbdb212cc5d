"""Events in partitions by week, in PostgreSQL. The table that there was becomes the partition of all weeks before."""

from collections.abc import Iterator
from datetime import UTC

import sqlalchemy as sa
from alembic import op

from service.db.partitions import DEFAULT, TABLE, WEEK, EventPartition, partitions

revision = "0008_event_partitions"
down_revision = "0007_snapshots"

KEY, REFERENCE, INDEX = "pk_events", "fk_events_run_id", "ix_events_run_id_kind_sequence"


def upgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    op.execute(f"LOCK TABLE runs, {TABLE} IN ACCESS EXCLUSIVE MODE")
    until = _until(connection)
    rights, where = list(_rights(connection, TABLE, DEFAULT)), _predicate(connection)
    op.execute(f"ALTER TABLE {TABLE} RENAME TO {until.name}")
    op.execute(f"ALTER INDEX {KEY} RENAME TO pk_{until.name}")
    op.execute(f"ALTER INDEX {INDEX} RENAME TO ix_{until.name}")
    op.execute(f"CREATE TABLE {TABLE} (LIKE {until.name} INCLUDING DEFAULTS) PARTITION BY RANGE (run_id)")
    op.execute(f"ALTER TABLE {TABLE} ADD CONSTRAINT {KEY} PRIMARY KEY (run_id, sequence)")
    op.execute(f"ALTER TABLE {TABLE} ADD CONSTRAINT {REFERENCE} FOREIGN KEY (run_id) REFERENCES runs (id)")
    op.execute(f"CREATE INDEX {INDEX} ON {TABLE} (run_id, kind, sequence) WHERE {where}")
    op.execute(f"CREATE TABLE {DEFAULT} PARTITION OF {TABLE} DEFAULT")
    for ids in (f"run_id < '\\x{until.low.hex()}'", f"run_id >= '\\x{until.high.hex()}'"):  # that tell no time
        op.execute(f"INSERT INTO {DEFAULT} SELECT * FROM {until.name} WHERE {ids}")  # noqa: S608 - constants
        op.execute(f"DELETE FROM {until.name} WHERE {ids}")  # noqa: S608 - constants
    op.execute(f"ALTER TABLE {TABLE} ATTACH PARTITION {until.name} {until.values}")
    for statement in rights:
        connection.exec_driver_sql(statement)
    op.execute(f"ANALYZE {TABLE}")


def downgrade() -> None:
    connection = op.get_bind()
    if connection.dialect.name != "postgresql":
        return
    op.execute(f"LOCK TABLE runs, {TABLE} IN ACCESS EXCLUSIVE MODE")
    rights = list(_rights(connection, TABLE))
    until = next(one.name for one in partitions(connection) if one.begins is None)
    op.execute(f"ALTER TABLE {TABLE} DETACH PARTITION {until}")
    op.execute(f"INSERT INTO {until} SELECT * FROM {TABLE}")  # noqa: S608 - constants
    op.execute(f"DROP TABLE {TABLE}")
    found = sa.inspect(connection)
    key, reference = found.get_pk_constraint(until)["name"], found.get_foreign_keys(until)[0]["name"]
    (index,) = (one["name"] for one in found.get_indexes(until))
    op.execute(f"ALTER TABLE {until} RENAME TO {TABLE}")
    op.execute(f'ALTER INDEX "{key}" RENAME TO {KEY}')
    op.execute(f'ALTER INDEX "{index}" RENAME TO {INDEX}')
    if reference != REFERENCE:
        op.execute(f'ALTER TABLE {TABLE} RENAME CONSTRAINT "{reference}" TO {REFERENCE}')
    for statement in rights:
        connection.exec_driver_sql(statement)


def _until(connection: sa.Connection) -> EventPartition:
    """The partition of what was written before: with rows it holds this week too, else new runs have the week's."""
    now = connection.execute(sa.text("SELECT now()")).scalar_one().astimezone(UTC)
    rows = connection.execute(sa.text("SELECT EXISTS (SELECT FROM events)")).scalar_one()
    this = EventPartition.of_week(now)
    return EventPartition(begins=None, ends=this.ends if rows else this.ends - WEEK)


def _rights(connection: sa.Connection, *targets: str) -> Iterator[str]:
    """What gives tables the owner and the grants that the events have now."""
    owner = """
        SELECT format('ALTER TABLE %I OWNER TO %I', CAST(:target AS text), pg_get_userbyid(relowner)) FROM pg_class
        WHERE oid = to_regclass(:name) AND pg_get_userbyid(relowner) <> current_user"""
    grants = """
        SELECT format('GRANT %s ON %I TO %s', one.privilege_type, CAST(:target AS text),
            CASE WHEN one.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(one.grantee)) END
            || CASE WHEN one.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END)
        FROM pg_class, aclexplode(relacl) AS one
        WHERE pg_class.oid = to_regclass(:name) AND one.grantee <> relowner"""
    for query in (grants, owner):
        for target in targets:
            yield from connection.execute(sa.text(query), {"name": TABLE, "target": target}).scalars()


def _predicate(connection: sa.Connection) -> str:
    """Which events the index of kinds has."""
    query = "SELECT pg_get_expr(indpred, indrelid) FROM pg_index WHERE indexrelid = to_regclass(:name)"
    return str(connection.execute(sa.text(query), {"name": INDEX}).scalar_one())
