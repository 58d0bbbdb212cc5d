"""The revision that partitions the events of PostgreSQL, both ways with rows: all that hung on the table stays."""

from datetime import UTC, datetime, timedelta

import psycopg
import pytest
from alembic import command
from psycopg.sql import SQL, Identifier

from service.db import schema
from service.db.compact_ids import encode_id
from service.db.engine import check, connect
from service.db.partitions import WEEK, EventPartition, partitions
from service.db.schema_upgrade import upgrade
from service.identifiers import new_id
from tests.migration.rows import contents, fill_at

BEFORE = "0007_snapshots"
NOW = datetime.now(UTC)
# Their times, and the id of a run that tells none.
IDS = [new_id("run", NOW - number * WEEK) for number in range(3)] + ["run_0190aaaa000000000000000000000001", "run_x"]
CONSTRAINTS = """
SELECT conname, pg_get_constraintdef(oid), convalidated FROM pg_constraint WHERE conrelid = 'events'::regclass
"""
INDEXES = "SELECT indexdef FROM pg_indexes WHERE tablename = 'events'"
COLUMNS = """
SELECT attname, atttypid, attnotnull FROM pg_attribute
WHERE attrelid = 'events'::regclass AND attnum > 0 ORDER BY attnum
"""


@pytest.fixture
def url(postgres_url: str) -> str:
    """A database of the revision before, with runs of several ids, each with three events."""
    fill_at(postgres_url, BEFORE)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        (names,) = connection.execute(
            "SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute"
            " WHERE attrelid = 'runs'::regclass AND attnum > 0 AND attname <> 'id'"
        ).fetchone() or ("",)
        for run_id in IDS:
            connection.execute(
                f"INSERT INTO runs (id, {names}) SELECT %s, {names} FROM runs LIMIT 1", [encode_id(run_id)]
            )
            connection.execute(
                "INSERT INTO events (run_id, sequence, at, kind, payload)"
                " SELECT %s, number, now(), '0', '\\x00' FROM generate_series(1, 3) AS number",
                [encode_id(run_id)],
            )
    return postgres_url


def shape(url: str) -> list[list[tuple[object, ...]]]:
    """Columns, constraints and indexes of the events."""
    with psycopg.connect(url) as connection:
        found = [connection.execute(query).fetchall() for query in (COLUMNS, CONSTRAINTS, INDEXES)]
    return [found[0], sorted(found[1]), sorted((str(text).replace(" ONLY ", " "),) for (text,) in found[2])]


def downgrade(url: str) -> None:
    opened = connect(url)
    with opened.write() as connection:
        command.downgrade(schema.configuration(connection), BEFORE)
    opened.close()


def test_rows_keys_and_indexes_are_the_same_there_and_back(url: str) -> None:
    before, shaped = contents(url), shape(url)
    upgrade(url)
    assert contents(url) == before
    assert shape(url) == shaped
    downgrade(url)
    assert check(url).current == BEFORE
    assert contents(url) == before
    assert shape(url) == shaped
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT relname FROM pg_class WHERE relname LIKE 'events\\_%'").fetchall() == []
    upgrade(url)
    assert contents(url) == before


def test_the_old_table_is_the_partition_of_everything_before(url: str) -> None:
    with psycopg.connect(url) as connection:
        (old,) = connection.execute("SELECT 'events'::regclass::oid").fetchone() or (0,)
    upgrade(url)
    with psycopg.connect(url) as connection:
        tables = "SELECT run_id, string_agg(DISTINCT tableoid::regclass::text, ' ') FROM events GROUP BY 1"
        found: dict[bytes, str] = dict(connection.execute(tables).fetchall())
        (attached,) = connection.execute("SELECT %s::regclass::text", [old]).fetchone() or ("",)
    until = EventPartition(begins=None, ends=EventPartition.of_week(NOW).ends)  # with the week of the upgrade
    assert attached == until.name
    assert [found[encode_id(run_id)] for run_id in IDS] == [until.name] * 3 + ["events_default"] * 2


def test_a_run_keeps_its_events_and_events_have_a_run(url: str) -> None:
    upgrade(url)
    with psycopg.connect(url, autocommit=True) as connection:
        with pytest.raises(psycopg.errors.ForeignKeyViolation, match="fk_events_run_id"):
            connection.execute("DELETE FROM runs WHERE id = %s", [encode_id(IDS[0])])
        for at in (NOW, NOW + WEEK, NOW + 40 * WEEK):
            with pytest.raises(psycopg.errors.ForeignKeyViolation, match="fk_events_run_id"):
                connection.execute(
                    "INSERT INTO events (run_id, sequence, at, kind, payload) VALUES (%s, 1, now(), '0', '')",
                    [encode_id(new_id("run", at))],
                )


def test_a_new_database_has_the_weeks_from_now_on(postgres_url: str) -> None:
    upgrade(postgres_url)
    opened = connect(postgres_url)
    with opened.read() as connection:
        found = partitions(connection)
    opened.close()
    this = EventPartition.of_week(NOW)
    assert found[:2] == [EventPartition(begins=None, ends=this.ends - WEEK), this]
    assert [one.ends - found[0].ends for one in found] == [timedelta(weeks=number) for number in range(6)]


def test_owner_and_grants_stay_both_ways_and_new_weeks_have_the_owner(url: str, role: str) -> None:
    asked = SQL("SELECT pg_get_userbyid(relowner), has_table_privilege('public', oid, 'SELECT') FROM pg_class WHERE ")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(SQL("GRANT REFERENCES ON runs TO {}").format(Identifier(role)))
        connection.execute(SQL("ALTER TABLE events OWNER TO {}").format(Identifier(role)))
        connection.execute("GRANT SELECT ON events TO PUBLIC")
        for change in (upgrade, downgrade, upgrade):
            change(url)
            assert connection.execute(asked + SQL("relname = 'events'")).fetchall() == [(role, True)]
        owners = connection.execute(asked + SQL("relname LIKE 'events\\_%' AND relkind = 'r'")).fetchall()
        assert len(owners) == 6
        assert {owner for owner, _ in owners} == {role}
