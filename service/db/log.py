"""The log of runs on a database: what the one writer of a run writes and reads back."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, exc, select

from evolve.events import Event, EventKind
from evolve.proposal import Candidate, Individual
from service.db import creation, leases, row_mappers
from service.db.commits import commit, held
from service.db.continuation import continue_as_wanted
from service.db.engine import Database
from service.db.models import BundleRow, EventRow, ProblemRow, RunRow
from service.errors import ConflictError
from service.ports import Bundle, Clock, LoggedEvent, NewRun, nobody

_CHUNK = 1000


class SqlRunLog:
    """The port RunLog on SQLite or PostgreSQL.

    Args:
        clock: the time of this machine, by which leases go where the database has none of its own.
        lease_time: the time that leases go by; only tests have another.
    """

    def __init__(self, database: Database, clock: Clock, lease_time: leases.LeaseTime = leases.database_time) -> None:
        self._database = database
        self._clock = clock
        self._lease_time = lease_time

    def create(self, run: NewRun) -> None:
        """Store a run and its problem, with the event `run.created`.

        Raises:
            ConflictError: a run of this id exists.
        """
        from service.db.partition_care import SqlPartitions  # it needs a logger, and commands that read need none

        SqlPartitions(self._database).prepare()
        with self._database.write() as connection:
            creation.create(connection, run, self._clock, self._lease_time)

    def take(self, run_id: str, owner: str, lease_seconds: float, gone: Callable[[str], bool] = nobody) -> int:
        """Take the run's lease and return a fencing token, higher than every earlier one.

        Args:
            gone: whether an owner is known to have ended, so that its lease need not be waited for.

        Raises:
            NotFoundError: no such run.
            ConflictError: somebody else holds the lease.
        """
        with self._database.write() as connection:
            now = self._lease_time(connection, self._clock)
            return leases.take(connection, run_id, owner, now, lease_seconds, gone)

    def release(self, run_id: str, fence: int) -> None:
        """Give the lease back; harmless when it was lost."""
        with self._database.write() as connection:
            leases.release(connection, run_id, fence)

    def renew(self, run_id: str, fence: int, lease_seconds: float, health: Mapping[str, Any] | None = None) -> str:
        """Extend the lease, note how the policy's server fares, and return the run's desired state.

        Raises:
            LeaseLostError: another took it.
        """
        with self._database.write() as connection:
            now = self._lease_time(connection, self._clock)
            return leases.renew(connection, run_id, fence, now, lease_seconds, health)

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        """Commit events and what they project, all or nothing; durable on return.

        What was committed just before and comes again, since nobody heard so, is left alone. A run that ends while a
        larger budget is wanted of it, of which its runner has not heard, is continued at once.

        Raises:
            LeaseLostError: the fencing token is no longer the run's.
            ConflictError: the events do not follow the last one, or tell of what the run does not have.
            StorageError: the database cannot take them; nothing was committed.
        """
        if not events:
            return
        try:
            self._append(run_id, fence, events, fresh=True)
        except exc.IntegrityError:
            try:
                self._append(run_id, fence, events, fresh=False)
            except exc.IntegrityError as error:
                raise ConflictError("the events tell of a candidate that the run does not have") from error

    def _append(self, run_id: str, fence: int, events: Sequence[LoggedEvent], *, fresh: bool) -> None:
        with self._database.write() as connection:
            tenant, before = held(connection, run_id, fence)
            ends = events[-1].event.kind is EventKind.RUN_FINISHED  # what continues the run may follow it
            if (ends or before["sequence"] == events[-1].sequence) and _is_stored(connection, events[-1]):
                return
            _check_order(run_id, before["sequence"], events)
            commit(connection, tenant, run_id, before, events, fresh=fresh)
            if ends:
                continue_as_wanted(connection, self._clock, tenant, run_id)

    def events(self, run_id: str, after: int = 0, limit: int | None = None) -> Iterator[LoggedEvent]:
        """Events of a run in order, from the one after `after`; none for a run that is not there."""
        # One short transaction a chunk: a reader that is slow holds up neither the writer nor its checkpoints.
        while limit is None or limit > 0:
            wanted = _CHUNK if limit is None else min(_CHUNK, limit)
            chunk = self._chunk(run_id, after, wanted)
            yield from chunk
            if len(chunk) < wanted:
                return
            after = chunk[-1].sequence
            limit = None if limit is None else limit - len(chunk)

    def candidates(self, run_id: str, candidate_ids: Sequence[str]) -> list[Candidate]:
        """Candidates with their programs, in the order asked for; a rejected one has no program and is left out.

        Raises:
            NotFoundError: the run has no such candidate.
        """
        with self._database.read() as connection:
            return row_mappers.candidates(connection, run_id, candidate_ids)

    def individuals(self, run_id: str, candidate_ids: Sequence[str]) -> list[Individual]:
        """Candidates with programs and latest evaluations, in the order asked for.

        One without a program or an evaluation is left out.

        Raises:
            NotFoundError: the run has no such candidate.
        """
        with self._database.read() as connection:
            return row_mappers.individuals(connection, run_id, candidate_ids)

    def bundle(self, run_id: str) -> Bundle:
        """The problem's folder as it was when the run was created.

        Raises:
            NotFoundError: no such run.
        """
        query = (
            select(BundleRow.hash, BundleRow.content)
            .join(ProblemRow, ProblemRow.bundle_hash == BundleRow.hash)
            .join(RunRow, RunRow.problem_id == ProblemRow.id)
            .where(RunRow.id == run_id)
        )
        with self._database.read() as connection:
            found = connection.execute(query).one_or_none()
        if found is None:
            raise leases.missing(run_id)
        return Bundle(hash=found.hash, content=found.content)

    def _chunk(self, run_id: str, after: int, size: int) -> list[LoggedEvent]:
        query = (
            select(EventRow.sequence, EventRow.kind, EventRow.at, EventRow.payload)
            .where(EventRow.run_id == run_id, EventRow.sequence > after)
            .order_by(EventRow.sequence)
            .limit(size)
        )
        with self._database.read() as connection:
            return [
                LoggedEvent(run_id=run_id, sequence=sequence, at=at, event=Event.stored(EventKind(kind), payload))
                for sequence, kind, at, payload in connection.execute(query)
            ]


def _check_order(run_id: str, last: int, events: Sequence[LoggedEvent]) -> None:
    for expected, logged in enumerate(events, start=last + 1):
        if logged.sequence != expected or logged.run_id != run_id:
            raise ConflictError(f"event {logged.sequence} of run {logged.run_id} is not event {expected} of {run_id}")


def _is_stored(connection: Connection, logged: LoggedEvent) -> bool:
    """Whether this very event is stored: no other runner writes the same at the same time."""
    query = select(EventRow.kind, EventRow.at, EventRow.payload).where(
        EventRow.run_id == logged.run_id, EventRow.sequence == logged.sequence
    )
    found = connection.execute(query).one_or_none()
    told = json.loads(json.dumps(logged.event.payload))
    return found is not None and tuple(found) == (str(logged.event.kind), logged.at, told)
