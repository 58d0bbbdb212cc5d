"""Quotas and usage of tenants on a database."""

from datetime import datetime
from typing import Any

from sqlalchemy import ColumnElement, and_, func, select, update

from service.db.columns import is_id
from service.db.engine import Database
from service.db.models import CandidateRow, EvaluationRow, ProposalRow, RunRow, Tenant
from service.db.rebuild import AnySelect
from service.errors import NotFoundError
from service.ports import ENDED, Quotas, UsageRecord


class SqlAccounts:
    """The port Accounts on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def quotas(self, tenant: str) -> Quotas:
        """The limits of a tenant.

        Raises:
            NotFoundError: no such tenant.
        """
        with self._database.read() as connection:
            stored = connection.execute(select(Tenant.quotas).where(is_id(Tenant.id, tenant))).scalar()
        if stored is None:
            raise _missing(tenant)
        return Quotas(**{name: stored.get(name) for name in Quotas.__slots__})

    def hold(self, tenant: str) -> None:
        """Let nobody else count a tenant's usage in order to add to it, until the unit under way ends.

        Raises:
            NotFoundError: no such tenant.
        """
        held = select(Tenant.id).where(is_id(Tenant.id, tenant)).with_for_update(key_share=True)
        with self._database.write() as connection:
            if connection.execute(held).scalar() is None:
                raise _missing(tenant)

    def set_quotas(self, tenant: str, quotas: Quotas) -> None:
        """Set them.

        Raises:
            NotFoundError: no such tenant.
        """
        statement = update(Tenant).where(is_id(Tenant.id, tenant)).values(quotas=quotas.as_json())
        with self._database.write() as connection:
            if connection.execute(statement).rowcount != 1:
                raise _missing(tenant)

    def usage(self, tenant: str, since: datetime, until: datetime) -> UsageRecord:
        """What was used from `since` until before `until`, by the times of creation, answer and evaluation.

        Answers count by when they became candidates, cancelled evaluations do not; active are the runs that have not
        ended by now.
        """
        found: dict[str, Any] = {}
        with self._database.read() as connection:
            for query in _sums(tenant, since, until):
                found |= connection.execute(query).mappings().one()
        seconds = float(found.pop("evaluation_seconds"))
        counts = {name: int(value) for name, value in found.items()}  # PostgreSQL adds integers up to decimals
        return UsageRecord(tenant=tenant, since=since, until=until, evaluation_seconds=seconds, **counts)


def _sums(tenant: str, since: datetime, until: datetime) -> list[AnySelect]:
    mine = RunRow.tenant == tenant
    # What lies in the span is of runs that were there in it: the others' rows need not be looked through.
    alive = and_(mine, RunRow.created_at < until, RunRow.last_at >= since)

    def within(column: Any) -> ColumnElement[bool]:
        return and_(column >= since, column < until)

    answered = (
        select(
            *(
                func.coalesce(func.sum(own + charged), 0).label(own.key)
                for own, charged in (
                    (ProposalRow.tokens_input, ProposalRow.charged_input),
                    (ProposalRow.tokens_cached, ProposalRow.charged_cached),
                    (ProposalRow.tokens_output, ProposalRow.charged_output),
                )
            )
        )
        .join(RunRow, RunRow.id == ProposalRow.run_id)
        .where(alive, within(ProposalRow.answered_at))
    )
    evaluated = (
        select(
            func.count().label("evaluations"),
            func.coalesce(func.sum(EvaluationRow.seconds), 0.0).label("evaluation_seconds"),
        )
        .join(CandidateRow, CandidateRow.id == EvaluationRow.candidate_id)
        .join(RunRow, RunRow.id == CandidateRow.run_id)
        .where(alive, within(EvaluationRow.at), EvaluationRow.outcome != "cancelled")
    )
    return [
        select(func.count().label("runs")).where(mine, within(RunRow.created_at)),
        select(func.count().label("active_runs")).where(mine, RunRow.state.not_in(ENDED)),
        select(func.count().label("proposals"))
        .join_from(ProposalRow, RunRow, RunRow.id == ProposalRow.run_id)
        .where(alive, within(ProposalRow.created_at)),
        select(func.count().label("answers"))
        .join_from(CandidateRow, RunRow, RunRow.id == CandidateRow.run_id)
        .where(alive, CandidateRow.number > 0, within(CandidateRow.created_at)),
        answered,
        evaluated,
    ]


def _missing(tenant: str) -> NotFoundError:
    return NotFoundError(f"there is no tenant {tenant[:60]!r}")
