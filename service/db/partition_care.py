"""Making the partitions of events ahead of time, and giving those back whose runs are gone."""

from collections.abc import Collection

import structlog
from sqlalchemy import Connection, exc, text

from service.db import partitions
from service.db.engine import Database
from service.db.partitions import EventPartition
from service.errors import StorageError
from service.ports import Clock

# Commits queue behind a lock that is waited for. A vacuum gives way after a second.
MAKE_MS = DROP_MS = 500
EMPTY_MS = 3000

log = structlog.get_logger(__name__)


class SqlPartitions:
    """The port Partitions: on PostgreSQL, and nothing to do on SQLite.

    Args:
        database: whose events these are.
        clock: the time that weeks go by. None means the database's own.
    """

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        self._database = database
        self._clock: Clock = clock or database.clock

    def prepare(self) -> None:
        """Make the partitions of this week and the next that are missing.

        Where that fails, events are stored in the default partition. It is tried again the next time.
        """
        if not self._wanted():
            return
        try:
            with self._database.read() as connection:
                missing = partitions.missing(connection, self._clock.now())
            for partition in missing:
                self._add(partition)
        except (StorageError, exc.DBAPIError) as error:
            log.warning("partitions.not_made", error=_reason(error))

    def release(self) -> int:
        """Give the space of past weeks back whose runs are all deleted, or marked so; how many bytes.

        A partition that others use for long is kept, with a line in the log, until the next time.
        """
        if not self._wanted():
            return 0
        with self._database.read() as connection:
            past = self._past(connection)
        freed = 0
        for partition in past:
            try:
                freed += self._release(partition)
            except (StorageError, exc.DBAPIError) as error:  # a backup reads all of them, so that the others wait too
                log.warning("partition.kept", partition=partition.name, error=_reason(error))
                break
        return freed

    def releasable(self, runs: Collection[str]) -> dict[str, int]:
        """The partitions that `release` would drop or empty if these runs were deleted, with the bytes of each."""
        if not self._wanted():
            return {}
        with self._database.read() as connection:
            unused = [one for one in self._past(connection) if partitions.unused_without(connection, one, runs)]
            sizes = [(one, partitions.size(connection, one)) for one in unused]
        # That of everything before the first week is emptied, and stays.
        return {one.name: size for one, size in sizes if size or one.begins is not None}

    def _past(self, connection: Connection) -> list[EventPartition]:
        now = self._clock.now()
        return [one for one in partitions.partitions(connection) if one.ends + partitions.GRACE <= now]

    def _wanted(self) -> bool:
        return self._database.engine.dialect.name == "postgresql" and not self._database.in_unit

    def _add(self, partition: EventPartition) -> None:
        with self._database.write() as connection:
            connection.execute(text(f"SET LOCAL lock_timeout = {MAKE_MS}"))
            made = partitions.add(connection, partition)
        if made:
            log.info("partition.made", partition=partition.name)

    def _release(self, partition: EventPartition) -> int:
        with self._database.read() as connection:
            if not partitions.unused(connection, partition):
                return 0
            filled = partitions.size(connection, partition)
        freed = self._empty(partition) if filled else 0
        if partition.begins is not None:
            self._drop(partition)
        return freed

    def _empty(self, partition: EventPartition) -> int:
        with self._database.write() as connection:
            connection.execute(text(f"SET LOCAL lock_timeout = {EMPTY_MS}"))
            freed = partitions.empty(connection, partition)
        if freed:
            log.info("partition.emptied", partition=partition.name, bytes=freed)
        return freed

    def _drop(self, partition: EventPartition) -> None:
        with self._database.write() as connection:
            connection.execute(text(f"SET LOCAL lock_timeout = {DROP_MS}"))
            dropped = partitions.drop(connection, partition)
        if dropped:
            log.info("partition.dropped", partition=partition.name)


def _reason(error: Exception) -> str:
    return str(error.orig if isinstance(error, exc.DBAPIError) else error).partition("\n")[0]
