"""The lease of a run: one runner at a time, told apart by a fencing token that only grows."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, or_, select, update

from service.db.clock import server_time
from service.db.models import RunRow
from service.db.presence import there
from service.db.stalled_runs import end_stalled
from service.errors import ConflictError, LeaseLostError, NotFoundError
from service.ports import Clock
from service.timestamps import rfc3339

LeaseTime = Callable[[Connection, Clock], datetime]


def database_time(connection: Connection, clock: Clock) -> datetime:
    """The time that leases go by: that of PostgreSQL, however wrong the clocks of runners are.

    A SQLite file is of one machine: there it is the clock that is given.
    """
    if connection.dialect.name != "postgresql":
        return clock.now()
    return server_time(connection)


def take(
    connection: Connection, run_id: str, owner: str, now: datetime, lease_seconds: float, gone: Callable[[str], bool]
) -> int:
    """Take a lease that nobody else holds, or whose owner is gone; its owner may take it anew.

    Raises:
        NotFoundError: no such run.
        ConflictError: somebody else holds it.
    """
    end_stalled(connection)  # whoever held the run before may stand still with a lock on it
    # Locked, so that of two who come at once the later one sees the lease of the earlier.
    query = select(RunRow.lease_owner, RunRow.lease_expires_at).where(RunRow.id == run_id, there).with_for_update()
    held = connection.execute(query).one_or_none()
    if held is None:
        raise missing(run_id)
    free = or_(RunRow.lease_owner.is_(None), RunRow.lease_owner == owner, RunRow.lease_expires_at <= now)
    if held[0] is not None and gone(held[0]):
        free = or_(free, RunRow.lease_owner == held[0])
    statement = (
        update(RunRow)
        .where(RunRow.id == run_id, free)
        .values(lease_owner=owner, lease_expires_at=until(now, lease_seconds), fence=RunRow.fence + 1)
        .returning(RunRow.fence)
    )
    fence = connection.execute(statement).scalar()
    if fence is None:
        raise ConflictError(f"run {run_id} is driven by {held[0]}: wait for it to end, or until {held[1]:%H:%M:%S} UTC")
    return fence


def renew(
    connection: Connection,
    run_id: str,
    fence: int,
    now: datetime,
    lease_seconds: float,
    health: Mapping[str, Any] | None,
) -> str:
    """Extend a lease, note how the policies' servers fare, and return the state that people want the run in.

    Raises:
        LeaseLostError: another took it.
    """
    statement = (
        update(RunRow)
        .where(RunRow.id == run_id, RunRow.fence == fence, RunRow.lease_owner.is_not(None))
        .values(lease_expires_at=until(now, lease_seconds), policy_health=_noted(health, now))
        .returning(RunRow.desired_state)
    )
    desired = connection.execute(statement).scalar()
    if desired is None:
        raise lost(run_id)
    return desired


def release(connection: Connection, run_id: str, fence: int) -> None:
    """Give a lease back, unless another took it."""
    connection.execute(
        update(RunRow).where(RunRow.id == run_id, RunRow.fence == fence).values(lease_owner=None, lease_expires_at=None)
    )


def missing(run_id: str) -> NotFoundError:
    """The error of a run that is not there."""
    return NotFoundError(f"there is no run {run_id}: 'evolve runs' lists them")


def lost(run_id: str) -> LeaseLostError:
    """The error of a writer that no longer is the run's."""
    return LeaseLostError(f"run {run_id} was taken over by another runner: this one stops writing")


def _noted(health: Mapping[str, Any] | None, now: datetime) -> dict[str, Any] | None:
    return None if health is None else {"at": rfc3339(now), "policies": health}


def until(now: datetime, lease_seconds: float) -> datetime:
    """When a lease of so many seconds lapses."""
    return now + timedelta(seconds=lease_seconds)
