"""Objectives and scores in words."""

from collections.abc import Iterable, Mapping

from evolve.problem import Direction, Objective, Problem
from evolve.prompt.templates import fill
from evolve.prompt.text import one_line
from evolve.proposal import Individual

_MAX_NAMED = 16
_MAX_NAME = 80


def objectives_text(problem: Problem, templates: Mapping[str, str]) -> str:
    """A line for each objective: its direction, bounds, weight and target."""
    if problem.scalar:
        values = {"name": "combined_score", "direction": "more is better", "bounds": "", "weight": "", "target": ""}
        return fill(templates, "objective", **values).rstrip("\n")
    total = sum(objective.weight for objective in problem.objectives)
    lines = (_objective_text(objective, total, templates) for objective in problem.objectives)
    return "".join(lines).rstrip("\n")


def scores_text(problem: Problem, individual: Individual) -> str:
    """The reward vector of an individual in the objectives' own units, then its other measurements."""
    evaluation = individual.evaluation
    lines = [
        f"- {_name(objective.name)}: {_number(evaluation.scores[objective.name])}{_share(objective, evaluation.scores)}"
        for objective in problem.objectives
        if objective.name in evaluation.scores
    ]
    if problem.scalar and individual.fitness is not None:
        lines.append(f"- combined_score: {_number(individual.fitness)}")
    rest = {name: value for name, value in evaluation.scores.items() if name not in problem.objective_names}
    lines += _listed("also measured", rest.items())
    lines += _listed("cases not fully solved (1 is solved)", _unsolved(evaluation.cases))
    if not evaluation.ok:
        lines.append(f"- it failed ({evaluation.outcome}): {one_line(evaluation.reason)}")
    return "Scores:\n" + ("\n".join(lines) or "- none")


def weights_text(problem: Problem, weights: tuple[float, ...]) -> str:
    """Weights by objective, largest first, as shares of 1."""
    total = sum(weights) or 1.0
    ranked = sorted(zip(problem.objective_names, weights, strict=False), key=lambda pair: -pair[1])
    return ", ".join(f"{_name(name)} {weight / total:.2f}" for name, weight in ranked)


def _objective_text(objective: Objective, total: float, templates: Mapping[str, str]) -> str:
    better = "more is better" if objective.direction is Direction.MAXIMIZE else "less is better"
    bounded = objective.low is not None and objective.high is not None
    return fill(
        templates,
        "objective",
        name=_name(objective.name),
        direction=better,
        bounds=f", from {objective.low:g} to {objective.high:g}" if bounded else "",
        weight=f", weight {objective.weight / total:.2f}" if total and objective.weight != total else "",
        target=f", target {objective.target:g}" if objective.target is not None else "",
    )


def _share(objective: Objective, scores: Mapping[str, float]) -> str:
    if not objective.bounded:
        return ""
    return f" ({objective.normalise(scores[objective.name]):.3f} of the way from the worst to the best bound)"


def _unsolved(cases: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(((name, value) for name, value in cases.items() if value < 1), key=lambda pair: (pair[1], pair[0]))


def _listed(label: str, pairs: Iterable[tuple[str, float]]) -> list[str]:
    found = list(pairs)
    if not found:
        return []
    named = ", ".join(f"{_name(name)} {_number(value)}" for name, value in found[:_MAX_NAMED])
    more = f" and {len(found) - _MAX_NAMED} more" if len(found) > _MAX_NAMED else ""
    return [f"- {label}: {named}{more}"]


def _name(name: str) -> str:
    return one_line(name, _MAX_NAME)


def _number(value: float) -> str:
    return f"{value:.8g}"
