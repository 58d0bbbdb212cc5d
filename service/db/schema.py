"""The schema's revision: what a database has, what this version needs, and the way from one to the other."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy import Connection, func, inspect, select, text

import migrations
from evolve.errors import shadowed
from service.errors import StorageError

if TYPE_CHECKING:
    from alembic.config import Config

if not hasattr(migrations, "HEAD"):  # a project with a database often has a package of that name
    raise shadowed(migrations)

# One number for all who upgrade a PostgreSQL: the second waits for the first.
_UPGRADE_LOCK = 0x65766F6C


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """How a database stands to this version.

    Attributes:
        current: the database's revision; None: it has no schema yet.
        head: the revision that this version needs.
    """

    current: str | None
    head: str = field(default_factory=lambda: migrations.HEAD)

    @property
    def unreleased(self) -> bool:
        """Whether a version before the first release wrote it, from which no upgrade leads on."""
        return self.current in migrations.UNRELEASED

    @property
    def newer(self) -> bool:
        """Whether a newer version wrote it."""
        return not (self.current is None or self.current in migrations.REVISIONS or self.unreleased)

    @property
    def foreign(self) -> bool:
        """Whether this version can neither work on it nor upgrade it."""
        return self.newer or self.unreleased

    @property
    def behind(self) -> bool:
        """Whether an upgrade is needed."""
        return not self.foreign and self.current != self.head

    def refusal(self, name: str) -> str:
        """The sentence about a foreign database."""
        if self.unreleased:
            return (
                f"{name} has revision {self.current} of a development version before the first release, and cannot be"
                " upgraded: name a new database with --db"
            )
        return f"{name} was written by a newer version of evolve: install that version, or name another with --db"


def revision(connection: Connection) -> Revision:
    """Read the revision of a database."""
    if not inspect(connection).has_table("alembic_version"):
        return Revision(current=None)
    return Revision(current=connection.execute(text("SELECT version_num FROM alembic_version")).scalar())


def upgrade(connection: Connection, name: str) -> None:
    """Bring the database to this version's revision, in the transaction of the connection.

    Raises:
        StorageError: it is newer, or of a version before the first release.
    """
    from alembic import command

    if connection.dialect.name == "postgresql":
        connection.execute(select(func.pg_advisory_xact_lock(_UPGRADE_LOCK)))
    refuse_foreign(revision(connection), name)
    command.upgrade(configuration(connection), "head")


def configuration(connection: Connection) -> "Config":
    """Alembic's configuration for a connection; no file is read."""
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent).replace("%", "%%"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    return config


def refuse_foreign(found: Revision, name: str) -> None:
    """Refuse a database that this version can neither work on nor upgrade.

    Raises:
        StorageError: it is newer, or of a version before the first release.
    """
    if found.foreign:
        raise StorageError(found.refusal(name))
