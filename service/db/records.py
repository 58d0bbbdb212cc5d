"""Records of runs and candidates, each kind read by a fixed number of statements."""

import itertools
from collections.abc import Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from sqlalchemy import Connection, RowMapping, bindparam, func, select
from sqlalchemy.orm import aliased

from evolve.evaluation import signed_scores
from evolve.views.candidate_view import CandidateView
from service.db.identifiers import chunks
from service.db.models import (
    CandidateRow,
    CandidateViewRow,
    EvaluationRow,
    MembershipRow,
    ParentRow,
    ProblemRow,
    ProposalRow,
    RunRow,
)
from service.db.row_mappers import AnySelect
from service.db.scope import EVERYBODY, TenantScope
from service.db.totals import COUNTERS
from service.ports import (
    CandidateRecord,
    Counters,
    EvaluationRecord,
    FrontMember,
    MembershipRecord,
    ParentEdge,
    PolicyHealth,
    RunRecord,
)
from service.ports.shared_fields import for_record
from service.projections.candidates import read_objectives

_SEED = aliased(CandidateRow)
_NOWHERE: Mapping[str, Any] = MappingProxyType({})  # of a query without parameters
_SEEN = tuple(name for name in PolicyHealth.__slots__ if name not in {"run_id", "policy", "at"})
_SEED_FITNESS = (
    select(func.max(_SEED.fitness))
    .where(_SEED.run_id == RunRow.id, _SEED.proposal_number == 0)
    .correlate(RunRow)
    .scalar_subquery()
)

RUNS: AnySelect = select(
    *RunRow.__table__.c,
    ProblemRow.name.label("problem_name"),
    ProblemRow.bundle_hash,
    _SEED_FITNESS.label("seed_fitness"),
).join(ProblemRow, ProblemRow.id == RunRow.problem_id)

CANDIDATES: AnySelect = (
    select(
        *CandidateRow.__table__.c,
        ProposalRow.operator,
        ProposalRow.policy,
        EvaluationRow.outcome,
        EvaluationRow.reason.label("complaint"),
        EvaluationRow.scores,
        EvaluationRow.measures,
        EvaluationRow.grid_measures,
        EvaluationRow.cases,
        EvaluationRow.spread,
        EvaluationRow.repeats,
        EvaluationRow.feedback,
        EvaluationRow.seconds,
        EvaluationRow.isolation,
        EvaluationRow.answer,
        CandidateViewRow.media_type.label("view_type"),
        CandidateViewRow.reason.label("view_reason"),
    )
    .outerjoin(
        ProposalRow, (ProposalRow.run_id == CandidateRow.run_id) & (ProposalRow.number == CandidateRow.proposal_number)
    )
    .outerjoin(
        EvaluationRow,
        (EvaluationRow.candidate_id == CandidateRow.id) & (EvaluationRow.attempt == CandidateRow.attempt),
    )
    .outerjoin(
        CandidateViewRow,
        (CandidateViewRow.candidate_id == CandidateRow.id) & (CandidateViewRow.attempt == CandidateRow.attempt),
    )
)


_ISLANDS = (
    select(MembershipRow.candidate_id, MembershipRow.island)
    .where(MembershipRow.candidate_id.in_(bindparam("ids", expanding=True)), MembershipRow.until.is_(None))
    .order_by(MembershipRow.candidate_id, MembershipRow.island)
)
_KEPT_SCOPES = 256  # each with its statements, which take longer to build than to run


@lru_cache(maxsize=_KEPT_SCOPES)
def _run_named(scope: TenantScope) -> AnySelect:
    return RUNS.where(RunRow.id == bindparam("run"), scope.named())


@lru_cache(maxsize=_KEPT_SCOPES)
def _candidates_named(scope: TenantScope) -> AnySelect:
    named = CandidateRow.id.in_(bindparam("ids", expanding=True))
    return CANDIDATES.where(scope.under(CandidateRow.run_id), named)


@lru_cache(maxsize=_KEPT_SCOPES)
def _parents_named(scope: TenantScope) -> AnySelect:
    named = ParentRow.candidate_id.in_(bindparam("ids", expanding=True))
    return (
        select(ParentRow.candidate_id, ParentRow.parent_id, ParentRow.role)
        .where(named, scope.holds(ParentRow.parent_id))
        .order_by(ParentRow.candidate_id, ParentRow.place)
    )


def run(connection: Connection, run_id: str, scope: TenantScope) -> RunRecord | None:
    """A run by its whole id; None: it is not in the scope."""
    return next(iter(runs(connection, _run_named(scope), {"run": run_id})), None)


def runs(connection: Connection, query: AnySelect, place: Mapping[str, Any] = _NOWHERE) -> list[RunRecord]:
    """The runs that a query made of `RUNS` selects, with its parameters."""
    return [_run(row) for row in _rows(connection, query, place)]


def candidates(
    connection: Connection,
    query: AnySelect,
    scope: TenantScope = EVERYBODY,
    place: Mapping[str, Any] = _NOWHERE,
) -> list[CandidateRecord]:
    """The candidates that a query made of `CANDIDATES` selects, with its parameters.

    The query sees to it that they are in the scope.
    """
    rows = _rows(connection, query, place)
    ids = [row["id"] for row in rows]
    parents, islands = _parents(connection, ids, scope), _islands(connection, ids)
    return [_candidate(row, parents.get(row["id"], []), islands.get(row["id"], [])) for row in rows]


def candidates_of(connection: Connection, ids: Sequence[str], scope: TenantScope = EVERYBODY) -> list[CandidateRecord]:
    """Candidates by their ids, in that order; those that are not in the scope are left out."""
    found: dict[str, CandidateRecord] = {}
    for chunk in chunks(ids):
        for record in candidates(connection, _candidates_named(scope), scope, {"ids": chunk}):
            found[record.id] = record
    return [found[candidate_id] for candidate_id in ids if candidate_id in found]


def evaluations(connection: Connection, candidate_id: str) -> list[EvaluationRecord]:
    """All attempts at scoring a candidate, the first one first."""
    query = (
        select(*EvaluationRow.__table__.c)
        .where(EvaluationRow.candidate_id == candidate_id)
        .order_by(EvaluationRow.attempt)
    )
    return [_evaluation(row) for row in connection.execute(query).mappings()]


def undominated(connection: Connection, run_id: str) -> list[FrontMember]:
    """Evaluated candidates of a run whose scores no other dominates, by fitness; ties by age."""
    import numpy as np

    from evolve.multiobjective.pareto import front

    attempt = (EvaluationRow.candidate_id == CandidateRow.id) & (EvaluationRow.attempt == CandidateRow.attempt)
    query = (
        select(
            CandidateRow.id, CandidateRow.proposal_number, CandidateRow.position, CandidateRow.fitness,
            CandidateRow.rewards, EvaluationRow.scores,
        )
        .join(EvaluationRow, attempt)
        .where(CandidateRow.run_id == run_id, CandidateRow.fitness.is_not(None))
        .order_by(CandidateRow.fitness.desc(), CandidateRow.proposal_number, CandidateRow.position)
    )  # fmt: skip
    stored = connection.execute(select(RunRow.objectives).where(RunRow.id == run_id)).scalar_one()
    rows = [row for row in connection.execute(query) if row.rewards]
    if not rows:
        return []
    objectives = read_objectives(stored)
    points = np.array([signed_scores(objectives, row.scores, row.fitness) for row in rows], dtype=np.float64)
    return list(itertools.compress([FrontMember(*row[:5]) for row in rows], front(points)))


def memberships(connection: Connection, run_id: str, island: int | None) -> list[MembershipRecord]:
    """Who is in the archives of a run now, by island, the fittest first, then the oldest."""
    query = (
        select(
            MembershipRow.candidate_id,
            MembershipRow.island,
            MembershipRow.since,
            MembershipRow.until,
            CandidateRow.fitness,
        )
        .join(CandidateRow, CandidateRow.id == MembershipRow.candidate_id)
        .where(MembershipRow.run_id == run_id, MembershipRow.until.is_(None))
        .order_by(
            MembershipRow.island,
            CandidateRow.fitness.desc().nulls_last(),
            CandidateRow.proposal_number,
            CandidateRow.position,
        )
    )
    if island is not None:
        query = query.where(MembershipRow.island == island)
    return [MembershipRecord(**row) for row in connection.execute(query).mappings()]


def view(connection: Connection, candidate_id: str) -> CandidateView | None:
    """What a candidate looks like, by its whole id: the view of the evaluation that counts."""
    query = (
        select(CandidateViewRow.media_type, CandidateViewRow.content, CandidateViewRow.reason)
        .join(CandidateRow, CandidateRow.id == CandidateViewRow.candidate_id)
        .where(CandidateViewRow.candidate_id == candidate_id, CandidateViewRow.attempt == CandidateRow.attempt)
    )
    row = connection.execute(query).mappings().first()
    return None if row is None else CandidateView(**row)


def _parents(connection: Connection, ids: Sequence[str], scope: TenantScope) -> dict[str, list[ParentEdge]]:
    edges: dict[str, list[ParentEdge]] = {}
    for chunk in chunks(ids):
        for candidate_id, parent_id, role in connection.execute(_parents_named(scope), {"ids": chunk}).all():
            edges.setdefault(candidate_id, []).append(ParentEdge(candidate_id=parent_id, role=role))
    return edges


def _islands(connection: Connection, ids: Sequence[str]) -> dict[str, list[int]]:
    islands: dict[str, list[int]] = {}
    for chunk in chunks(ids):
        for candidate_id, island in connection.execute(_ISLANDS, {"ids": chunk}).all():
            islands.setdefault(candidate_id, []).append(island)
    return islands


def _rows(connection: Connection, query: AnySelect, place: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Rows as dicts, whose columns are found faster than those of the rows of SQLAlchemy."""
    found = connection.execute(query, place)
    names = tuple(found.keys())
    return [dict(zip(names, row, strict=True)) for row in found.all()]


def _candidate(row: Mapping[str, Any], parents: Sequence[ParentEdge], islands: Sequence[int]) -> CandidateRecord:
    on_demand = row["view_type"] == "" and not row["view_reason"]
    repeated = f"the same program as {row['duplicate_of']}" if row["duplicate_of"] else ""
    return CandidateRecord(
        **for_record(
            row,
            CandidateRecord,
            operator=row["operator"] or "seed",
            policy=row["policy"] or "",
            reason=row["complaint"] or row["reason"] or repeated,
            parents=parents,
            islands=islands,
            scores=row["scores"] or {},
            measures={**(row["measures"] or {}), **(row["grid_measures"] or {})},
            cases=row["cases"] or {},
            spread=row["spread"] or {},
            repeats=row["repeats"] or 0,
            feedback=row["feedback"] or "",
            isolation=row["isolation"] or "",
            view_type=None if on_demand else row["view_type"],
            view_reason=row["view_reason"] or "",
            view_on_demand=on_demand,
        )
    )


def _run(row: Mapping[str, Any]) -> RunRecord:
    failed, waiting = row["state"] == "failed", row["waiting"]
    return RunRecord(
        **for_record(
            row,
            RunRecord,
            waiting=None if failed else waiting,
            failure=str((waiting or {}).get("detail", "")) if failed else "",
            counters=Counters(**{name: row[name] for name in COUNTERS}),
            batch_id=row["batch_id"] or "",
            fork_of=row["fork_of"] or "",
        )
    )


def health(run_id: str, noted: Mapping[str, Any]) -> list[PolicyHealth]:
    """How the servers of policies fare, as it was noted with a lease."""
    at = datetime.fromisoformat(noted["at"])
    return [
        # a later version may note more
        PolicyHealth(run_id=run_id, policy=name, at=at, **{key: seen[key] for key in _SEEN if key in seen})
        for name, seen in noted.get("policies", {}).items()
    ]


def _evaluation(row: RowMapping) -> EvaluationRecord:
    measures = {**row["measures"], **row["grid_measures"]}
    return EvaluationRecord(**for_record(row, EvaluationRecord, measures=measures))
