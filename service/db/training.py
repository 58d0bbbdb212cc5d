"""Training jobs on a database: their leases, their events, and what may be trained on."""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, RowMapping, and_, func, insert, or_, select, update

from service.db.columns import is_id
from service.db.engine import Database
from service.db.leases import database_time, until
from service.db.models import Tenant
from service.db.policy_models import TrainingEventRow, TrainingJobRow, TrainingPermissionRow
from service.errors import ConflictError, LeaseLostError, NotFoundError
from service.identifiers import new_id
from service.ports import (
    JOB_CANCELLED,
    JOB_ENDED,
    JOB_QUEUED,
    JOB_RUNNING,
    Clock,
    TrainingEvent,
    TrainingJob,
    TrainingPermission,
    nobody,
)

_FIELDS = tuple(TrainingJob.__slots__)
_BACKEND = TrainingJobRow.request["backend"].as_string()
# After these events, a trainer works on the job.
_WORKING = frozenset({"training.started", "training.checkpoint", "training.progress"})
_COLUMNS = tuple(getattr(TrainingJobRow, name) for name in _FIELDS)


class SqlTrainingStore:
    """The port TrainingStore on SQLite or PostgreSQL."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def add(self, job: TrainingJob) -> None:
        """Store a job, queued."""
        row = {name: getattr(job, name) for name in _FIELDS} | {"fence": 0, "runs": list(job.runs)}
        with self._database.write() as connection:
            connection.execute(insert(TrainingJobRow), [row])
            _tell(connection, job.id, "training.queued", {}, job.created_at)

    def get(self, tenant: str, job_id: str) -> TrainingJob:
        """A job of a tenant.

        Raises:
            NotFoundError: the tenant has none.
        """
        with self._database.read() as connection:
            return _job(connection, tenant, job_id)

    def jobs(self, tenant: str, before: str = "", limit: int = 50) -> list[TrainingJob]:
        """Jobs of a tenant, newest first."""
        query = select(*_COLUMNS).where(TrainingJobRow.tenant == tenant)
        if before:
            query = query.where(TrainingJobRow.id < before)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(TrainingJobRow.id.desc()).limit(limit)).mappings()
            return [TrainingJob(**row) for row in rows]

    def events(self, job_id: str, after: int = 0, limit: int = 50) -> list[TrainingEvent]:
        """Events of a job in order, behind a sequence number."""
        query = select(*TrainingEventRow.__table__.c).where(
            TrainingEventRow.job_id == job_id, TrainingEventRow.sequence > after
        )
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(TrainingEventRow.sequence).limit(limit)).mappings()
            return [TrainingEvent(**row) for row in rows]

    def cancel(self, tenant: str, job_id: str, at: datetime) -> TrainingJob:
        """End a job. A trainer that holds it stops within seconds.

        Raises:
            NotFoundError: the tenant has none.
            ConflictError: it has succeeded or failed.
        """
        with self._database.write() as connection:
            job = _job(connection, tenant, job_id, lock=True)
            if job.state in JOB_ENDED:
                if job.state == JOB_CANCELLED:
                    return job
                raise ConflictError(f"the training job {job_id} has {job.state}: it cannot be cancelled")
            _change(connection, job.id, desired_state=JOB_CANCELLED)
            if job.state == JOB_QUEUED:
                _change(connection, job.id, state=JOB_CANCELLED, finished_at=at)
                _tell(connection, job.id, "training.cancelled", {}, at)
            return _job(connection, tenant, job_id)

    def resume(self, tenant: str, job_id: str, at: datetime) -> TrainingJob:
        """Queue a cancelled or failed job again.

        Raises:
            NotFoundError: the tenant has none.
            ConflictError: it has succeeded.
        """
        with self._database.write() as connection:
            job = _job(connection, tenant, job_id, lock=True)
            if job.state not in JOB_ENDED:
                if job.desired_state == JOB_RUNNING:
                    return job
                raise ConflictError(f"the training job {job_id} is being cancelled: resume it when it is cancelled")
            if job.version is not None:
                raise ConflictError(f"the training job {job_id} has made version {job.version}: submit another")
            fresh = {"state": JOB_QUEUED, "desired_state": JOB_RUNNING, "error": "", "finished_at": None}
            _change(connection, job.id, **fresh)
            _tell(connection, job.id, "training.queued", {}, at)
            return _job(connection, tenant, job_id)

    def permit(self, permission: TrainingPermission) -> None:
        """Record an answer."""
        row = {name: getattr(permission, name) for name in TrainingPermission.__slots__}
        with self._database.write() as connection:
            connection.execute(insert(TrainingPermissionRow), [row | {"id": new_id("prm", permission.at)}])

    def permissions(self, tenant: str) -> list[TrainingPermission]:
        """The answers that count, that for all runs first."""
        query = select(*(getattr(TrainingPermissionRow, name) for name in TrainingPermission.__slots__))
        query = query.where(TrainingPermissionRow.tenant == tenant)
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(TrainingPermissionRow.at, TrainingPermissionRow.id)).mappings()
            newest = {row["run_id"]: TrainingPermission(**row) for row in rows}
        return [newest[run_id] for run_id in sorted(newest)]

    def claim(
        self, owner: str, lease_seconds: float, backends: Collection[str], gone: Callable[[str], bool] = nobody
    ) -> tuple[TrainingJob, int] | None:
        """Take the oldest job of these back ends that nobody holds, with its fencing token. None: there is none."""
        due = and_(TrainingJobRow.state.not_in(sorted(JOB_ENDED)), _BACKEND.in_(list(backends)))
        with self._database.write() as connection:
            now = database_time(connection, self._clock)
            owners = select(TrainingJobRow.lease_owner).where(due, TrainingJobRow.lease_owner.is_not(None)).distinct()
            dead = [held for held in connection.execute(owners).scalars() if held and held != owner and gone(held)]
            free = or_(
                TrainingJobRow.lease_owner.is_(None),
                TrainingJobRow.lease_expires_at <= now,
                TrainingJobRow.lease_owner.in_([owner, *dead]),
            )
            within = or_(TrainingJobRow.state != JOB_QUEUED, TrainingJobRow.tenant.not_in(_full_tenants(connection)))
            oldest = select(TrainingJobRow.id, TrainingJobRow.tenant).where(due, free, within)
            oldest = oldest.order_by(TrainingJobRow.id)
            found = connection.execute(oldest.limit(1).with_for_update(skip_locked=True)).one_or_none()
            if found is None:
                return None
            taken = {"lease_owner": owner, "lease_expires_at": until(now, lease_seconds)}
            statement = update(TrainingJobRow).where(TrainingJobRow.id == found.id)
            raised = statement.values(fence=TrainingJobRow.fence + 1, **taken).returning(TrainingJobRow.fence)
            fence = connection.execute(raised).scalar_one()
            return _job(connection, found.tenant, found.id), fence

    def pass_over(self, backends: Collection[str], reasons: Mapping[str, str]) -> None:
        """Tell queued jobs of other back ends once that this trainer does not take them."""
        newest = select(TrainingEventRow.kind).where(
            TrainingEventRow.job_id == TrainingJobRow.id, TrainingEventRow.sequence == TrainingJobRow.sequence
        )
        waiting = select(TrainingJobRow.id, _BACKEND.label("backend")).where(
            TrainingJobRow.state == JOB_QUEUED,
            _BACKEND.not_in(list(backends)),
            newest.scalar_subquery() == "training.queued",
        )
        with self._database.read() as connection:
            if connection.execute(waiting.limit(1)).first() is None:
                return
        with self._database.write() as connection:
            for job in connection.execute(waiting.with_for_update(of=TrainingJobRow, skip_locked=True)).all():
                reason = reasons.get(job.backend, f"it does not have {job.backend}")
                payload = {"backend": job.backend, "has": list(backends), "reason": reason}
                _tell(connection, job.id, "training.waiting", payload, self._clock.now())

    def active(self, tenant: str) -> int:
        """How many jobs of a tenant have not ended."""
        query = select(func.count()).where(
            TrainingJobRow.tenant == tenant, TrainingJobRow.state.not_in(sorted(JOB_ENDED))
        )
        with self._database.read() as connection:
            return connection.execute(query).scalar_one()

    def seconds(self, tenant: str, since: datetime) -> float:
        """How long trainers have worked for a tenant since then, by the events of its jobs.

        While a trainer works, it adds an event every few seconds. The time before a start and after an end is not
        counted.
        """
        query = select(TrainingEventRow.job_id, TrainingEventRow.kind, TrainingEventRow.at)
        query = query.join(TrainingJobRow, TrainingJobRow.id == TrainingEventRow.job_id)
        query = query.where(TrainingJobRow.tenant == tenant, TrainingEventRow.at >= since)
        total, before = 0.0, None
        with self._database.read() as connection:
            for event in connection.execute(query.order_by(TrainingEventRow.job_id, TrainingEventRow.sequence)):
                if before is not None and before.job_id == event.job_id and before.kind in _WORKING:
                    total += 0.0 if event.kind == "training.started" else (event.at - before.at).total_seconds()
                before = event
        return total

    def renew(self, job_id: str, fence: int, lease_seconds: float) -> str:
        """Extend a lease, and return the desired state.

        Raises:
            LeaseLostError: another trainer took the job.
        """
        with self._database.write() as connection:
            later = until(database_time(connection, self._clock), lease_seconds)
            statement = update(TrainingJobRow).where(*_held(job_id, fence)).values(lease_expires_at=later)
            desired = connection.execute(statement.returning(TrainingJobRow.desired_state)).scalar()
        if desired is None:
            raise _lost(job_id)
        return desired

    def record(self, job_id: str, fence: int, kind: str, payload: Mapping[str, Any], **changes: Any) -> None:
        """Add an event, and change columns of the job in the same transaction.

        Raises:
            LeaseLostError: another trainer took the job.
        """
        with self._database.write() as connection:
            query = select(TrainingJobRow.id).where(*_held(job_id, fence)).with_for_update()
            if connection.execute(query).one_or_none() is None:
                raise _lost(job_id)
            if changes:
                _change(connection, job_id, **changes)
            _tell(connection, job_id, kind, payload, self._clock.now())

    def release(self, job_id: str, fence: int) -> None:
        """Give a lease back, unless another trainer took it."""
        free = update(TrainingJobRow).where(*_held(job_id, fence)).values(lease_owner=None, lease_expires_at=None)
        with self._database.write() as connection:
            connection.execute(free)


def _job(connection: Connection, tenant: str, job_id: str, *, lock: bool = False) -> TrainingJob:
    query = select(*_COLUMNS).where(TrainingJobRow.tenant == tenant, is_id(TrainingJobRow.id, job_id))
    row: RowMapping | None = connection.execute(query.with_for_update() if lock else query).mappings().one_or_none()
    if row is None:
        raise NotFoundError(f"there is no training job {job_id[:64]}")
    return TrainingJob(**row)


def _full_tenants(connection: Connection) -> list[str]:
    """Tenants with as many running jobs as their quota allows. Their rows are locked: trainers count one by one."""
    quota = Tenant.quotas["running_training_jobs"].as_integer()
    waiting = select(TrainingJobRow.tenant).where(TrainingJobRow.state == JOB_QUEUED).distinct()
    limited = select(Tenant.id, quota.label("quota")).where(quota.is_not(None), Tenant.id.in_(waiting))
    full = []
    for tenant in connection.execute(limited.order_by(Tenant.id).with_for_update(key_share=True)).all():
        running = select(func.count()).where(
            TrainingJobRow.tenant == tenant.id,
            or_(TrainingJobRow.state == JOB_RUNNING, TrainingJobRow.lease_owner.is_not(None)),
            TrainingJobRow.state.not_in(sorted(JOB_ENDED)),
        )
        if connection.execute(running).scalar_one() >= tenant.quota:
            full.append(tenant.id)
    return full


def _held(job_id: str, fence: int) -> tuple[Any, ...]:
    return (and_(TrainingJobRow.id == job_id, TrainingJobRow.fence == fence, TrainingJobRow.lease_owner.is_not(None)),)


def _change(connection: Connection, job_id: str, **values: Any) -> None:
    connection.execute(update(TrainingJobRow).where(TrainingJobRow.id == job_id).values(**values))


def _tell(connection: Connection, job_id: str, kind: str, payload: Mapping[str, Any], at: datetime) -> None:
    """Add an event with the next number; the row of the job is locked by the update."""
    statement = update(TrainingJobRow).where(TrainingJobRow.id == job_id)
    next_ = statement.values(sequence=TrainingJobRow.sequence + 1).returning(TrainingJobRow.sequence)
    sequence = connection.execute(next_).scalar_one()
    row = {"job_id": job_id, "sequence": sequence, "kind": kind, "at": at, "payload": dict(payload)}
    connection.execute(insert(TrainingEventRow), [row])


def _lost(job_id: str) -> LeaseLostError:
    return LeaseLostError(f"the training job {job_id} was taken over by another trainer: this one stops")
