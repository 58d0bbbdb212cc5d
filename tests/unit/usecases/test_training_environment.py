"""What of a problem goes into an environment for training; that the library loads it is tested in tests/verifiers."""

import ast
import json
import re
import tomllib
from dataclasses import replace
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


@pytest.mark.parametrize(
    "name",
    [
        '"""\nimport os\nos.system("touch injected")\n"""',
        "'\"\\",
        'x"\ndependencies = ["injected"]\n[tool.other]\ny = "',
        "x`\n\n<script>injected</script>",
        "{module} {0} %s ${HOME}",
        "迷路\u2028\u0085",
        "\ud800",
        "",
        "../../" * 20,
        "injected " * 1111 + "x",
    ],
)
def test_no_text_of_a_problem_is_in_code_that_runs_where_the_package_is_installed(tmp_path: Path, name: str) -> None:
    plain, hostile = (replace(PROBLEM, name=name, description=f"{name} \u2028 \ud800") for name in ("plain", name))
    parents = candidate_parents(hostile, [line(1, 1.0, f"x = {name!r}  # \u2028 \u0085\n")])
    for problem, folder in ((plain, "plain"), (hostile, "hostile")):
        write_environment(tmp_path / folder, problem, BUNDLE, parents)
    (package,) = (place for place in (tmp_path / "hostile").iterdir() if place.is_dir())
    assert re.fullmatch(r"evolve(_[a-z0-9]+)+", package.name)
    assert len(package.name) <= 80
    written, module = (package / "__init__.py").read_text(), (tmp_path / "plain" / "evolve_plain" / "__init__.py")
    assert written == module.read_text()
    ours = (tmp_path / "plain" / "pyproject.toml").read_text()
    named = ours.replace("evolve-plain", package.name.replace("_", "-")).replace("evolve_plain", package.name)
    assert (tmp_path / "hostile" / "pyproject.toml").read_text() == named
    assert tomllib.loads(named)["project"]["dependencies"] == ["evolve-search", "verifiers>=0.4"]
    assert "<script>" not in (tmp_path / "hostile" / "README.md").read_text()
    assert list(read_parents(package / "parents.jsonl")) == parents


@pytest.mark.parametrize("text", ["not JSON", "{}", '{"candidate_id": "a", "files": {}, "fitness": "x"}'])
def test_a_broken_parent_is_named_by_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "parents.jsonl").write_text(text + "\n")
    with pytest.raises(UsageError, match=r"line 1 of .* is not a parent"):
        list(read_parents(tmp_path / "parents.jsonl"))
