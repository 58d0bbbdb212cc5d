"""What a problem of another form became, in five lines for people, and a sixth for what lies outside of its folder."""

from evolve.problem import Direction, Objective, Problem
from service.problems.description import seed_names
from service.problems.load import LoadedProblem

_MAX_NAMED = 5


def problem_lines(loaded: LoadedProblem) -> tuple[str, ...]:
    """The form of a folder, and what was taken from it.

    Args:
        loaded: the problem.
    """
    problem, spec = loaded.problem, loaded.problem.evaluator
    limits = f"{problem.limits.wall_seconds:g} s and {problem.limits.memory_mb} MB for each program"
    return (
        f"form: {loaded.form}",
        f"programs: {_named(seed_names(problem))} ({problem.language})",
        f"evaluator: {spec.file}, at most {limits}",
        f"objectives: {_objectives(problem)}",
        f"for prompts: {_texts(loaded)}",
        *([f"imported from outside: {_named(list(loaded.outside))}"] if loaded.outside else []),
    )


def _named(names: list[str]) -> str:
    more = [f"and {len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
    return ", ".join([*names[:_MAX_NAMED], *more])


def _objectives(problem: Problem) -> str:
    if problem.scalar:
        return "combined_score, or else the mean of the metrics, maximised"
    return _named([_objective(objective) for objective in problem.objectives])


def _objective(objective: Objective) -> str:
    return f"{objective.name}, {'maximised' if objective.direction is Direction.MAXIMIZE else 'minimised'}"


def _texts(loaded: LoadedProblem) -> str:
    prompt = loaded.search.get("prompt", {})
    system = prompt.get("system", "") if isinstance(prompt, dict) else ""
    found = {"description": loaded.problem.description, "system message": system}
    words = [f"a {name} of {len(text)} characters" for name, text in found.items() if text]
    return " and ".join(words) or "no text of the task"
