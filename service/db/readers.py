"""Readers by tenant."""

from service.db.engine import Database
from service.db.reader import SqlRunReader
from service.ports import RunReader


class SqlReaders:
    """The port Readers on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of(self, tenant: str, run_id: str = "") -> SqlRunReader:
        """A reader to whom the runs of other tenants are not there; with a run's id, nor any other run."""
        return SqlRunReader(self._database, tenant, run_id)


class SharedReader:
    """The port Readers with one reader for everybody, where there are no tenants to keep apart."""

    def __init__(self, reader: RunReader) -> None:
        self._reader = reader

    def of(self, tenant: str, run_id: str = "") -> RunReader:
        """The one reader."""
        del tenant, run_id
        return self._reader
