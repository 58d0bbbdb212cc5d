"""A user's function as an evaluator's file: it stands alone there, or is refused."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.evaluation import read_result
from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from service.errors import UsageError
from service.problems.function import evaluator_text
from service.sandbox.inside.jsonable import jsonable


def problem(*names: str) -> Problem:
    objectives = tuple(Objective(name=name, low=0, high=9) for name in names)
    seeds = (Program.of({"program.py": "x = 1\n"}),)
    return Problem(name="any", seeds=seeds, evaluator=EvaluatorSpec(text=True), objectives=objectives)


def called(text: str, place: Path) -> Any:
    """What the file's `evaluate` returns, with nothing of this module at hand."""
    space: dict[str, Any] = {"__name__": "evolve_evaluate"}
    exec(compile(text, "evolve_evaluate.py", "exec"), space)
    return space["evaluate"](str(place))


@pytest.fixture
def place(tmp_path: Path) -> Path:
    file = tmp_path / "program.py"
    file.write_text("x = 4\n")
    return file


# Its annotation names what the file does not have.
def evaluate(source: str, scale: float = 2.0) -> "dict[str, Callable[..., Any]]":
    digits = [int(word) for word in source.split() if word.isdigit()]

    def root(value: float) -> float:
        return math.sqrt(value) * scale

    return {"score": np.array([root(one) for one in digits]).sum(), "encoded": json.dumps(digits)}


def test_modules_of_the_notebook_are_imported_and_annotations_need_nothing(place: Path) -> None:
    text = evaluator_text(evaluate)
    assert called(text, place) == {"score": 4.0, "encoded": "[4]"}


def number(source: str) -> float:
    return float(len(source))


async def later(source: str) -> Any:
    return np.float32(len(source))


@pytest.mark.parametrize("function", [number, later])
@pytest.mark.parametrize(
    ("names", "expected"), [((), {"combined_score": 6.0}), (("one",), {"one": 6.0}), (("one", "two"), {})]
)
def test_a_number_alone_is_the_score_of_the_only_objective(
    function: Callable[[str], Any], names: tuple[str, ...], expected: object, place: Path
) -> None:
    result = jsonable(called(evaluator_text(function), place))
    assert read_result(result, problem(*names)).scores == expected


def test_a_program_of_several_files_comes_as_a_dict(tmp_path: Path) -> None:
    def names(source: dict[str, str]) -> dict[str, Any]:
        return {"score": 1.0, "files": sorted(source)}

    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "b.py").write_text("b = 1\n")
    (tmp_path / "a.py").write_text("a = 1\n")
    assert called(evaluator_text(names), tmp_path) == {"score": 1.0, "files": ["a.py", "inner/b.py"]}


def test_what_stands_around_a_function_and_is_no_module_is_refused_by_its_name() -> None:
    weight = 3.0

    def closing(source: str) -> float:
        return weight * len(source)

    def nested(source: str) -> float:
        return sum(number(part) for part in source.split())

    def shadowed(source: str) -> float:
        place = source  # its own, whatever the fixture of this name is
        return len(place)

    with pytest.raises(UsageError, match="closing uses weight, which is outside of it"):
        evaluator_text(closing)
    with pytest.raises(UsageError, match="nested uses number, which is outside of it"):
        evaluator_text(nested)
    assert "def shadowed" in evaluator_text(shadowed)


@pytest.mark.parametrize("function", [lambda _: 1.0, len, Path])
def test_what_has_no_text_of_its_own_is_refused(function: Callable[[str], Any]) -> None:
    with pytest.raises(UsageError, match="the sandbox needs evaluate as a named function"):
        evaluator_text(function)


def test_a_function_whose_text_is_not_kept_is_refused() -> None:
    space: dict[str, Any] = {}
    exec("def gone(source):\n    return 1.0\n", space)
    with pytest.raises(UsageError, match="the text of gone cannot be read, and the sandbox needs it"):
        evaluator_text(space["gone"])
