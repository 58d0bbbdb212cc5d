"""Committing events of a run with what they project, in a transaction of the caller's."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, func, select, update

from service.db import changes, leases
from service.db.models import RunRow
from service.db.projection import Projection
from service.db.statements import write, write_totals
from service.db.totals import FOLDED, fold
from service.db.usage import add_usage, used
from service.db.webhooks import announce
from service.ports import LoggedEvent

_HELD = select(RunRow.tenant, RunRow.fence, *FOLDED).where(RunRow.id == bindparam("of_run")).with_for_update()
# PostgreSQL keeps the plans of foreign keys and of prepared statements. While a table is nearly empty, a sequential
# scan is the cheapest, and the kept plan then reads the whole table for each row until the table is analyzed again.
# All statements of a commit name keys, so their transactions plan without such scans. A column spares a statement.
_INDEXED = "indexed"
_HELD_BY_INDEX = _HELD.add_columns(func.set_config("enable_seqscan", "off", True).label(_INDEXED))


def held(connection: Connection, run_id: str, fence: int) -> tuple[str, dict[str, Any]]:
    """The run's tenant and totals, locked until the transaction ends.

    Raises:
        LeaseLostError: the fencing token is no longer the run's.
    """
    is_postgres = connection.dialect.name == "postgresql"
    row = connection.execute(_HELD_BY_INDEX if is_postgres else _HELD, {"of_run": run_id}).mappings().one_or_none()
    if row is None:
        raise leases.missing(run_id)
    found = {name: value for name, value in row.items() if name != _INDEXED}
    if found.pop("fence") != fence:
        raise leases.lost(run_id)
    return found.pop("tenant"), found


def commit(
    connection: Connection,
    tenant: str,
    run_id: str,
    before: Mapping[str, Any],
    events: Sequence[LoggedEvent],
    *,
    fresh: bool = False,
) -> None:
    """Write events that follow the last one, and what they project.

    Args:
        connection: within a transaction.
        tenant: of the run, whose usage is added to.
        run_id: of the run.
        before: the run's totals before them.
        events: in order.
        fresh: whether the database holds nothing of what they tell, except for texts and programs.

    Raises:
        IntegrityError: it does, although they are said to be fresh, or they tell of what the run does not have.
    """
    projection = Projection.of(run_id, events)
    write(connection, projection, fresh=fresh)
    write_totals(connection, run_id, fold(before, events))
    if projection.budget:
        _extend(connection, run_id, projection.budget)
    if projection.changes:
        changes.forget(connection, run_id, projection.changes)
    announce(connection, run_id, events)
    add_usage(connection, tenant, run_id, used(projection))


def _extend(connection: Connection, run_id: str, budget: Mapping[str, Any]) -> None:
    """Write what the budget is now; what is wanted of it and was not taken up stays wanted."""
    query = select(RunRow.config, RunRow.desired_budget).where(RunRow.id == run_id)
    config, wanted = connection.execute(query).one()
    extended = {**config, "budget": {**config.get("budget", {}), **budget}}
    left = {key: value for key, value in wanted.items() if key not in budget or budget[key] != value}
    connection.execute(update(RunRow).where(RunRow.id == run_id).values(config=extended, desired_budget=left))
