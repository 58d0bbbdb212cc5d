"""The problem that a call of `evolve.run` means: a folder, a value, or the text of a seed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote
from typing import Any

from evolve.problem import Limits, Problem
from service.errors import NotFoundError, UsageError
from service.problems.inline_problem import InlineProblem, load_sketch, loaded_from, scored_here, scored_in_sandbox
from service.problems.load import LoadedProblem, load_problem

Function = Callable[[Any], Any]


def read_problem(
    problem: str | Path | Problem, evaluate: Function | None, name: str | None, sketch: Mapping[str, Any]
) -> LoadedProblem:
    """The problem that is meant: a folder's, a value, or one of a seed's text."""
    if isinstance(problem, str | Path) and _is_file(problem):
        raise UsageError(
            f"{problem} is a file: give its text, evolve.run(Path({str(problem)!r}).read_text(), evaluate=...),"
            f" or on the command line: evolve run {quote(str(problem))} EVALUATOR"
        )
    if evaluate is not None and not callable(evaluate):
        raise UsageError(f"evaluate is a {type(evaluate).__name__}: give a function that takes a program's text")
    if isinstance(problem, str) and not problem.strip():
        raise UsageError("the problem is empty: give its folder, such as . for this one, or a seed's text")
    text = isinstance(problem, str) and evaluate is not None and not _is_folder(problem)
    if text:
        drawn = InlineProblem(seed=str(problem), **sketch)
        return load_sketch(drawn if name is None else replace(drawn, name=name))
    if sketch:
        raise UsageError(
            f"{', '.join(sketch)}: a folder and a Problem say these themselves; they go with a seed's text"
        )
    if isinstance(problem, Problem):
        if evaluate is None:
            raise UsageError("a Problem does not hold its evaluator: name its folder, or give evaluate")
        return loaded_from(problem)
    if "\n" in str(problem):
        raise UsageError(
            "a seed's text needs evaluate, a function that scores programs: evolve.run(seed, evaluate=...)"
        )
    return load_problem(Path(problem).expanduser())


def _is_file(place: str | Path) -> bool:
    """Whether a path or a text of one line names a file, which is a seed or an evaluator and not yet a problem."""
    text = str(place)
    return "\n" not in text and "\0" not in text and len(text) <= 4096 and Path(text).expanduser().is_file()


def _is_folder(text: str) -> bool:
    """Whether a text names a folder.

    Raises:
        NotFoundError: it looks like the path of one that is not there.
    """
    if "\n" in text or "\0" in text or len(text) > 4096:
        return False
    if Path(text).expanduser().is_dir():
        return True
    if "/" in text and len(text.split()) == 1:
        raise NotFoundError(f"there is no folder {text!r}; if that is a program, end it with a line break")
    return False


def scored_by(
    evaluate: Function | None, loaded: LoadedProblem, limits: Limits | None, *, sandbox: bool
) -> LoadedProblem:
    """The problem with whoever scores its programs: a function of the caller's, here or in the sandbox."""
    if limits is not None and not sandbox:
        raise UsageError("limits hold in the sandbox alone: say sandbox=True, or leave them out")
    if evaluate is None:
        return loaded
    return scored_in_sandbox(loaded, evaluate) if sandbox else scored_here(loaded)
