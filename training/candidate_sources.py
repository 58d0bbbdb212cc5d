"""Accepted programs of runs, with the data to build their prompts again."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from evolve.configuration import InspirationsConfig, PromptConfig
from evolve.errors import EvolveError
from evolve.evaluation import Evaluation, Outcome, reward_vector
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Individual
from training.errors import TrainingError


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedCandidate:
    """A candidate that was scored with success. `parent_id` is empty for a seed."""

    individual: Individual
    parent_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateSource:
    """A run as a source of demonstrations.

    Attributes:
        name: of the run or the file, for people.
        problem: of the run.
        candidates: oldest first.
        prompt, inspirations: the run's configuration of its prompts.
        templates: texts that replace built-in templates.
    """

    name: str
    problem: Problem
    candidates: tuple[AcceptedCandidate, ...]
    prompt: PromptConfig = field(default_factory=PromptConfig)
    inspirations: InspirationsConfig = field(default_factory=InspirationsConfig)
    templates: Mapping[str, str] = field(default_factory=dict)


def read_candidates(lines: Iterable[str], problem: Problem, name: str) -> tuple[AcceptedCandidate, ...]:
    """The successfully scored candidates of an export, in its order.

    Args:
        lines: as written by `evolve export`.
        problem: of the run.
        name: of the run or file, for messages.

    Raises:
        TrainingError: a line is not a candidate, or is a candidate of another problem.
    """
    found = []
    for number, line in enumerate(lines, start=1):
        try:
            found.append(_candidate(json.loads(line), problem))
        except (KeyError, TypeError, ValueError, AttributeError, EvolveError) as error:
            raise TrainingError(f"{name}, line {number}, {_complaint(error, problem)}") from error
    return tuple(each for each in found if each is not None)


def _complaint(error: Exception, problem: Problem) -> str:
    missing = error.args[0] if isinstance(error, KeyError) else ""
    if missing in problem.objective_names:
        return f"has no score {missing!r}, an objective of {problem.name}: name the folder of its own problem."
    reason = f"{missing} is missing" if missing else str(error).rstrip(".")
    return f"is not a candidate ({reason}): write the file again with evolve export RUN -o FILE."


def _candidate(line: Mapping[str, Any], problem: Problem) -> AcceptedCandidate | None:
    files, outcome = line["files"], line["outcome"]
    if files is None or outcome != Outcome.OK:
        return None
    evaluation = Evaluation(
        outcome=Outcome.OK, scores=dict(line["scores"]), cases=dict(line["cases"]), feedback=str(line["feedback"] or "")
    )
    individual = Individual(
        candidate_id=str(line["candidate_id"]),
        program=Program.of(files),
        evaluation=evaluation,
        fitness=float(line["fitness"]),
        rewards=reward_vector(problem, evaluation),
        measures={},
    )
    parents = [str(edge["candidate_id"]) for edge in line["parents"] if edge["role"] == "parent"]
    return AcceptedCandidate(individual=individual, parent_id=parents[0] if parents else "")
