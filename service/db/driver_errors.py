"""What database drivers complain about, as one sentence that says what to do; no password ever appears in it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import exc

from service.errors import StorageAwayError, StorageError

_SQLITE = {
    sqlite3.SQLITE_FULL: "{where} cannot grow, the disk is full: free some space and resume",
    sqlite3.SQLITE_BUSY: "{where} is locked by another process: wait for it to end, or name another with --db",
    sqlite3.SQLITE_LOCKED: "{where} is locked by another process: wait for it to end, or name another with --db",
    sqlite3.SQLITE_CORRUPT: "{where} is damaged: restore it from a backup, or name another with --db",
    sqlite3.SQLITE_NOTADB: "{where} is not a SQLite database: name another with --db",
    sqlite3.SQLITE_CANTOPEN: "{where} cannot be opened: check that its folder exists and may be written to",
    sqlite3.SQLITE_READONLY: "{where} may only be read: check the permissions of the file and its folder",
    sqlite3.SQLITE_PERM: "{where} may not be opened: check the permissions of the file and its folder",
    sqlite3.SQLITE_IOERR: "{where} cannot be read or written, the disk fails: check it and resume",
}
_SQLITE_AWAY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_TOO_LARGE = "{where} cannot hold a number that it was given: it is too large"
_DAMAGED = "{where} is damaged, {why}: restore it from a backup, or name another with --db"
_UPGRADE = "{where} lacks tables that this version needs: run 'evolve db upgrade'"
_SLOW = "{where} ended a transaction that took too long: try again"
_CROWDED = "{where} has too many connections: close some or raise max_connections"
# By the first characters of the SQLSTATE, the longest that fits.
_POSTGRES = {
    "53100": "{where} cannot grow, its disk is full: free some space and resume",
    "53300": _CROWDED,
    "53": "{where} has run out of resources: look into its log and resume",
    "55P03": "{where} is locked by another process: wait for it to end and resume",
    "40": "{where} could not serve two writers at once: try again",
    "22003": _TOO_LARGE,
    "25P03": _SLOW,
    "25P04": _SLOW,
    "25006": "{where} may only be read at present: name the primary server with --db, or wait for it",
    "25": "{where} gave a transaction up: try again",
    "54": "{where} cannot take so much at once: give it less",
    "55": "{where} is busy with what was asked of it: try again",
    "58": "{where} fails, its disk or its system: look into its log and resume",
    "XX": "{where} is damaged or fails: look into its log",
    "42P01": _UPGRADE,
    "42703": _UPGRADE,
    "42501": "{where} denies its user the tables: grant them",
    "28": "{where} refuses its user: check name and password",
    "3D": "{where} does not exist: create it",
    "57P04": "{where} does not exist: create it",
    "57": "{where} is shutting down or was stopped: start it and resume",
    "08": "{where} does not answer: check that it runs and is reachable",
}
# What passes by itself or with an operator's help: lost connections, a transaction or a server that ends, a standby
# that becomes the primary, a full disk, no connection free, a lock held, two writers at once.
_POSTGRES_AWAY = ("08", "25", "40", "53", "55", "57", "58")
_LOCKED = "55P03"
_READ_ONLY = "25006"
_AWAY = "{where} does not answer: check that it runs and is reachable"
_AUTHENTICATION = ("password authentication failed", "no password supplied", "no pg_hba.conf entry", "role ")
_FULL_HOUSE = ("too many clients", "too many connections", "connection slots are reserved")


class UnstorableError(ValueError):
    """A value that JSON cannot say: infinity, or not a number."""


class DamagedRowError(ValueError):
    """Stored bytes that this product did not write: a row is damaged. Its text says what about it."""


@contextmanager
def translated(where: str) -> Iterator[None]:
    """Turn what a driver raises into a StorageError about `where`, the name of the database for people.

    Raises:
        StorageAwayError: the database does not answer or is busy: trying again later may help.
        StorageError: the database cannot take or give; a mistake in a statement or its values is raised as it is.
    """
    try:
        yield
    except exc.TimeoutError as error:
        raise StorageAwayError(f"{where} has no free connection: try again") from error
    except exc.DBAPIError as error:
        sentence = _sentence(error)
        if sentence is None:
            raise
        # The driver's own error stays out of the chain: some drivers repeat the address with its password.
        kind = StorageAwayError if _away(error, sentence) else StorageError
        raise kind(sentence.format(where=where)) from None
    except exc.StatementError as error:
        if not isinstance(error.orig, UnstorableError):
            raise
        raise StorageError(f"{where} cannot hold a value that it was given: {error.orig}") from error
    except UnstorableError as error:
        raise StorageError(f"{where} cannot hold a value that it was given: {error}") from error
    except DamagedRowError as error:
        raise StorageError(_DAMAGED.format(where=where, why=error)) from error
    except OverflowError as error:
        raise StorageError(_TOO_LARGE.format(where=where)) from error


def locked(error: exc.DBAPIError) -> bool:
    """Whether a statement waited for another transaction's row until it gave up."""
    return getattr(error.orig, "sqlstate", None) == _LOCKED


def read_only(error: BaseException) -> bool:
    """Whether a server refused to write because it may only be read, as one that is no longer the primary does."""
    return getattr(error, "sqlstate", None) == _READ_ONLY


def _away(error: exc.DBAPIError, sentence: str) -> bool:
    original = error.orig
    if isinstance(original, sqlite3.Error):
        return getattr(original, "sqlite_errorcode", 0) & 0xFF in _SQLITE_AWAY
    state = getattr(original, "sqlstate", None)
    return (state.startswith(_POSTGRES_AWAY) and state != "57P04") if state else sentence in (_AWAY, _CROWDED)


def _sentence(error: exc.DBAPIError) -> str | None:
    original = error.orig
    if isinstance(original, sqlite3.Error):
        code = getattr(original, "sqlite_errorcode", None)
        if code is None:
            return None
        if code == sqlite3.SQLITE_ERROR and "no such" in str(original):
            return _UPGRADE
        return _SQLITE.get(code & 0xFF)
    state = getattr(original, "sqlstate", None)
    if state:
        return next((_POSTGRES[state[:length]] for length in (5, 2) if state[:length] in _POSTGRES), None)
    if isinstance(error, exc.OperationalError) or error.connection_invalidated:
        return _without_state(str(original))
    return None


def _without_state(text: str) -> str:
    """Errors of connecting carry no SQLSTATE."""
    if "does not exist" in text and "database " in text:
        return _POSTGRES["3D"]
    if any(mark in text for mark in _FULL_HOUSE):
        return _CROWDED
    return _POSTGRES["28"] if any(mark in text for mark in _AUTHENTICATION) else _AWAY
