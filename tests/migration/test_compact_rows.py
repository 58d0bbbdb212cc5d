"""The revision that makes most tables anew: killed in the middle it changes nothing, and owners and grants stay."""

import signal
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest
from alembic import command
from psycopg.sql import SQL, Identifier

from service.db import schema
from service.db.engine import check, connect
from service.db.reader import SqlRunReader
from service.db.schema_upgrade import upgrade
from tests.contract.story import RUN
from tests.integration.maintenance.test_program_differences import LONG, program, tell
from tests.migration.rows import contents, fill_at

BEFORE = "0005_view_requests"
KILLED = """
import os, signal, sys
from service.db import packed
from service.db.schema_upgrade import upgrade

def kill(value):
    os.kill(os.getpid(), signal.SIGKILL)

packed.pack_json = kill
upgrade(sys.argv[1])
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of the revision before, with rows."""
    is_file = request.param == "sqlite"
    found = f"sqlite:///{tmp_path / 'evolve.db'}" if is_file else request.getfixturevalue("postgres_url")
    fill_at(found, BEFORE)
    return str(found)


def test_killed_in_the_middle_it_changes_nothing(url: str) -> None:
    before = contents(url)
    done = subprocess.run([sys.executable, "-c", KILLED, url], capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert check(url).current == BEFORE
    assert contents(url) == before
    upgrade(url)
    opened = connect(url)
    assert {run.id for run in SqlRunReader(opened).runs()} == {row["id"] for row in before["runs"]}
    opened.close()


def test_differences_are_full_programs_on_the_way_back(url: str) -> None:
    upgrade(url)
    opened = connect(url)
    ids = tell(opened, RUN, length=LONG)
    before = {row["id"]: row for row in contents(url)["programs"]}
    assert sum("base" in row for row in before.values()) == LONG - 2
    with opened.write() as connection:
        command.downgrade(schema.configuration(connection), BEFORE)
    files = [row["files"] for row in contents(url)["programs"]]
    with opened.write() as connection:
        schema.upgrade(connection, opened.name)
    expected = [program(*range(number)) for number in range(LONG)]
    assert SqlRunReader(opened).programs(ids) == dict(zip(ids, expected, strict=True))
    opened.close()
    assert all([list(file) for file in one.files] in files for one in expected)


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_owners_and_grants_stay(url: str, role: str) -> None:
    asked = SQL("SELECT has_table_privilege({role}, {table}, {right})")
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            "GRANT SELECT ON runs, programs TO {}", "GRANT UPDATE ON programs TO {} WITH GRANT OPTION",
            "ALTER TABLE notes OWNER TO {}",
        ):  # fmt: skip
            connection.execute(SQL(statement).format(Identifier(role)))
        connection.execute("GRANT SELECT ON texts TO PUBLIC")
        upgrade(url)
        found = {
            (table, right)
            for table in ("runs", "programs", "texts", "notes", "events")
            for right in ("SELECT", "UPDATE", "UPDATE WITH GRANT OPTION")
            if (connection.execute(asked.format(role=role, table=table, right=right)).fetchone() or [False])[0]
        }
        sizes = connection.execute("SELECT reltuples FROM pg_class WHERE relname IN ('runs', 'events')").fetchall()
    assert found == {
        ("runs", "SELECT"), ("programs", "SELECT"), ("programs", "UPDATE"), ("programs", "UPDATE WITH GRANT OPTION"),
        ("texts", "SELECT"), *(("notes", right) for right in ("SELECT", "UPDATE", "UPDATE WITH GRANT OPTION")),
    }  # fmt: skip
    assert min(size for (size,) in sizes) > 0, "the planner knows nothing of the new tables"
