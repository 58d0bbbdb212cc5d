"""How the answers of a run ended, counted by the database: a row an outcome and reason, not a candidate."""

from collections import Counter

from sqlalchemy import Connection, Row, Select, String, func, literal, select

from evolve.evaluation import Outcome
from service.db.models import CandidateRow, EvaluationRow, ProposalRow
from service.ports import OutcomeCount

REASON_CHARACTERS = 300
UNREADABLE, UNANSWERED = "unreadable", "unanswered"
_UNEVALUATED = ("rejected", "duplicate")


def outcomes(connection: Connection, run_id: str) -> list[OutcomeCount]:
    """How the answers of a run ended, the most frequent end first.

    Args:
        connection: in a transaction.
        run_id: whole.
    """
    queries = (_evaluated(run_id), _not_evaluated(run_id), _unanswered(run_id))
    found = [_count(row) for query in queries for row in connection.execute(query)]
    return sorted([*found, *_unreadable(connection, run_id)], key=lambda one: (-one.times, one.outcome, one.reason))


def _evaluated(run_id: str) -> Select[str, str, int, float]:
    """Of the latest evaluation of each candidate."""
    reason = func.substr(EvaluationRow.reason, 1, REASON_CHARACTERS, type_=String)
    latest = (EvaluationRow.candidate_id == CandidateRow.id) & (EvaluationRow.attempt == CandidateRow.attempt)
    return (
        select(EvaluationRow.outcome, reason, func.count(), func.coalesce(func.sum(EvaluationRow.seconds), 0.0))
        .select_from(CandidateRow)
        .join(EvaluationRow, latest)
        .where(CandidateRow.run_id == run_id, EvaluationRow.outcome != str(Outcome.CANCELLED))
        .group_by(EvaluationRow.outcome, reason)
    )


def _not_evaluated(run_id: str) -> Select[str, str, int, float]:
    reason = func.substr(CandidateRow.reason, 1, REASON_CHARACTERS, type_=String)
    return (
        select(CandidateRow.status, reason, func.count(), literal(0.0))
        .where(CandidateRow.run_id == run_id, CandidateRow.status.in_(_UNEVALUATED))
        .group_by(CandidateRow.status, reason)
    )


def _unanswered(run_id: str) -> Select[str, str, int, float]:
    reason = func.substr(ProposalRow.reason, 1, REASON_CHARACTERS, type_=String)
    return (
        select(literal(UNANSWERED), reason, func.count(), literal(0.0))
        .where(ProposalRow.run_id == run_id, ProposalRow.state == "failed")
        .group_by(reason)
    )


def _unreadable(connection: Connection, run_id: str) -> list[OutcomeCount]:
    """Of the parts of completions in which no answer was read; a proposal holds them as one JSON value."""
    rows = connection.execute(select(ProposalRow.dropped).where(ProposalRow.run_id == run_id)).scalars()
    reasons = Counter(str(entry.get("reason", ""))[:REASON_CHARACTERS] for dropped in rows for entry in dropped)
    return [OutcomeCount(UNREADABLE, reason, count, 0.0) for reason, count in reasons.items()]


def _count(row: Row[str, str, int, float]) -> OutcomeCount:
    outcome, reason, count, seconds = row
    return OutcomeCount(outcome, reason, int(count), float(seconds))
