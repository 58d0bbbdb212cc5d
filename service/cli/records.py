"""Runs and candidates as the JSON that commands print, and the small questions that several commands ask of them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime
from itertools import chain
from typing import Any

from evolve.configuration import BudgetConfig
from evolve.identity import proposal_id
from evolve.problem import Direction, Objective
from service.errors import NotFoundError
from service.ports import CandidateRecord, ProposalRecord, RunReader, RunRecord

LAST = "last"
PAGE = 500


def find_run(reader: RunReader, run_id: str) -> RunRecord:
    """A run by its id, by the beginning of it, or the newest as `last`.

    Raises:
        NotFoundError: no such run.
    """
    if run_id != LAST:
        return reader.run(run_id)
    newest = reader.runs(limit=1)
    if not newest:
        raise NotFoundError("there is no run yet: evolve run PROBLEM starts one")
    return newest[0]


def find_candidate(reader: RunReader, name: str) -> CandidateRecord:
    """A candidate by its id, by the beginning of it, or the best of a run by the run's id or as `last`.

    Raises:
        NotFoundError: no such candidate or run, or no candidate of the run was evaluated with success.
    """
    if name != LAST and not name.startswith("run_"):
        return reader.candidate(name)
    run = find_run(reader, name)
    if run.best_candidate_id is None:
        raise NotFoundError(f"{run.id} has no best candidate yet: evolve programs {run.id} --all lists what it has")
    return reader.candidate(run.best_candidate_id)


def every_candidate(reader: RunReader, run_id: str) -> Iterator[CandidateRecord]:
    """All candidates of a run, in order of age."""
    return chain.from_iterable(candidate_pages(reader, run_id))


def candidate_pages(reader: RunReader, run_id: str) -> Iterator[list[CandidateRecord]]:
    """All candidates of a run, in order of age, a page at a time."""
    after = (-1, -1)
    while page := reader.candidates(run_id, after=after, limit=PAGE):
        yield page
        after = (page[-1].number, page[-1].position)


def objectives_of(run: RunRecord) -> tuple[Objective, ...]:
    """The objectives a run was created with; none when the evaluator gives one scalar."""
    names = ("name", "direction", "low", "high", "weight", "target", "reference")
    values = [{key: entry[key] for key in names if key in entry} for entry in run.objectives]
    return tuple(
        Objective(**{**value, "direction": Direction(value.get("direction", Direction.MAXIMIZE))}) for value in values
    )


def score_word(run: RunRecord) -> str:
    """What the one number is called by which candidates of a run are compared before a person."""
    return "score" if len(run.objectives) == 1 else "fitness"


def as_score(run: RunRecord, fitness: float | None) -> float | None:
    """A fitness, or a change of it, as people read it: with exactly one objective in that objective's own direction."""
    if fitness is None or len(run.objectives) != 1:
        return fitness
    return objectives_of(run)[0].sign * fitness + 0.0  # no negative zero


def parent_of(candidate: CandidateRecord) -> str | None:
    """The id of the first parent; None for a seed."""
    return next((edge.candidate_id for edge in candidate.parents if edge.role == "parent"), None)


def budget_used(budget: Mapping[str, Any], run: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Used and limit of each budget key that has a limit and can be used up."""
    return {
        key: {"used": run[key], "limit": budget[key]}
        for key in BudgetConfig.__dataclass_fields__
        if key in run and budget.get(key) is not None
    }


def time_json(at: datetime | None) -> str | None:
    """RFC 3339, UTC."""
    return None if at is None else at.isoformat().replace("+00:00", "Z")


def run_json(run: RunRecord) -> dict[str, Any]:
    """A run as `runs --json` and `show --json` give it."""
    fields = (
        "state", "desired_state", "waiting", "reason", "problem_name", "bundle_hash", "source", "config", "policies",
        "seed", "integrity", "isolation", "objectives", "known_best", "seed_fitness", "best_fitness", "sequence",
        "active_seconds",
    )  # fmt: skip
    times = {name: time_json(getattr(run, name)) for name in ("created_at", "started_at", "finished_at")}
    return {
        "run_id": run.id,
        **{name: getattr(run, name) for name in fields},
        "best_candidate_id": run.best_candidate_id,
        "counters": asdict(run.counters),
        **times,
    }


def candidate_json(candidate: CandidateRecord) -> dict[str, Any]:
    """A candidate as every command gives it, without its files."""
    fields = (
        "program_id", "island", "operator", "position", "status", "outcome", "reason", "scores", "measures", "cases",
        "spread", "fitness", "policy", "feedback", "seconds", "isolation",
    )  # fmt: skip
    return {
        "candidate_id": candidate.id,
        "run_id": candidate.run_id,
        "proposal_id": proposal_id(candidate.run_id, candidate.number),
        "proposal_number": candidate.number,
        **{name: getattr(candidate, name) for name in fields},
        "islands": list(candidate.islands),
        "parents": [{"candidate_id": edge.candidate_id, "role": edge.role} for edge in candidate.parents],
        "created_at": time_json(candidate.created_at),
        "evaluated_at": time_json(candidate.evaluated_at),
    }


def proposal_json(proposal: ProposalRecord) -> dict[str, Any]:
    """A proposal with its prompt and completions."""
    values = asdict(proposal)
    values["proposal_id"] = values.pop("id")
    return {**values, "created_at": time_json(proposal.created_at), "answered_at": time_json(proposal.answered_at)}
