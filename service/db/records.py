"""Records of runs, candidates and proposals, each kind read by a fixed number of statements."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, RowMapping, func, select
from sqlalchemy.orm import aliased

from service.db.models import (
    CandidateRow,
    EvaluationRow,
    MembershipRow,
    ParentRow,
    ProblemRow,
    ProposalRow,
    RunRow,
    TextRow,
)
from service.db.rebuild import AnySelect, chunks
from service.db.totals import COUNTERS
from service.ports import CandidateRecord, Counters, ParentEdge, ProposalRecord, RunRecord

_SEED = aliased(CandidateRow)
_SEED_FITNESS = (
    select(func.max(_SEED.fitness))
    .where(_SEED.run_id == RunRow.id, _SEED.number == 0)
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
        CandidateRow.id,
        CandidateRow.run_id,
        CandidateRow.number,
        CandidateRow.position,
        CandidateRow.island,
        CandidateRow.status,
        CandidateRow.reason,
        CandidateRow.program_id,
        CandidateRow.duplicate_of,
        CandidateRow.fitness,
        CandidateRow.created_at,
        CandidateRow.evaluated_at,
        ProposalRow.operator,
        ProposalRow.policy,
        EvaluationRow.outcome,
        EvaluationRow.reason.label("complaint"),
        EvaluationRow.scores,
        EvaluationRow.measures,
        EvaluationRow.descriptor,
        EvaluationRow.cases,
        EvaluationRow.spread,
        EvaluationRow.feedback,
        EvaluationRow.seconds,
        EvaluationRow.isolation,
    )
    .outerjoin(ProposalRow, (ProposalRow.run_id == CandidateRow.run_id) & (ProposalRow.number == CandidateRow.number))
    .outerjoin(
        EvaluationRow,
        (EvaluationRow.candidate_id == CandidateRow.id) & (EvaluationRow.attempt == CandidateRow.attempt),
    )
)


def runs(connection: Connection, query: AnySelect) -> list[RunRecord]:
    """The runs that a query made of `RUNS` selects."""
    return [_run(row) for row in connection.execute(query).mappings()]


def candidates(connection: Connection, query: AnySelect) -> list[CandidateRecord]:
    """The candidates that a query made of `CANDIDATES` selects."""
    rows = connection.execute(query).mappings().all()
    ids = [row["id"] for row in rows]
    parents, islands = _parents(connection, ids), _islands(connection, ids)
    return [_candidate(row, parents.get(row["id"], []), islands.get(row["id"], [])) for row in rows]


def candidates_of(connection: Connection, ids: Sequence[str]) -> list[CandidateRecord]:
    """Candidates by their ids, in that order."""
    found: dict[str, CandidateRecord] = {}
    for chunk in chunks(ids):
        found |= {record.id: record for record in candidates(connection, CANDIDATES.where(CandidateRow.id.in_(chunk)))}
    return [found[candidate_id] for candidate_id in ids]


def proposal(connection: Connection, run_id: str, number: int) -> ProposalRecord | None:
    """A proposal with its texts, None if there is none."""
    query = select(*ProposalRow.__table__.c).where(ProposalRow.run_id == run_id, ProposalRow.number == number)
    row = connection.execute(query).mappings().one_or_none()
    if row is None:
        return None
    wanted = [part for message in row["prompt"] for part in message["parts"]]
    texts: dict[str, str] = {}
    for chunk in chunks(wanted):
        found = connection.execute(select(TextRow.hash, TextRow.body).where(TextRow.hash.in_(chunk)))
        texts |= {row.hash: row.body for row in found}
    return _proposal(row, texts)


def _parents(connection: Connection, ids: Sequence[str]) -> dict[str, list[ParentEdge]]:
    edges: dict[str, list[ParentEdge]] = {}
    for chunk in chunks(ids):
        query = (
            select(ParentRow.candidate_id, ParentRow.parent_id, ParentRow.role)
            .where(ParentRow.candidate_id.in_(chunk))
            .order_by(ParentRow.candidate_id, ParentRow.place)
        )
        for candidate_id, parent_id, role in connection.execute(query):
            edges.setdefault(candidate_id, []).append(ParentEdge(candidate_id=parent_id, role=role))
    return edges


def _islands(connection: Connection, ids: Sequence[str]) -> dict[str, list[int]]:
    islands: dict[str, list[int]] = {}
    for chunk in chunks(ids):
        query = (
            select(MembershipRow.candidate_id, MembershipRow.island)
            .where(MembershipRow.candidate_id.in_(chunk), MembershipRow.until.is_(None))
            .order_by(MembershipRow.candidate_id, MembershipRow.island)
        )
        for candidate_id, island in connection.execute(query):
            islands.setdefault(candidate_id, []).append(island)
    return islands


def _candidate(row: RowMapping, parents: Sequence[ParentEdge], islands: Sequence[int]) -> CandidateRecord:
    repeated = f"the same program as {row['duplicate_of']}" if row["duplicate_of"] else ""
    return CandidateRecord(
        id=row["id"],
        run_id=row["run_id"],
        number=row["number"],
        position=row["position"],
        island=row["island"],
        operator=row["operator"] or "seed",
        policy=row["policy"] or "",
        status=row["status"],
        reason=row["complaint"] or row["reason"] or repeated,
        program_id=row["program_id"],
        parents=parents,
        outcome=row["outcome"],
        fitness=row["fitness"],
        scores=row["scores"] or {},
        measures={**(row["measures"] or {}), **(row["descriptor"] or {})},
        cases=row["cases"] or {},
        spread=row["spread"] or {},
        feedback=row["feedback"] or "",
        seconds=row["seconds"],
        isolation=row["isolation"] or "",
        islands=islands,
        created_at=row["created_at"],
        evaluated_at=row["evaluated_at"],
    )


def _run(row: RowMapping) -> RunRecord:
    return RunRecord(
        id=row["id"],
        tenant=row["tenant"],
        problem_name=row["problem_name"],
        bundle_hash=row["bundle_hash"],
        state=row["state"],
        desired_state=row["desired_state"],
        waiting=row["waiting"],
        reason=row["reason"],
        config=row["config"],
        policies=row["policies"],
        seed=row["seed"],
        integrity=row["integrity"],
        isolation=row["isolation"],
        objectives=row["objectives"],
        known_best=row["known_best"],
        source=row["source"],
        best_candidate_id=row["best_candidate_id"],
        best_fitness=row["best_fitness"],
        seed_fitness=row["seed_fitness"],
        counters=Counters(**{name: row[name] for name in COUNTERS}),
        sequence=row["sequence"],
        active_seconds=row["active_seconds"],
        created_at=row["created_at"],
        started_at=row["started_at"],
        finished_at=row["finished_at"],
        paused_at=row["paused_at"],
        problem_id=row["problem_id"],
        measures=row["measures"],
        labels=row["labels"],
        batch_id=row["batch_id"] or "",
        fork_of=row["fork_of"] or "",
        revision=row["revision"],
        wanted_budget=row["wanted_budget"],
    )


def _proposal(row: RowMapping, texts: Mapping[str, str]) -> ProposalRecord:
    return ProposalRecord(
        id=row["id"],
        run_id=row["run_id"],
        number=row["number"],
        island=row["island"],
        operator=row["operator"],
        selection=row["selection"],
        weights=row["weights"],
        policy=row["policy"],
        state=row["state"],
        reason=row["reason"],
        prompt=[
            {"role": message["role"], "content": "".join(texts[part] for part in message["parts"])}
            for message in row["prompt"]
        ],
        completions=row["completions"],
        finish_reasons=row["finish_reasons"],
        dropped=row["dropped"],
        tokens_input=row["tokens_input"],
        tokens_cached=row["tokens_cached"],
        tokens_output=row["tokens_output"],
        seconds=row["seconds"],
        created_at=row["created_at"],
        answered_at=row["answered_at"],
    )
