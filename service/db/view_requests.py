"""Views that wait to be drawn, on a database."""

from datetime import timedelta

from sqlalchemy import Connection, delete, func, select, update

from evolve.views.candidate_view import CandidateView
from service.db.account_models import ViewRequestRow
from service.db.engine import Database
from service.db.insertion import add
from service.db.models import CandidateRow, CandidateViewRow, RunRow
from service.db.presence import there
from service.errors import NotFoundError, QuotaError
from service.ports import MAX_VIEW_REQUESTS, Clock, ViewRequest

_FIELDS = tuple(getattr(ViewRequestRow, name) for name in ViewRequest.__slots__)
_UNDRAWN = (CandidateViewRow.media_type == "", CandidateViewRow.reason == "")


class SqlViewRequests:
    """The port ViewRequests on SQLite or PostgreSQL."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def request(self, tenant: str, candidate_id: str, by: str) -> bool:
        """Want the view of a candidate drawn; False: it waits already.

        Raises:
            NotFoundError: the tenant has no such candidate, or nothing draws it on demand.
            QuotaError: too many views of the tenant wait.
        """
        now = self._clock.now()
        mine = (CandidateRow.id == candidate_id, RunRow.tenant == tenant, there)
        query = select(CandidateRow.run_id).join(RunRow, RunRow.id == CandidateRow.run_id).where(*mine)
        with self._database.write() as connection:
            run_id = connection.execute(query).scalar()
            if run_id is None or not _is_undrawn(connection, candidate_id):
                raise NotFoundError(f"nothing draws a view of {candidate_id} on demand")
            if _wants(connection, candidate_id):
                return False
            if _count(connection, tenant) >= MAX_VIEW_REQUESTS:
                raise QuotaError(f"{MAX_VIEW_REQUESTS} views wait to be drawn: request this one later")
            row = {"run_id": run_id, "candidate_id": candidate_id, "requested_by": by, "created_at": now}
            return add(connection, ViewRequestRow, [row | {"due_at": now, "tries": 0, "reason": ""}]) > 0

    def waiting(self, candidate_id: str) -> ViewRequest | None:
        """How a view waits; None: it does not."""
        query = select(*_FIELDS).where(ViewRequestRow.candidate_id == candidate_id)
        with self._database.read() as connection:
            row = connection.execute(query).mappings().first()
        return None if row is None else ViewRequest(**row)

    def take(self, limit: int, seconds: float) -> list[ViewRequest]:
        """The views that have waited longest; nobody else takes them for a while."""
        now = self._clock.now()
        query = (
            select(*_FIELDS)
            .where(ViewRequestRow.due_at <= now)
            .order_by(ViewRequestRow.due_at, ViewRequestRow.candidate_id)
            .limit(limit)
        )
        with self._database.read() as connection:  # most often there is none, and nothing is to be locked
            if connection.execute(query).first() is None:
                return []
        with self._database.write() as connection:
            rows = connection.execute(query.with_for_update(skip_locked=True)).mappings().all()
            taken = [ViewRequest(**{**row, "tries": row["tries"] + 1}) for row in rows]
            for one in taken:
                _change(connection, one.candidate_id, due_at=now + timedelta(seconds=seconds), tries=one.tries)
            return taken

    def put_off(self, request: ViewRequest, seconds: float, reason: str, *, tries: int | None = None) -> None:
        """Let a view wait for so long, and say why. `tries`: as often it was tried in truth; None: as it was taken."""
        due_at = self._clock.now() + timedelta(seconds=seconds)
        counted = request.tries if tries is None else tries
        with self._database.write() as connection:
            _change(connection, request.candidate_id, due_at=due_at, reason=reason, tries=counted)

    def store(self, candidate_id: str, view: CandidateView) -> None:
        """Store what was drawn of a candidate, which waits no longer. Nothing where it has a view."""
        attempt = select(CandidateRow.attempt).where(CandidateRow.id == candidate_id).scalar_subquery()
        undrawn = (CandidateViewRow.candidate_id == candidate_id, CandidateViewRow.attempt == attempt, *_UNDRAWN)
        values = {"media_type": view.media_type, "reason": view.reason, "content": view.content}
        with self._database.write() as connection:
            connection.execute(update(CandidateViewRow).where(*undrawn).values(values))
            _drop(connection, candidate_id)

    def drop(self, candidate_id: str) -> None:
        """Let a view wait no longer, undrawn."""
        with self._database.write() as connection:
            _drop(connection, candidate_id)


def _is_undrawn(connection: Connection, candidate_id: str) -> bool:
    query = (
        select(CandidateViewRow.attempt)
        .join(CandidateRow, CandidateRow.id == CandidateViewRow.candidate_id)
        .where(CandidateRow.id == candidate_id, CandidateViewRow.attempt == CandidateRow.attempt, *_UNDRAWN)
    )
    return connection.execute(query).first() is not None


def _wants(connection: Connection, candidate_id: str) -> bool:
    query = select(ViewRequestRow.candidate_id).where(ViewRequestRow.candidate_id == candidate_id)
    return connection.execute(query).first() is not None


def _count(connection: Connection, tenant: str) -> int:
    query = (
        select(func.count())
        .select_from(ViewRequestRow)
        .join(RunRow, RunRow.id == ViewRequestRow.run_id)
        .where(RunRow.tenant == tenant)
    )
    return connection.execute(query).scalar_one()


def _change(connection: Connection, candidate_id: str, **values: object) -> None:
    connection.execute(update(ViewRequestRow).where(ViewRequestRow.candidate_id == candidate_id).values(values))


def _drop(connection: Connection, candidate_id: str) -> None:
    connection.execute(delete(ViewRequestRow).where(ViewRequestRow.candidate_id == candidate_id))
