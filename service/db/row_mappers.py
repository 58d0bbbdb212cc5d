"""Candidates and individuals rebuilt from their rows, as a search needs them to go on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, RowMapping, Select, bindparam, select

from evolve.evaluation import Evaluation, Outcome, signed_scores
from evolve.problem import Objective
from evolve.program import Program
from evolve.proposal import Candidate, Individual
from service.db import programs
from service.db.identifiers import chunks
from service.db.models import CandidateRow, EvaluationRow, ParentRow, RunRow
from service.errors import NotFoundError
from service.projections.candidates import read_objectives

_Value = TypeVar("_Value")
AnySelect = Select[*tuple[Any, ...]]

# Not a condition: SQLite would then go through all of the run by its index, however few ids are asked for.
_OF_RUN = (CandidateRow.run_id == bindparam("of_run")).label("of_run")
_ASKED = CandidateRow.program_id.is_not(None), CandidateRow.id.in_(bindparam("of_ids", expanding=True))
_CANDIDATES: AnySelect = select(
    CandidateRow.id,
    CandidateRow.proposal_number,
    CandidateRow.position,
    CandidateRow.island,
    CandidateRow.fingerprint,
    CandidateRow.changed,
    CandidateRow.program_id,
    _OF_RUN,
).where(*_ASKED)
_INDIVIDUALS: AnySelect = (
    select(
        CandidateRow.id,
        CandidateRow.fitness,
        CandidateRow.rewards,
        CandidateRow.program_id,
        EvaluationRow.outcome,
        EvaluationRow.reason,
        EvaluationRow.scores,
        EvaluationRow.measures,
        EvaluationRow.grid_measures,
        EvaluationRow.cases,
        EvaluationRow.feedback,
        EvaluationRow.seconds,
        EvaluationRow.spread,
        EvaluationRow.repeats,
        EvaluationRow.worker,
        EvaluationRow.isolation,
        EvaluationRow.answer,
        _OF_RUN,
    )
    .join(
        EvaluationRow,
        (EvaluationRow.candidate_id == CandidateRow.id) & (EvaluationRow.attempt == CandidateRow.attempt),
    )
    .where(*_ASKED)
)
_OBJECTIVES = select(RunRow.objectives).where(RunRow.id == bindparam("of_run"))
_EDGES = (
    select(ParentRow.candidate_id, ParentRow.parent_id, ParentRow.role)
    .where(ParentRow.candidate_id.in_(bindparam("of_ids", expanding=True)))
    .order_by(ParentRow.candidate_id, ParentRow.place)
)


def candidates(connection: Connection, run_id: str, ids: Sequence[str]) -> list[Candidate]:
    """Candidates of a run that have a program, in the order asked for.

    Raises:
        NotFoundError: the run has no such candidate.
    """
    edges = _edges(connection, ids)
    rows = list(_rows(connection, _CANDIDATES, run_id, ids))
    texts = programs.load(connection, [row["program_id"] for row in rows])
    found = {row["id"]: _candidate(row, texts, edges) for row in rows if row["program_id"] in texts}
    return _ordered(connection, run_id, ids, found)


def individuals(connection: Connection, run_id: str, ids: Sequence[str]) -> list[Individual]:
    """Candidates of a run that have a program and an evaluation, in the order asked for.

    Raises:
        NotFoundError: the run has no such candidate.
    """
    stored = connection.execute(_OBJECTIVES, {"of_run": run_id}).scalar()
    objectives = read_objectives(stored or ())
    rows = list(_rows(connection, _INDIVIDUALS, run_id, ids))
    texts = programs.load(connection, [row["program_id"] for row in rows])
    found = {row["id"]: _individual(row, texts, objectives) for row in rows if row["program_id"] in texts}
    return _ordered(connection, run_id, ids, found)


def _rows(connection: Connection, query: AnySelect, run_id: str, ids: Sequence[str]) -> Iterator[RowMapping]:
    for chunk in chunks(ids):
        rows = connection.execute(query, {"of_run": run_id, "of_ids": chunk}).mappings()
        yield from (row for row in rows if row["of_run"])


def _ordered(connection: Connection, run_id: str, ids: Sequence[str], found: Mapping[str, _Value]) -> list[_Value]:
    absent = [candidate_id for candidate_id in ids if candidate_id not in found]
    known: set[str] = set()
    for chunk in chunks(absent):
        query = select(CandidateRow.id, CandidateRow.run_id).where(CandidateRow.id.in_(chunk))
        known.update(found_id for found_id, of_run in connection.execute(query) if of_run == run_id)
    for candidate_id in absent:
        if candidate_id not in known:
            raise NotFoundError(f"there is no candidate {candidate_id} in run {run_id}")
    return [found[candidate_id] for candidate_id in ids if candidate_id in found]


def _edges(connection: Connection, ids: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    edges: dict[str, list[tuple[str, str]]] = {}
    for chunk in chunks(ids):
        for candidate_id, parent_id, role in connection.execute(_EDGES, {"of_ids": chunk}):
            edges.setdefault(candidate_id, []).append((parent_id, role))
    return edges


def _candidate(
    row: RowMapping, texts: Mapping[str, Program], edges: Mapping[str, Sequence[tuple[str, str]]]
) -> Candidate:
    return Candidate(
        id=row["id"],
        proposal_number=row["proposal_number"],
        position=row["position"],
        island=row["island"],
        program=texts[row["program_id"]],
        fingerprint=row["fingerprint"],
        parents=tuple(edges.get(row["id"], ())),
        changed=row["changed"],
    )


def _individual(row: RowMapping, texts: Mapping[str, Program], objectives: Sequence[Objective]) -> Individual:
    worth = row["fitness"]
    return Individual(
        candidate_id=row["id"],
        program=texts[row["program_id"]],
        fitness=worth,
        rewards=tuple(row["rewards"] or ()),
        signed_scores=() if worth is None else signed_scores(objectives, row["scores"], worth),
        measures=row["grid_measures"],
        evaluation=Evaluation(
            outcome=Outcome(row["outcome"]),
            reason=row["reason"],
            scores=row["scores"],
            measures=row["measures"],
            cases=row["cases"],
            feedback=row["feedback"],
            seconds=row["seconds"],
            spread=row["spread"],
            repeats=row["repeats"],
            worker=row["worker"],
            isolation=row["isolation"],
            answer=row["answer"],
        ),
    )
