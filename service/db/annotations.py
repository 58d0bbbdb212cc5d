"""Notes, pins, saved filters and shares of runs on a database."""

from datetime import datetime
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

from service.db.account_models import NoteRow, PinRow, SavedFilterRow, ShareRow
from service.db.columns import is_id
from service.db.engine import Database
from service.db.insertion import add
from service.db.models import CandidateRow, RunRow
from service.db.presence import there
from service.db.row_mappers import AnySelect
from service.errors import NotFoundError
from service.ports import Note, Pin, SavedFilter, Share

_MAX_ROWS = 1000
_NOTES: AnySelect = select(*NoteRow.__table__.c)
_SHARES: AnySelect = select(
    ShareRow.id,
    ShareRow.tenant,
    ShareRow.run_id,
    ShareRow.created_by,
    ShareRow.created_at,
    ShareRow.expires_at,
    ShareRow.revoked_at,
)
_Record = TypeVar("_Record", Note, Pin, SavedFilter, Share)


class SqlAnnotations:
    """The port Annotations on SQLite or PostgreSQL: of one tenant, to whom the runs of others are not there.

    Ids of runs are whole ones.
    """

    def __init__(self, database: Database, tenant: str) -> None:
        self._database = database
        self._tenant = tenant

    def add_note(self, note: Note) -> None:
        """Store a note.

        Raises:
            NotFoundError: no such run, or it has no such candidate.
        """
        with self._database.write() as connection:
            self._hold(connection, note.run_id, note.candidate_id)
            connection.execute(insert(NoteRow), [_row(note)])

    def edit_note(self, run_id: str, note_id: str, body: str, at: datetime) -> Note:
        """Change a note's text.

        Raises:
            NotFoundError: no such run, or it has no such note.
        """
        mine = (NoteRow.run_id == run_id, is_id(NoteRow.id, note_id))
        with self._database.write() as connection:
            self._check(connection, run_id)
            connection.execute(update(NoteRow).where(*mine).values(body=body, updated_at=at))
            row = connection.execute(_NOTES.where(*mine)).mappings().one_or_none()
        if row is None:
            raise _missing("note", note_id)
        return _record(Note, row)

    def notes(self, run_id: str, after: str = "", limit: int = 50, candidate_id: str = "") -> list[Note]:
        """Notes of a run in order of their ids, which is that of age; with a candidate's id those about it alone.

        Raises:
            NotFoundError: no such run.
        """
        query = _NOTES.where(NoteRow.run_id == run_id, NoteRow.id > after).order_by(NoteRow.id).limit(limit)
        if candidate_id:
            query = query.where(NoteRow.candidate_id == candidate_id)
        return self._list(Note, run_id, query)

    def remove_note(self, run_id: str, note_id: str) -> None:
        """Remove a note.

        Raises:
            NotFoundError: no such run, or it has no such note.
        """
        with self._database.write() as connection:
            self._check(connection, run_id)
            statement = delete(NoteRow).where(NoteRow.run_id == run_id, is_id(NoteRow.id, note_id))
            if connection.execute(statement).rowcount != 1:
                raise _missing("note", note_id)

    def pin(self, pin: Pin) -> None:
        """Pin a candidate; repeating changes nothing.

        Raises:
            NotFoundError: no such run, or it has no such candidate.
        """
        with self._database.write() as connection:
            self._hold(connection, pin.run_id, pin.candidate_id or "none")
            add(connection, PinRow, [_row(pin)])

    def unpin(self, run_id: str, candidate_id: str) -> None:
        """Take a pin away; repeating changes nothing.

        Raises:
            NotFoundError: no such run.
        """
        with self._database.write() as connection:
            self._check(connection, run_id)
            mine = (PinRow.run_id == run_id, is_id(PinRow.candidate_id, candidate_id))
            connection.execute(delete(PinRow).where(*mine))

    def pins(self, run_id: str) -> list[Pin]:
        """Pins of a run, oldest first; at most 1,000.

        Raises:
            NotFoundError: no such run.
        """
        query = select(*PinRow.__table__.c).where(PinRow.run_id == run_id)
        return self._list(Pin, run_id, query.order_by(PinRow.created_at, PinRow.candidate_id).limit(_MAX_ROWS))

    def save_filter(self, saved: SavedFilter) -> None:
        """Store a filter.

        Raises:
            NotFoundError: no such run.
        """
        with self._database.write() as connection:
            if saved.run_id:
                self._hold(connection, saved.run_id)
            connection.execute(insert(SavedFilterRow), [_row(saved) | {"tenant": self._tenant}])

    def saved_filters(self, run_id: str = "", after: str = "", limit: int = 50) -> list[SavedFilter]:
        """Saved filters of a run, or those of no run, in order of their ids.

        Raises:
            NotFoundError: no such run.
        """
        query = select(*SavedFilterRow.__table__.c).where(
            SavedFilterRow.tenant == self._tenant, SavedFilterRow.run_id == run_id, SavedFilterRow.id > after
        )
        with self._database.read() as connection:
            if run_id:
                self._check(connection, run_id)
            rows = connection.execute(query.order_by(SavedFilterRow.id).limit(limit)).mappings()
            return [_record(SavedFilter, row) for row in rows]

    def remove_filter(self, filter_id: str) -> None:
        """Remove a filter.

        Raises:
            NotFoundError: no such filter.
        """
        statement = delete(SavedFilterRow).where(
            SavedFilterRow.tenant == self._tenant, is_id(SavedFilterRow.id, filter_id)
        )
        with self._database.write() as connection:
            if connection.execute(statement).rowcount != 1:
                raise _missing("saved filter", filter_id)

    def add_share(self, share: Share, token_hash: str) -> None:
        """Store a share.

        Raises:
            NotFoundError: no such run.
        """
        with self._database.write() as connection:
            self._hold(connection, share.run_id)
            connection.execute(insert(ShareRow), [_row(share) | {"tenant": self._tenant, "hash": token_hash}])

    def shares(self, run_id: str) -> list[Share]:
        """Shares of a run, oldest first; at most 1,000.

        Raises:
            NotFoundError: no such run.
        """
        return self._list(
            Share, run_id, _SHARES.where(ShareRow.run_id == run_id).order_by(ShareRow.id).limit(_MAX_ROWS)
        )

    def revoke_share(self, run_id: str, share_id: str, at: datetime) -> None:
        """Close a share for good; repeating changes nothing.

        Raises:
            NotFoundError: no such run, or it has no such share.
        """
        mine = (ShareRow.run_id == run_id, is_id(ShareRow.id, share_id))
        close = update(ShareRow).where(*mine).values(revoked_at=func.coalesce(ShareRow.revoked_at, at))
        with self._database.write() as connection:
            self._check(connection, run_id)
            if connection.execute(close).rowcount != 1:
                raise _missing("share", share_id)

    def _list(self, kind: type[_Record], run_id: str, query: AnySelect) -> list[_Record]:
        with self._database.read() as connection:
            self._check(connection, run_id)
            return [_record(kind, row) for row in connection.execute(query).mappings()]

    def _check(self, connection: Connection, run_id: str) -> None:
        if connection.execute(self._run(run_id)).scalar() is None:
            raise _missing("run", run_id)

    def _hold(self, connection: Connection, run_id: str, candidate_id: str = "") -> None:
        """Check that run and candidate are there, and keep the run from being deleted until the transaction ends."""
        held = self._run(run_id).with_for_update(read=True, key_share=True)
        if connection.execute(held).scalar() is None:
            raise _missing("run", run_id)
        if not candidate_id:
            return
        of_run = (CandidateRow.run_id == run_id, is_id(CandidateRow.id, candidate_id))
        if connection.execute(select(CandidateRow.id).where(*of_run)).scalar() is None:
            raise _missing("candidate", candidate_id)

    def _run(self, run_id: str) -> AnySelect:
        return select(RunRow.id).where(RunRow.tenant == self._tenant, is_id(RunRow.id, run_id), there)


class SqlShares:
    """The port Shares on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, token_hash: str) -> Share | None:
        """The share of a hash, revoked and expired ones too."""
        with self._database.read() as connection:
            row = connection.execute(_SHARES.where(is_id(ShareRow.hash, token_hash))).mappings().one_or_none()
        return None if row is None else _record(Share, row)


def _row(record: Note | Pin | SavedFilter | Share) -> dict[str, Any]:
    return {name: getattr(record, name) for name in record.__slots__}


def _record(kind: type[_Record], row: RowMapping) -> _Record:
    return kind(**row)


def _missing(noun: str, given: str) -> NotFoundError:
    return NotFoundError(f"there is no {noun} {given[:60]!r} here")
