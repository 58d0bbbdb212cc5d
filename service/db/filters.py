"""Which runs and candidates: the filters of the port as conditions of statements."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import ColumnElement, Connection, String, func, or_, select

from service.db.identifiers import wellformed
from service.db.models import CandidateRow, EvaluationRow, ProblemRow, ProposalRow, RunRow
from service.db.outcomes import REASON_CHARACTERS
from service.db.row_mappers import AnySelect
from service.ports import CandidateFilter, RunFilter

SEED = "seed"  # no proposal made it


def of_runs(only: RunFilter) -> list[ColumnElement[bool]]:
    """Conditions on a statement over runs joined with their problems; labels are not among them."""
    conditions: list[ColumnElement[bool]] = []
    if only.states:
        conditions.append(RunRow.state.in_(only.states))
    if only.problem:
        conditions.append(ProblemRow.name == only.problem)
    if only.batch_id:
        conditions.append(RunRow.batch_id.in_(wellformed([only.batch_id])))
    if only.created_by:
        conditions.append(RunRow.created_by == only.created_by)
    if only.created_after:
        conditions.append(RunRow.created_at >= only.created_after)
    if only.created_before:
        conditions.append(RunRow.created_at < only.created_before)
    return conditions


def labelled(connection: Connection, query: AnySelect, labels: Mapping[str, str], limit: int | None) -> list[str]:
    """Ids of the runs, of those that a query selects, that have all of these labels.

    They are compared here: the two databases disagree about what they look up in JSON, and about what they refuse to.
    """
    wanted, found = labels.items(), list[str]()
    every = query.with_only_columns(RunRow.id, RunRow.labels, maintain_column_froms=True).limit(None)
    rows = connection.execute(every)
    for run_id, labels_of_run in rows:
        if limit is not None and len(found) >= limit:
            break
        if wanted <= labels_of_run.items():
            found.append(run_id)
    rows.close()
    return found


def of_candidates(only: CandidateFilter) -> list[ColumnElement[bool]]:
    """Conditions on a statement over candidates joined with their proposals and latest evaluations."""
    conditions: list[ColumnElement[bool]] = []
    if only.status:
        conditions.append(CandidateRow.status == only.status)
    if only.outcome:
        conditions.append(EvaluationRow.outcome == only.outcome)
    if only.island is not None:
        conditions.append(CandidateRow.island == only.island)
    if only.operator:
        operator = ProposalRow.operator
        conditions.append(
            or_(operator == SEED, operator.is_(None)) if only.operator == SEED else operator == only.operator
        )
    if only.policy:
        conditions.append(ProposalRow.policy == only.policy)
    if only.proposal_number is not None:
        conditions.append(CandidateRow.proposal_number == only.proposal_number)
    if only.reasons is not None:
        reason = func.coalesce(EvaluationRow.reason, CandidateRow.reason)
        conditions.append(func.substr(reason, 1, REASON_CHARACTERS, type_=String).in_(only.reasons))
    return conditions


def counted(run_id: str, only: CandidateFilter) -> AnySelect:
    """How many candidates of a run."""
    return narrow(run_id, only, func.count())


def narrow(run_id: str, only: CandidateFilter, *columns: Any) -> AnySelect:
    """Columns of candidates of a run; joined only with what the filter asks about."""
    query = select(*columns).select_from(CandidateRow)
    if only.operator or only.policy:
        query = query.outerjoin(
            ProposalRow,
            (ProposalRow.run_id == CandidateRow.run_id) & (ProposalRow.number == CandidateRow.proposal_number),
        )
    if only.outcome or only.reasons is not None:
        query = query.outerjoin(
            EvaluationRow,
            (EvaluationRow.candidate_id == CandidateRow.id) & (EvaluationRow.attempt == CandidateRow.attempt),
        )
    return query.where(CandidateRow.run_id == run_id, *of_candidates(only))
