"""Bringing a database's schema to this version's."""

from service.db import partitions, schema
from service.db.engine import connect, take_time
from service.db.partition_care import SqlPartitions


def upgrade(url: str) -> None:
    """Bring a database's schema to this version's.

    Raises:
        UsageError: the URL is none that can be opened.
        StorageError: the database is away, locked, newer, or of a version before the first release.
    """
    database = connect(url)
    try:
        with database.write() as connection:
            take_time(connection)
            behind = schema.revision(connection).behind
            schema.upgrade(connection, database.name)
            if behind and connection.dialect.name == "postgresql":  # at once: so that no event comes before them
                for partition in partitions.missing(connection, database.clock.now()):
                    partitions.add(connection, partition)
        SqlPartitions(database).prepare()
    finally:
        database.close()
