"""What workers evaluated of late and what they are to evaluate, over all tenants."""

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import func, literal, select

from evolve.identity import evaluation_id
from service.db.account_models import ReevaluationRow
from service.db.engine import Database
from service.db.models import CandidateRow, EvaluationRow, RunRow
from service.db.presence import there
from service.db.reader import LIVE
from service.ports import WorkerEvaluationRecord

_UNDER_WAY = ("pending", "evaluating")


class SqlEvaluationRecords:
    """The port EvaluationRecords on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def done(self, since: datetime, limit: int) -> Sequence[WorkerEvaluationRecord]:
        """Those that workers ended since a time, the latest first."""
        query = (
            select(
                RunRow.tenant,
                CandidateRow.run_id,
                EvaluationRow.candidate_id,
                EvaluationRow.attempt,
                EvaluationRow.worker,
                EvaluationRow.outcome,
                EvaluationRow.seconds,
                EvaluationRow.at.label("ended_at"),
            )
            .join(CandidateRow, CandidateRow.id == EvaluationRow.candidate_id)
            .join(RunRow, RunRow.id == CandidateRow.run_id)
            .where(EvaluationRow.at >= since, EvaluationRow.worker != "", there)
            .order_by(EvaluationRow.at.desc())
            .limit(limit)
        )
        with self._database.read() as connection:
            return [WorkerEvaluationRecord(**row) for row in connection.execute(query).mappings()]

    def wanted(self, evaluation_ids: Collection[str]) -> dict[str, WorkerEvaluationRecord]:
        """Those of some ids that are to be done, by id; others are left out.

        An id is that of a candidate and an attempt, digested: what is under way is digested until all are found.
        """
        candidate = CandidateRow.run_id, CandidateRow.id.label("candidate_id"), RunRow.tenant
        first = (
            select(*candidate, literal(1).label("attempt"))
            .join(RunRow, RunRow.id == CandidateRow.run_id)
            .where(RunRow.state.in_(LIVE), CandidateRow.fitness.is_(None), CandidateRow.status.in_(_UNDER_WAY))
        )
        last = select(func.max(EvaluationRow.attempt)).where(EvaluationRow.candidate_id == CandidateRow.id)
        again = (
            select(*candidate, (func.coalesce(last.scalar_subquery(), 0) + 1).label("attempt"))
            .join(ReevaluationRow, ReevaluationRow.candidate_id == CandidateRow.id)
            .join(RunRow, RunRow.id == CandidateRow.run_id)
        )
        found: dict[str, WorkerEvaluationRecord] = {}
        with self._database.read() as connection:
            for query in (first, again):
                for row in connection.execute(query).mappings():
                    named = evaluation_id(row["candidate_id"], row["attempt"])
                    if named in evaluation_ids:
                        found[named] = WorkerEvaluationRecord(**row)
        return found
