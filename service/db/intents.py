"""Intent on a database: what front doors want of runs, and what runners find to do."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import ColumnElement, Connection, Row, and_, delete, or_, select, union_all, update

from evolve.budget import check_money
from evolve.change_events import RequestedChange
from evolve.configuration import BudgetConfig
from evolve.money import Money, read_money
from service.db import changes, deletion, leases, records
from service.db.account_models import ReevaluationRow
from service.db.continuation import CONTINUED, continue_run
from service.db.engine import Database
from service.db.identifiers import chunks
from service.db.insertion import add
from service.db.models import CandidateRow, RunRow
from service.db.presence import there
from service.errors import ConflictError, NotFoundError, StaleError
from service.ports import AT_WORK, CANCELLED, ENDED, PAUSED, RUNNING, Clock, Intent, RunRecord, nobody
from service.projections.continuation import refusal
from service.projections.money import currency_of

_WANTED = (RunRow.id, RunRow.desired_state, RunRow.desired_budget, RunRow.desired_by)
_SEEN = (RunRow.id, RunRow.state, RunRow.desired_state, RunRow.lease_owner, RunRow.lease_expires_at, RunRow.revision,
         RunRow.desired_budget, RunRow.desired_by, RunRow.policies)  # fmt: skip


class SqlRunIntents:
    """The port RunIntents on SQLite or PostgreSQL: of one tenant, to whom the runs of others are not there.

    Args:
        clock: the time of this machine.
        lease_time: says whether a lease still holds; only tests have another.
    """

    def __init__(
        self,
        database: Database,
        tenant: str,
        clock: Clock,
        lease_time: leases.LeaseTime = leases.database_time,
    ) -> None:
        self._database = database
        self._tenant = tenant
        self._clock = clock
        self._lease_time = lease_time

    def want(self, run_id: str, desired_state: str, by: str) -> RunRecord:
        """Want a run running, paused or cancelled; wanting the same again changes nothing.

        One that has failed and is wanted running is continued.

        Raises:
            NotFoundError: no such run.
            ConflictError: it has ended, or is being cancelled; the text names its state.
        """
        with self._database.write() as connection:
            run = self._locked(connection, run_id)
            if run.state in CONTINUED and desired_state == RUNNING:
                self._continue(connection, run, {}, by)
            elif desired_state != _aim(run):
                _refuse_final(run)
                _write(connection, run, desired_state=desired_state, desired_by=by)
            return _record(connection, run_id)

    def extend(self, run_id: str, budget: Mapping[str, Any], by: str) -> RunRecord:
        """Want keys of the budget to have new values. A run that has ended is continued with them.

        Raises:
            NotFoundError: no such run.
            ConflictError: it is cancelled or being cancelled, would end at once, or has used more than a new limit; the
                text says what to do.
            ConfigurationError: a limit of money cannot be held.
        """
        with self._database.write() as connection:
            run = self._locked(connection, run_id)
            if run.state in CONTINUED:
                self._continue(connection, run, {**budget, **_money(budget, run.policies)}, by)
                return _record(connection, run_id)
            _refuse_final(run)
            _refuse_used(_record(connection, run_id), budget)
            wanted = {**run.desired_budget, **budget, **_money(budget, run.policies)}
            if wanted != run.desired_budget:
                _write(connection, run, desired_budget=wanted, desired_by=by)
            return _record(connection, run_id)

    def change(self, run_id: str, change: RequestedChange) -> RunRecord:
        """Want a change made by the search.

        Raises:
            NotFoundError: no such run.
            ConflictError: it has ended, or is being cancelled, or too many changes wait already.
        """
        with self._database.write() as connection:
            run = self._locked(connection, run_id)
            _refuse_final(run)
            changes.request(connection, run_id, change)
            _write(connection, run)
            return _record(connection, run_id)

    def changes(self, run_id: str) -> Sequence[RequestedChange]:
        """The changes that wait for the search, the oldest first.

        Raises:
            NotFoundError: no such run.
        """
        mine = (RunRow.id == run_id, RunRow.tenant == self._tenant, there)
        with self._database.read() as connection:
            if connection.execute(select(RunRow.id).where(*mine)).scalar() is None:
                raise leases.missing(run_id)
            return changes.waiting_changes(connection, [run_id]).get(run_id, [])

    def label(self, run_id: str, labels: Mapping[str, str], revision: int | None) -> RunRecord:
        """Replace a run's labels.

        Raises:
            NotFoundError: no such run.
            StaleError: the run's row was changed since `revision` was read.
        """
        with self._database.write() as connection:
            run = self._locked(connection, run_id)
            if revision not in (None, run.revision):
                raise StaleError(f"run {run_id} was changed since it was read: read it again")
            _write(connection, run, labels=dict(labels))
            return _record(connection, run_id)

    def delete(self, run_id: str) -> None:
        """Let a run that is not at work be there for nobody; whoever has its rows removed does so later.

        Raises:
            NotFoundError: no such run.
            ConflictError: it is at work, or a runner holds it.
        """
        with self._database.write() as connection:
            self._delete(connection, [self._locked(connection, run_id)])

    def delete_batch(self, batch_id: str) -> None:
        """Let the runs of a batch, by whole id, be there for nobody from now on, all of them or none.

        Raises:
            ConflictError: one of them is at work, or a runner holds it.
        """
        mine = (RunRow.batch_id == batch_id, RunRow.tenant == self._tenant, there)
        query = select(*_SEEN).where(*mine).order_by(RunRow.id).with_for_update()
        with self._database.write() as connection:
            self._delete(connection, connection.execute(query).all())

    def reevaluate(self, run_id: str, candidate_ids: Sequence[str], by: str, at: datetime) -> int:
        """Want candidates evaluated once more; how many were not wanted already.

        Raises:
            NotFoundError: the run has no such candidate, or it never was a program.
            ConflictError: the run is at work, or has not begun.
        """
        wanted = list(dict.fromkeys(candidate_ids))
        with self._database.write() as connection:
            run = self._locked(connection, run_id)
            if run.state not in {PAUSED, *ENDED}:
                raise ConflictError(
                    f"run {run_id} is {run.state}: pause it, or wait for its end, and evaluate again then"
                )
            _check_programs(connection, run_id, wanted)
            rows = [{"run_id": run_id, "candidate_id": id_, "requested_by": by, "created_at": at} for id_ in wanted]
            added = add(connection, ReevaluationRow, rows)
            if added:
                _write(connection, run)
            return added

    def _continue(self, connection: Connection, run: Row[Any], budget: Mapping[str, Any], by: str) -> None:
        """Have a run that has ended go on: nobody drives it, so that its events are written here.

        Whoever still holds it, to give it back or to evaluate a candidate again, is held off by the higher fence.
        """
        record = _record(connection, run.id)
        if why := refusal(record, budget):
            raise ConflictError(why)
        fence = leases.take(connection, run.id, by, self._lease_time(connection, self._clock), 0.0, lambda _: True)
        continue_run(connection, self._clock, self._tenant, record, budget, by)
        leases.release(connection, run.id, fence)
        _write(connection, run, desired_state=RUNNING, desired_budget={}, desired_by=by)

    def _delete(self, connection: Connection, runs: Sequence[Row[Any]]) -> None:
        now = self._lease_time(connection, self._clock)
        for run in runs:
            if run.state in AT_WORK:
                raise ConflictError(f"run {run.id} is {run.state}: cancel or pause it first")
            if run.lease_owner is not None and run.lease_expires_at > now:
                raise ConflictError(f"run {run.id} is held by a runner: try again in some seconds")
        deletion.mark(connection, [run.id for run in runs])

    def _locked(self, connection: Connection, run_id: str) -> Row[Any]:
        mine = (RunRow.id == run_id, RunRow.tenant == self._tenant, there)
        query = select(*_SEEN).where(*mine).with_for_update()
        run = connection.execute(query).one_or_none()
        if run is None:
            raise leases.missing(run_id)
        return run


class SqlRunClaims:
    """The port RunClaims on SQLite or PostgreSQL, over the runs of all tenants.

    Args:
        clock: the time of this machine.
        lease_time: says which leases have lapsed; only tests have another.
        batch_id: finds runs of this batch alone; empty: all runs.
    """

    def __init__(
        self,
        database: Database,
        clock: Clock,
        lease_time: leases.LeaseTime = leases.database_time,
        *,
        batch_id: str = "",
    ) -> None:
        self._database = database
        self._clock = clock
        self._lease_time = lease_time
        self._batch_id = batch_id

    def claim(
        self, owner: str, lease_seconds: float, holding: Sequence[str], gone: Callable[[str], bool] = nobody
    ) -> RunRecord | None:
        """Find the oldest run that should be driven and is not; None: there is none.

        Three statements at most, each over the runs that have not ended: what ended is not looked at.
        """
        del lease_seconds  # a lease is lapsed by the time that stands in it
        with self._database.read() as connection:
            due = _due() if not self._batch_id else and_(_due(), RunRow.batch_id == self._batch_id)
            owners = select(RunRow.lease_owner).where(RunRow.lease_owner.is_not(None), due).distinct()
            dead = [held for held in connection.execute(owners).scalars() if held and held != owner and gone(held)]
            free = or_(
                RunRow.lease_owner.is_(None),
                RunRow.lease_expires_at <= self._lease_time(connection, self._clock),
                RunRow.lease_owner.in_([owner, *dead]),
            )
            oldest = (
                select(RunRow.id)
                .where(due, free, RunRow.id.not_in(holding))
                .order_by(RunRow.created_at, RunRow.id)
                .limit(1)
            )
            run_id = connection.execute(oldest).scalar()
            return None if run_id is None else _record(connection, run_id)

    def reserve(self, owner: str, lease_seconds: float, gone: Callable[[str], bool] = nobody) -> None:
        """Keep others off the runs of the batch that nobody drives; to be repeated for as long as they wait.

        Args:
            owner: who drives them in their turn.
            lease_seconds: how long others are kept off.
            gone: whether an owner is known to have ended.
        """
        waiting = and_(RunRow.batch_id == self._batch_id, RunRow.state.in_(("queued", PAUSED, *AT_WORK)), there)
        with self._database.write() as connection:
            now = self._lease_time(connection, self._clock)
            owners = select(RunRow.lease_owner).where(waiting, RunRow.lease_owner.is_not(None)).distinct()
            dead = [held for held in connection.execute(owners).scalars() if held and held != owner and gone(held)]
            free = or_(
                RunRow.lease_owner.is_(None), RunRow.lease_expires_at <= now, RunRow.lease_owner.in_([owner, *dead])
            )
            until = leases.until(now, lease_seconds)
            connection.execute(update(RunRow).where(waiting, free).values(lease_owner=owner, lease_expires_at=until))

    def give_back(self, owner: str) -> None:
        """Let others have the runs of the batch that are an owner's."""
        mine = and_(RunRow.batch_id == self._batch_id, RunRow.lease_owner == owner)
        with self._database.write() as connection:
            connection.execute(update(RunRow).where(mine).values(lease_owner=None, lease_expires_at=None))

    def wanted(self, run_ids: Sequence[str]) -> Mapping[str, Intent]:
        """What is wanted of each; a run that was deleted is missing."""
        query = select(*_WANTED).where(there)
        with self._database.read() as connection:
            rows = [row for chunk in chunks(run_ids) for row in connection.execute(query.where(RunRow.id.in_(chunk)))]
            waiting = changes.waiting_changes(connection, run_ids)
        return {
            row.id: Intent(
                desired_state=row.desired_state,
                budget=row.desired_budget,
                changes=tuple(waiting.get(row.id, ())),
                by=row.desired_by or "",
            )
            for row in rows
        }

    def reevaluations(self, run_id: str) -> list[str]:
        """Candidates of a run that wait to be evaluated again, in the order they were wanted."""
        query = (
            select(ReevaluationRow.candidate_id)
            .where(ReevaluationRow.run_id == run_id)
            .order_by(ReevaluationRow.created_at, ReevaluationRow.candidate_id)
        )
        with self._database.read() as connection:
            return list(connection.execute(query).scalars())

    def reevaluated(self, run_id: str, candidate_ids: Sequence[str]) -> None:
        """They were."""
        with self._database.write() as connection:
            for chunk in chunks(candidate_ids):
                connection.execute(
                    delete(ReevaluationRow).where(
                        ReevaluationRow.run_id == run_id, ReevaluationRow.candidate_id.in_(chunk)
                    )
                )


def _due() -> ColumnElement[bool]:
    """Whether there is something to do for a run, by whomever."""
    at_work = RunRow.state.in_(("queued", *AT_WORK))
    # One that its own process paused, and of which nobody ever wanted anything, is that process's to go on with.
    wanted = and_(RunRow.desired_state.in_((RUNNING, CANCELLED)), RunRow.desired_by.is_not(None))
    taken_up = and_(RunRow.state == PAUSED, wanted)
    # One after the other and not one or the other: PostgreSQL finds each over its index, and reads no ended run.
    found = RunRow.id.in_(
        union_all(
            select(RunRow.id).where(at_work), select(RunRow.id).where(taken_up), select(ReevaluationRow.run_id)
        ).scalar_subquery()
    )
    return and_(found, there)


def _aim(run: Row[Any]) -> str:
    """Where a run is going if nobody wants anything else."""
    if run.state in ENDED or (run.state == PAUSED and run.desired_by is None):
        return str(run.state)
    return str(run.desired_state)


def _money(budget: Mapping[str, Any], policies: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The limit of money that is wanted, as its event will tell it."""
    if budget.get("money") is None:
        return {}
    limit = read_money(budget["money"])
    check_money(BudgetConfig(money=limit), currency_of(policies))
    return {"money": str(limit)}


def _refuse_final(run: Row[Any]) -> None:
    if run.state in ENDED:
        raise ConflictError(f"run {run.id} has ended, it is {run.state}: fork it, or start another")
    if run.desired_state == CANCELLED:
        raise ConflictError(f"run {run.id} is {run.state} and being cancelled: fork it, or start another")


def _refuse_used(run: RunRecord, budget: Mapping[str, Any]) -> None:
    """Refuse a limit below what the run has used: it would end it, and nobody says so by a limit."""
    counters = run.counters
    used: dict[str, Decimal | float] = {
        "evaluations": counters.evaluations,
        "answers": counters.answers,
        "tokens": counters.tokens_input + counters.tokens_output,
        "wall_seconds": run.active_seconds,
    }
    if counters.cost is not None:
        used["money"] = Money.read(counters.cost).amount
    for key, value in budget.items():
        limit = read_money(value).amount if key == "money" and value is not None else value
        if limit is not None and key in used and used[key] > limit:
            raise ConflictError(
                f"run {run.id} has used {_number(used[key])} of budget.{key} already, and {_number(limit)} is less:"
                " name a larger limit, or cancel the run"
            )


def _number(value: Decimal | float) -> str:
    return f"{value:.1f}" if isinstance(value, float) else str(value)


def _write(connection: Connection, run: Row[Any], **values: Any) -> None:
    connection.execute(update(RunRow).where(RunRow.id == run.id).values(revision=run.revision + 1, **values))


def _record(connection: Connection, run_id: str) -> RunRecord:
    return records.runs(connection, records.RUNS.where(RunRow.id == run_id))[0]


def _check_programs(connection: Connection, run_id: str, candidate_ids: Sequence[str]) -> None:
    query = select(CandidateRow.id).where(CandidateRow.run_id == run_id, CandidateRow.program_id.is_not(None))
    known: set[str] = set()
    for chunk in chunks(candidate_ids):
        known |= set(connection.execute(query.where(CandidateRow.id.in_(chunk))).scalars())
    for candidate_id in candidate_ids:
        if candidate_id not in known:
            raise NotFoundError(f"run {run_id} has no candidate {candidate_id} with a program")
