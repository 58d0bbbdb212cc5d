"""Continuing a run that has ended: the events that say so, and the extension that came just before its end."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select, update

from evolve.errors import ConfigurationError
from evolve.event_types import BudgetExtended, RunContinued
from evolve.events import Event
from service.db import records
from service.db.commits import commit
from service.db.models import RunRow
from service.db.totals import FOLDED
from service.ports import CANCELLED, Clock, LoggedEvent, RunRecord
from service.projections.continuation import refusal

CONTINUED = frozenset({"succeeded", "failed"})
_SUCCEEDED = "succeeded"


def continue_run(
    connection: Connection, clock: Clock, tenant: str, record: RunRecord, budget: Mapping[str, Any], by: str
) -> None:
    """Write that a run goes on, with new values of its budget.

    Args:
        connection: within a transaction that has the run's row locked.
        clock: gives the events their time.
        tenant: of the run.
        record: the run as it has ended.
        budget: keys of the budget with the values that they get.
        by: who wants it.
    """
    before = dict(connection.execute(select(*FOLDED).where(RunRow.id == record.id)).mappings().one())
    old = record.config.get("budget", {})
    events = [Event(RunContinued(by=by, after=record.reason))]
    events += [Event(BudgetExtended(key=key, from_=old.get(key), to=value, by=by)) for key, value in budget.items()]
    now = clock.now()
    logged = [
        LoggedEvent(run_id=record.id, sequence=place, at=now, event=event)
        for place, event in enumerate(events, start=before["sequence"] + 1)
    ]
    commit(connection, tenant, record.id, before, logged)


def continue_as_wanted(connection: Connection, clock: Clock, tenant: str, run_id: str) -> None:
    """Continue a run that ends now with the budget that was wanted of it before, if its runner has not heard of that.

    The API has accepted it. A moment later it would have continued the run itself.
    """
    query = select(RunRow.desired_budget, RunRow.desired_by, RunRow.desired_state).where(RunRow.id == run_id)
    budget, by, desired_state = connection.execute(query).one()
    if not budget or desired_state == CANCELLED:
        return
    record = records.runs(connection, records.RUNS.where(RunRow.id == run_id))[0]
    if record.state != _SUCCEEDED or _refused(record, budget):
        return
    continue_run(connection, clock, tenant, record, budget, by or "")
    connection.execute(
        update(RunRow).where(RunRow.id == run_id).values(desired_budget={}, revision=RunRow.revision + 1)
    )


def _refused(record: RunRecord, budget: Mapping[str, Any]) -> bool:
    try:
        return bool(refusal(record, budget))
    except ConfigurationError:
        return True
