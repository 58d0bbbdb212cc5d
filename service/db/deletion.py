"""Deleting runs: marked in a moment, so that they are there for nobody, and removed in transactions that are short.

A mark is a state that no reader sees. Removing begins at the beginning however far it came before, so that it may be
broken off anywhere: what is gone already is passed over.
"""

from collections.abc import Iterator, Sequence

from sqlalchemy import ColumnElement, Connection, and_, delete, func, select, tuple_, update

from service.db.account_models import (
    NoteRow,
    PinRow,
    ReevaluationRow,
    RunChangeRow,
    SavedFilterRow,
    ShareRow,
    ViewRequestRow,
)
from service.db.columns import Base
from service.db.engine import Database
from service.db.models import (
    CandidateRow,
    CandidateViewRow,
    EvaluationRow,
    EventRow,
    MembershipRow,
    ParentRow,
    ProposalRow,
    RunColumnsRow,
    RunRow,
    SnapshotRow,
)
from service.db.partition_care import SqlPartitions
from service.db.policy_models import TrainingPermissionRow
from service.db.presence import DELETING

CHUNK = 2000  # so many rows are gone in a moment, and a commit is not most of the work
_OF_PEOPLE: tuple[type[Base], ...] = (
    ReevaluationRow,
    ViewRequestRow,
    RunChangeRow,
    PinRow,
    NoteRow,
    SavedFilterRow,
    ShareRow,
    TrainingPermissionRow,
)
_OF_A_CANDIDATE: tuple[type[MembershipRow | EvaluationRow | CandidateViewRow | ParentRow], ...] = (
    MembershipRow,
    EvaluationRow,
    CandidateViewRow,
    ParentRow,
)
_NUMBERED = ((EventRow, EventRow.sequence), (ProposalRow, ProposalRow.number))


def mark(connection: Connection, run_ids: Sequence[str]) -> None:
    """Let runs be there for nobody from the end of the transaction on, runners that held them included."""
    for model in _OF_PEOPLE:
        connection.execute(delete(model).where(model.__table__.c.run_id.in_(run_ids)))
    gone = {"state": DELETING, "fence": RunRow.fence + 1, "lease_owner": None, "lease_expires_at": None}
    connection.execute(update(RunRow).where(RunRow.id.in_(run_ids)).values(gone))


def remove(database: Database, run_id: str) -> Iterator[None]:
    """Remove a marked run; a transaction is written with each step.

    It ends early where another process is at the same run.
    """
    # Edges of the lineage lead from any candidate to any other: all of them go before the first candidate does.
    for portion in _portions(database, run_id):
        own = select(CandidateRow.id).where(portion)
        with database.write() as connection:
            if not _held(connection, run_id):
                return
            for model in _OF_A_CANDIDATE:
                connection.execute(delete(model).where(model.candidate_id.in_(own)))
        yield
    for portion in _portions(database, run_id):
        with database.write() as connection:
            if not _held(connection, run_id):
                return
            connection.execute(delete(CandidateRow).where(portion))
        yield
    yield from _remove_rest(database, run_id)


def marked(database: Database) -> list[str]:
    """The runs that are to be removed, oldest first."""
    query = select(RunRow.id).where(RunRow.state == DELETING).order_by(RunRow.created_at, RunRow.id)
    with database.read() as connection:
        return list(connection.execute(query).scalars())


class SqlDeletions:
    """The port Deletions on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._steps: Iterator[None] = iter(())

    def advance(self) -> bool:
        """Remove some rows more; whether there may be others."""
        if next(self._steps, self) is None:
            return True
        self._steps = self._all()
        return next(self._steps, self) is None

    def remove(self, run_id: str) -> None:
        """Remove everything that is left of one deleted run. Nothing where another process is at it."""
        for _ in remove(self._database, run_id):
            pass

    def _all(self) -> Iterator[None]:
        runs = marked(self._database)
        if runs:
            SqlPartitions(self._database).release()
        for run_id in runs:
            yield from remove(self._database, run_id)


def _portions(database: Database, run_id: str) -> Iterator[ColumnElement[bool]]:
    """The candidates of a run, some at a time, as conditions."""
    age, last = tuple_(CandidateRow.proposal_number, CandidateRow.position), (-1, -1)
    while True:
        behind = and_(CandidateRow.run_id == run_id, age > last)
        some = (
            select(CandidateRow.proposal_number, CandidateRow.position)
            .where(behind)
            .order_by(CandidateRow.proposal_number, CandidateRow.position)
            .limit(CHUNK)
        )
        with database.read() as connection:
            rows = connection.execute(some).all()
        if not rows:
            return
        last = (rows[-1].proposal_number, rows[-1].position)
        yield and_(behind, age <= last)


def _remove_rest(database: Database, run_id: str) -> Iterator[None]:
    for model, number in _NUMBERED:
        while True:
            with database.write() as connection:
                if not _held(connection, run_id):
                    return
                first = connection.execute(select(func.min(number)).where(model.run_id == run_id)).scalar()
                if first is None:
                    break
                connection.execute(delete(model).where(model.run_id == run_id, number < first + CHUNK))
            yield
    with database.write() as connection:
        if _held(connection, run_id):  # so that nobody saves any of it in between
            connection.execute(delete(SnapshotRow).where(SnapshotRow.run_id == run_id))
            connection.execute(delete(RunColumnsRow).where(RunColumnsRow.run_id == run_id))
            connection.execute(delete(RunRow).where(RunRow.id == run_id))
    yield


def _held(connection: Connection, run_id: str) -> bool:
    """Keep a marked run until the transaction ends; whether it is there, and nobody else's."""
    query = select(RunRow.id).where(RunRow.id == run_id, RunRow.state == DELETING).with_for_update(skip_locked=True)
    return connection.execute(query).scalar() is not None
