"""A problem as a small class of the caller's: its seed, its evaluator, and what else a call could say."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from evolve.problem import Problem
from service.errors import UsageError
from service.notebook.arguments import several
from service.notebook.problem import Function

SKETCHED = ("description", "language", "objectives", "measures", "limits")


class ProblemClass(Protocol):
    """A class, or an object, that is a problem.

    It may also have `name`, `description`, `language`, `objectives`, `measures` and `limits`.

    Attributes:
        seed: the text of the program that the search starts from.
    """

    seed: str

    def evaluate(self, source: str, /) -> Any:
        """Return a score or a dict of scores, as the function `evaluate` of `evolve.run` does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemWords:
    """What a call of `evolve.run` says of its problem, with what its class says."""

    problem: str | Path | Problem
    evaluate: Function | None
    name: str | None
    sketch: Mapping[str, Any]


def problem_words(
    problem: "str | Path | Problem | ProblemClass | type[ProblemClass]",
    evaluate: Function | None,
    name: str | None,
    sketch: Mapping[str, Any],
) -> ProblemWords:
    """What a call says of its problem. What a class says counts where the call does not say it itself.

    Raises:
        UsageError: the problem is of no kind that can be searched on.
    """
    sketch = _listed(sketch)
    if isinstance(problem, str | Path | Problem):
        return ProblemWords(problem=problem, evaluate=evaluate, name=name, sketch=sketch)
    title = problem.__name__ if isinstance(problem, type) else type(problem).__name__
    made = _made(problem, title) if isinstance(problem, type) else problem
    seed, scorer = getattr(made, "seed", None), evaluate or getattr(made, "evaluate", None)
    if not isinstance(seed, str) or not callable(scorer):
        raise UsageError(
            f"the problem is {title}: give a folder, a seed's text with evaluate=..., or a class with a text `seed` and"
            " a method `evaluate`"
        )
    said = {key: value for key in SKETCHED if (value := getattr(made, key, None)) is not None}
    return ProblemWords(
        problem=seed if seed.endswith("\n") else f"{seed}\n",
        evaluate=scorer,
        name=name or getattr(made, "name", None) or title,
        sketch={**_listed(said), **sketch},
    )


def _listed(sketch: Mapping[str, Any]) -> dict[str, Any]:
    """With lists of objectives and measures, also where only one was said."""
    return {key: several(value) if key in ("objectives", "measures") else value for key, value in sketch.items()}


def _made(problem: "type[ProblemClass]", title: str) -> ProblemClass:
    try:
        return problem()
    except TypeError as error:
        raise UsageError(f"{title} cannot be made without arguments ({error}): give an object of it") from error
