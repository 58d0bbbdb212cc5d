"""The revisions lead to the models, on both databases, and back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import JSON, Connection, inspect, select, text

import migrations
from service.db import schema
from service.db.columns import Base
from service.db.engine import Database, check, connect
from service.db.models import Tenant
from service.db.schema_upgrade import upgrade
from service.ports import DEFAULT_TENANT
from tests.migration.rows import is_partition

# Alembic does not know that an index may be wanted on one of the databases alone.
OF_SQLITE = {"ix_evaluations_candidate_id_attempt_outcome"}


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    """A database that nothing was done to."""
    url = f"sqlite:///{tmp_path}/evolve.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url")
    opened = connect(url)
    yield opened
    opened.close()


def same_default(*found: object) -> bool | None:
    """PostgreSQL cannot compare JSON, so that the texts of such defaults are; None leaves it to Alembic."""
    _, _, column, inspected, _, rendered = found
    if isinstance(getattr(column, "type", None), JSON):
        return str(inspected).removesuffix("::json").strip("'") != str(rendered).strip("'")
    return None


def differences(connection: Connection) -> Any:
    """Between the database and the models, as Alembic would put them right."""
    left_out = set() if connection.dialect.name == "sqlite" else OF_SQLITE

    def wanted(_: object, name: str | None, __: str, reflected: bool, ___: object) -> bool:
        return not is_partition(str(name)) if reflected else name not in left_out

    options = {"compare_type": True, "compare_server_default": same_default, "include_object": wanted}
    return compare_metadata(MigrationContext.configure(connection, opts=options), Base.metadata)


def migrate(database: Database) -> None:
    with database.write() as connection:
        schema.upgrade(connection, database.name)


def test_the_revisions_lead_to_the_models(database: Database) -> None:
    migrate(database)
    with database.read() as connection:
        assert differences(connection) == []


def test_a_model_without_a_revision_is_noticed(database: Database) -> None:
    migrate(database)
    with database.write() as connection:
        connection.execute(text("ALTER TABLE texts ADD COLUMN extra INTEGER"))
        assert [difference[0] for difference in differences(connection)] == ["remove_column"]


def test_an_index_of_sqlite_is_none_of_postgresql(database: Database) -> None:
    migrate(database)
    with database.read() as connection:
        found = {index["name"] for index in inspect(connection).get_indexes("evaluations")}
    assert (found & OF_SQLITE == OF_SQLITE) == (database.engine.dialect.name == "sqlite")


def test_upgrading_twice_changes_nothing(database: Database) -> None:
    migrate(database)
    migrate(database)
    with database.read() as connection:
        assert schema.revision(connection) == schema.Revision(current=migrations.HEAD)
        assert list(connection.execute(select(Tenant.id)).scalars()) == [DEFAULT_TENANT]


def test_the_way_back_leaves_nothing(database: Database) -> None:
    migrate(database)
    with database.write() as connection:
        command.downgrade(schema.configuration(connection), "base")
    with database.read() as connection:
        assert inspect(connection).get_table_names() == ["alembic_version"]
    migrate(database)


def test_a_failed_upgrade_leaves_the_database_as_it_was(database: Database) -> None:
    with database.write() as connection:
        connection.execute(text("CREATE TABLE events (mine INTEGER)"))  # in the way of the first revision
    with pytest.raises(Exception, match="events"):
        migrate(database)
    with database.read() as connection:
        assert inspect(connection).get_table_names() == ["events"]


def test_the_known_revisions_are_the_files(tmp_path: Path) -> None:
    with connect(str(tmp_path / "evolve.db")).read() as connection:
        scripts = ScriptDirectory.from_config(schema.configuration(connection))
    assert [script.revision for script in scripts.walk_revisions()][::-1] == list(migrations.REVISIONS)


def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    (tmp_path / "evolve.db").touch()
    upgrade(str(tmp_path / "evolve.db"))
    assert check(str(tmp_path / "evolve.db")).current == migrations.REVISIONS[-1]
