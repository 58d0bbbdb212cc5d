"""What tenants used: one row for each run and hour, written in the transaction of what was used.

A row is of one run, and a run has one writer, so that no commit waits for that of another run. Rows stay when their run
is deleted: what was used was used.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

from sqlalchemy import Connection, Executable, func, select
from sqlalchemy.dialects import postgresql, sqlite

from evolve.evaluation import Outcome
from service.db.account_models import UsageRow
from service.db.projection import Projection, Row
from service.db.row_mappers import AnySelect

HOUR = timedelta(hours=1)
KEYS = ("tenant", "hour", "run_id")
MEASURES = tuple(column.name for column in UsageRow.__table__.columns if column.name not in KEYS)
_LAST_HOUR = datetime.max.replace(tzinfo=UTC) - HOUR

Hours = Mapping[datetime, Row]


def hours_around(since: datetime, until: datetime) -> tuple[datetime, datetime]:
    """The whole hours, in UTC, that a span of time touches: their beginning and their end."""
    end = _hour(until)
    return _hour(since), end if end == until or end > _LAST_HOUR else end + HOUR


def used(projection: Projection) -> Hours:
    """What a batch of events used, by hour.

    Answers count by when they became candidates, tokens by when their proposal was answered, evaluations by when they
    were committed; cancelled ones were not used.
    """
    hours: dict[datetime, Row] = defaultdict(lambda: dict.fromkeys(MEASURES, 0))
    for proposal in projection.proposals.values():
        hours[_hour(proposal["created_at"])]["proposals"] += 1
    for answered in (*projection.proposals.values(), *projection.answers.values()):
        if answered["answered_at"] is not None:
            row = hours[_hour(answered["answered_at"])]
            for name in ("input", "cached", "output"):
                row[f"tokens_{name}"] += answered[f"tokens_{name}"] + answered[f"charged_{name}"]
    for candidate in projection.candidates.values():
        if candidate["proposal_number"] > 0:
            hours[_hour(candidate["created_at"])]["answers"] += 1
    for evaluation in projection.evaluations.values():
        if evaluation["outcome"] != Outcome.CANCELLED:
            row = hours[_hour(evaluation["at"])]
            row["evaluations"] += 1
            row["evaluation_seconds"] += evaluation["seconds"]
    return hours


def begun(at: datetime) -> Hours:
    """That a run was begun."""
    return {_hour(at): dict.fromkeys(MEASURES, 0) | {"runs": 1}}


def add_usage(connection: Connection, tenant: str, run_id: str, hours: Hours) -> None:
    """Add what a run used to its rows."""
    rows = [{"tenant": tenant, "hour": hour, "run_id": run_id, **row} for hour, row in sorted(hours.items())]
    if rows:
        connection.execute(_upsert(connection.dialect.name), rows)


def total(tenant: str, since: datetime, until: datetime, measures: Iterable[str] = MEASURES) -> AnySelect:
    """The statement that adds up what a tenant used in the hours from one on, and before another."""
    columns = [func.coalesce(func.sum(getattr(UsageRow, name)), 0).label(name) for name in measures]
    return select(*columns).where(UsageRow.tenant == tenant, UsageRow.hour >= since, UsageRow.hour < until)


def _hour(at: datetime) -> datetime:
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


@cache
def _upsert(dialect: str) -> Executable:
    insert: Any = postgresql.insert if dialect == "postgresql" else sqlite.insert
    statement = insert(UsageRow)
    changes = {name: getattr(UsageRow, name) + statement.excluded[name] for name in MEASURES}
    statement = statement.on_conflict_do_update(index_elements=KEYS, set_=changes)
    return statement  # type: ignore[no-any-return]  # the two dialects share no type
