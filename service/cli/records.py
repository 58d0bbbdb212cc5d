"""Runs and candidates as the JSON that commands print, and the small questions that several commands ask of them."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evolve.configuration import BudgetConfig
from service.cli.terminal import plain
from service.errors import NotFoundError, UsageError
from service.identifiers import candidate_place
from service.ports import CandidateRecord, ProposalRecord, ResultReader, RunRecord
from service.projections.candidates import read_objectives, time_json
from service.projections.grouping import NAME

if TYPE_CHECKING:
    from service.schemas.batches import GroupSummary

LAST = "last"


def find_run(reader: ResultReader, run_id: str) -> RunRecord:
    """A run by its id, by the beginning of it, or the newest as `last`.

    Raises:
        NotFoundError: no such run.
    """
    if run_id != LAST:
        return reader.run(run_id)
    newest = reader.runs(limit=1)
    if not newest:
        raise NotFoundError("there is no run yet: start one with evolve run PROBLEM")
    return newest[0]


def find_candidate(reader: ResultReader, name: str, run_id: str = LAST) -> CandidateRecord:
    """A candidate by its id, by the beginning of it, as `RUN.28.0`, or the best of a run by the run's id or as `last`.

    The run of `28.0` alone is that of `run_id`.

    Raises:
        NotFoundError: no such candidate or run, or no candidate of the run was evaluated with success.
    """
    if place := candidate_place(name):
        run = find_run(reader, place.run or run_id)
        return reader.candidate(f"{run.id}.{place.proposal_number}.{place.position}")
    if name != LAST and not name.startswith("run_"):
        return reader.candidate(name)
    run = find_run(reader, name)
    if run.best_candidate_id is None:
        raise NotFoundError(
            f"{run.id} has no best candidate yet: list its candidates with evolve candidates {run.id} --all"
        )
    return reader.candidate(run.best_candidate_id)


def in_run(run_id: str, name: str | None) -> str:
    """A run, or the candidate of it that has a name.

    Raises:
        UsageError: the name is not that of a candidate.
    """
    if name is None:
        return run_id
    place = candidate_place(name)
    if place is None or place.run:
        raise UsageError(f"{name} does not name a candidate of a run: give its proposal and position, such as 28.0")
    return f"{run_id}.{name}"


def score_word(run: RunRecord) -> str:
    """What the one number is called by which candidates of a run are compared before a person."""
    return "score" if len(run.objectives) == 1 else "fitness"


def as_score(run: "RunRecord | GroupSummary", fitness: float | None) -> float | None:
    """A fitness, or a change of it, as people read it: with exactly one objective in that objective's own direction."""
    if fitness is None or len(run.objectives) != 1:
        return fitness
    return read_objectives(run.objectives)[0].sign * fitness + 0.0  # no negative zero


def budget_used(budget: Mapping[str, Any], run: Mapping[str, float]) -> dict[str, dict[str, float]]:
    """Used and limit of each budget key that has a limit and can be used up."""
    return {
        key: {"used": run[key], "limit": budget[key]}
        for key in BudgetConfig.__dataclass_fields__
        if key in run and budget.get(key) is not None
    }


def run_json(run: RunRecord) -> dict[str, Any]:
    """A run as `runs --json` and `show --json` give it."""
    fields = (
        "state", "desired_state", "waiting", "reason", "problem_name", "bundle_hash", "source", "config", "policies",
        "labels", "seed", "integrity", "isolation", "objectives", "known_best", "seed_fitness", "best_fitness",
        "sequence", "active_seconds",
    )  # fmt: skip
    times = {name: time_json(getattr(run, name)) for name in ("created_at", "started_at", "finished_at")}
    return {
        "run_id": run.id,
        **{name: getattr(run, name) for name in fields},
        "best_candidate_id": run.best_candidate_id,
        "counters": asdict(run.counters),
        **times,
    }


def run_name(run: RunRecord) -> str:
    """What its user calls a run; empty: nothing."""
    return plain(run.labels.get(NAME, ""))


def policy_names(run: RunRecord) -> str:
    """The policies of a run, by what they are called, and what each does that writes no programs."""
    named = [(plain(str(policy.get("name", ""))), plain(str(policy.get("role", "")))) for policy in run.policies]
    return ", ".join(f"{name} ({role})" if role else name for name, role in named)


def proposal_json(proposal: ProposalRecord) -> dict[str, Any]:
    """A proposal with its prompt and completions."""
    values = asdict(proposal)
    values["proposal_id"] = values.pop("id")
    return {**values, "created_at": time_json(proposal.created_at), "answered_at": time_json(proposal.answered_at)}
