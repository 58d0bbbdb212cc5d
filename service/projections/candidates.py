"""Candidates as JSON, and the small questions that several front doors ask of runs and candidates."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Any

from evolve.configuration import BASELINES
from evolve.identity import proposal_id
from evolve.problem import Direction, Objective
from service.errors import ConflictError, NotFoundError
from service.identifiers import candidate_place
from service.ports import CandidateRecord, ResultReader, RunRecord
from service.timestamps import rfc3339

PAGE = 500


def every_candidate(reader: ResultReader, run_id: str) -> Iterator[CandidateRecord]:
    """All candidates of a run, in order of age."""
    return chain.from_iterable(candidate_pages(reader, run_id))


def candidate_pages(reader: ResultReader, run_id: str) -> Iterator[list[CandidateRecord]]:
    """All candidates of a run, in order of age, a page at a time."""
    after = (-1, -1)
    while page := reader.candidates(run_id, after=after, limit=PAGE):
        yield page
        after = (page[-1].proposal_number, page[-1].position)


def objectives_of(run: RunRecord) -> tuple[Objective, ...]:
    """The objectives a run was created with; none when the evaluator gives one scalar."""
    return read_objectives(run.objectives)


def read_objectives(stored: Sequence[Mapping[str, Any]]) -> tuple[Objective, ...]:
    """Objectives as a run stores them."""
    names = ("name", "direction", "low", "high", "weight", "target", "reference")
    values = [{key: entry[key] for key in names if key in entry} for entry in stored]
    return tuple(
        Objective(**{**value, "direction": Direction(value.get("direction", Direction.MAXIMIZE))}) for value in values
    )


def parent_of(candidate: CandidateRecord) -> str | None:
    """The id of the first parent; None for a seed."""
    return next((edge.candidate_id for edge in candidate.parents if edge.role == "parent"), None)


def time_json(at: datetime | None) -> str | None:
    """RFC 3339, UTC."""
    return None if at is None else rfc3339(at)


def candidate_json(candidate: CandidateRecord) -> dict[str, Any]:
    """A candidate as every command and every export gives it, without its files."""
    fields = (
        "program_id", "island", "operator", "position", "status", "outcome", "reason", "scores", "measures", "cases",
        "spread", "repeats", "fitness", "policy", "feedback", "seconds", "isolation",
        "answer", "changed",
    )  # fmt: skip
    return {
        "candidate_id": candidate.id,
        "run_id": candidate.run_id,
        "proposal_id": proposal_id(candidate.run_id, candidate.proposal_number),
        "proposal_number": candidate.proposal_number,
        "name": f"{candidate.proposal_number}.{candidate.position}",
        **{name: getattr(candidate, name) for name in fields},
        "islands": list(candidate.islands),
        "parents": [{"candidate_id": edge.candidate_id, "role": edge.role} for edge in candidate.parents],
        "created_at": time_json(candidate.created_at),
        "evaluated_at": time_json(candidate.evaluated_at),
    }


def island_count(run: RunRecord) -> int:
    """How many islands a run has."""
    return configured_islands(run.config)


def configured_islands(config: Mapping[str, Any]) -> int:
    """How many islands a run with this configuration has."""
    islands = config.get("islands", 1)
    return islands if isinstance(islands, int) and config.get("strategy") not in BASELINES else 1


def candidate_of(reader: ResultReader, run: RunRecord, named: str) -> CandidateRecord:
    """The candidate of a run that a person names, by its id or by its name in the run.

    Raises:
        NotFoundError: the run has no such candidate.
    """
    place = candidate_place(named)
    found = reader.candidate(f"{run.id}.{named}" if place is not None and not place.run else named)
    if found.run_id != run.id:
        raise NotFoundError(f"run {run.id} has no candidate {named}: 'evolve candidates {run.id}' lists them")
    return found


def evaluated_candidate(reader: ResultReader, run: RunRecord, named: str) -> CandidateRecord:
    """The evaluated candidate of a run that a person names; empty: its first seed.

    Raises:
        NotFoundError: the run has no such candidate.
        ConflictError: it is not evaluated, or the run has none yet.
    """
    found = candidate_of(reader, run, named) if named else next(iter(reader.candidates(run.id, limit=1)), None)
    if found is None:
        raise ConflictError(f"run {run.id} has not begun: try again when its seed is evaluated")
    if found.status != "evaluated":
        raise ConflictError(f"candidate {found.id} is {found.status}: give an evaluated candidate")
    return found
