"""The contents of a problem's files as JSON, stored with its version, and shown."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from evolve.problem import Problem, SeedOrigin
from evolve.program import Program
from service.problems.load import LoadedProblem


def describe_problem(loaded: LoadedProblem, policies: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A problem in words and numbers, without its files.

    Args:
        loaded: the problem.
        policies: those that it names, as they may be shown.
    """
    problem = loaded.problem
    return {
        "description": problem.description,
        "language": problem.language,
        "seeds": seed_names(problem),
        "objectives": objectives_as_json(problem),
        "measures": measures_as_json(problem),
        "limits": asdict(problem.limits),
        "integrity": str(problem.evaluator.integrity),
        "known_best": problem.known_best,
        "known_best_source": problem.known_best_source,
        "search": dict(loaded.search),
        "policies": [dict(policy) for policy in policies],
        "warnings": list(loaded.warnings),
    }


def objectives_as_json(problem: Problem) -> list[dict[str, Any]]:
    """A problem's objectives, as they are stored with a run."""
    return [{**asdict(objective), "direction": str(objective.direction)} for objective in problem.objectives]


def measures_as_json(problem: Problem) -> list[dict[str, Any]]:
    """A problem's measures, as they are stored with a run."""
    return [asdict(measure) for measure in problem.measures]


def seed_names(problem: Problem) -> list[str]:
    """The names of a problem's seeds: that of an earlier run, with a metric of it, or that of a file."""
    return [
        _origin_name(problem.origins[place]) if place in problem.origins else _own_name(problem, seed)
        for place, seed in enumerate(problem.seeds)
    ]


def _origin_name(origin: SeedOrigin) -> str:
    generation = [] if origin.generation is None else [f"generation {origin.generation}"]
    metrics = [f"{name} {value:.6g} there" for name, value in list(origin.metrics.items())[:1]]
    return f"{origin.name} ({', '.join([*generation, *metrics])})" if generation or metrics else origin.name


def _own_name(problem: Problem, program: Program) -> str:
    if problem.repository is not None:
        count = len(program.files) - 1
        changes = f" and {count} file{'s' if count > 1 else ''}" if count else ""
        return f"commit {problem.repository.short_commit}{changes}"
    return program.files[0][0] if program.single else f"of {len(program.files)} files"
