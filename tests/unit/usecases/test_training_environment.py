"""What of a problem goes into an environment for training; that the library loads it is tested in tests/verifiers."""

import ast
import json
from pathlib import Path

import pytest

from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from service.errors import ConflictError, UsageError
from service.problems.bundle import pack
from service.problems.folder import Folder
from service.usecases.training_environment import (
    MAX_PARENTS,
    candidate_parents,
    read_parents,
    write_environment,
)

PROBLEM = Problem(
    name="A strange-name (2)",
    seeds=(Program.of({"program.py": "x = 1\n"}),),
    evaluator=EvaluatorSpec(entry="x"),
    objectives=(Objective(name="gain"),),
)
BUNDLE = pack(Folder(files={"program.py": b"x = 1\n", "problem.toml": b"schema = 1\n"}))


def line(number: int, fitness: float | None, text: str | None) -> str:
    files = None if text is None else {"program.py": text}
    scores = {} if fitness is None else {"gain": fitness}
    return json.dumps({"candidate_id": f"cnd_{number}", "fitness": fitness, "scores": scores, "files": files})


def test_parents_are_the_best_programs_each_once() -> None:
    lines = [line(1, 1.0, "x = 1\n"), line(2, None, None), line(3, 3.0, "x = 3\n"), line(4, 1.0, "x = 1\n")]
    parents = candidate_parents(PROBLEM, lines)
    assert [(one.candidate_id, one.fitness) for one in parents] == [("cnd_3", 3.0), ("cnd_1", 1.0)]
    assert "x = 3" in parents[0].user
    assert "gain" in parents[0].user


def test_many_candidates_give_the_most_parents_and_none_gives_a_sentence() -> None:
    many = candidate_parents(PROBLEM, [line(number, float(number), f"x = {number}\n") for number in range(100)])
    assert [one.fitness for one in many] == [float(number) for number in range(99, 99 - MAX_PARENTS, -1)]
    with pytest.raises(UsageError, match="no candidate of the run was scored"):
        candidate_parents(PROBLEM, [line(1, None, "x = 1\n")])


def test_the_package_is_named_for_the_problem_and_has_what_it_was_given(tmp_path: Path) -> None:
    parents = candidate_parents(PROBLEM, [line(1, 1.0, "x = 'ü'\n")])
    assert write_environment(tmp_path / "new", PROBLEM, BUNDLE, parents) == "evolve-a-strange-name-2"
    package = tmp_path / "new" / "evolve_a_strange_name_2"
    ast.parse((package / "__init__.py").read_text())
    assert list(read_parents(package / "parents.jsonl")) == parents
    assert (package / "problem" / "program.py").read_text() == "x = 1\n"
    with pytest.raises(ConflictError, match="not an empty folder"):
        write_environment(tmp_path / "new", PROBLEM, BUNDLE, parents)


@pytest.mark.parametrize("text", ["not JSON", "{}", '{"candidate_id": "a", "files": {}, "fitness": "x"}'])
def test_a_broken_parent_is_named_by_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "parents.jsonl").write_text(text + "\n")
    with pytest.raises(UsageError, match=r"line 1 of .* is not a parent"):
        list(read_parents(tmp_path / "parents.jsonl"))
