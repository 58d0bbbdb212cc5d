"""Problems as they are named on a command line: files of any names, a folder as the program, an interpreter."""

from pathlib import Path

import pytest

from evolve.program import Program
from service.errors import InvalidProblemError
from service.problems.load import load_bundle, load_problem
from service.problems.project import FILE, Project
from service.problems.upload_request import upload_of
from tests.unit.problems.folders import EVALUATE, SEED, project, write

CONFIG = "max_iterations: 7\n"


def complaint(place: Path | Project) -> str:
    with pytest.raises(InvalidProblemError) as caught:
        load_problem(place)
    return " ".join(caught.value.complaints)


def test_files_of_any_names_are_a_project(tmp_path: Path) -> None:
    write(tmp_path / "code", {"start.py": SEED})
    write(tmp_path / "judge", {"my_evaluator.py": EVALUATE, "helper.py": "y = 2\n"})
    write(tmp_path / "settings", {"fast.yaml": CONFIG})
    place = Project(
        folder=tmp_path / "code" / "start.py",
        evaluator=tmp_path / "judge" / "my_evaluator.py",
        config=tmp_path / "settings" / "fast.yaml",
    )
    loaded = load_problem(place)
    assert loaded.problem.seeds == (Program.of({"start.py": SEED}),)
    assert (loaded.problem.name, loaded.problem.evaluator.file) == ("judge", "my_evaluator.py")
    assert loaded.search["budget"] == {"evaluations": 8}
    again = load_bundle(loaded.bundle, "judge")
    assert (again.problem, again.bundle) == (loaded.problem, loaded.bundle)
    assert set(upload_of(place).files) == {"start.py", "my_evaluator.py", "helper.py", "fast.yaml", FILE}


def test_a_program_beside_its_evaluator_is_taken_once(tmp_path: Path) -> None:
    write(tmp_path, {"any.py": SEED, "evaluator.py": EVALUATE, "initial_program.py": "z = 1\n"})
    loaded = load_problem(Project(folder=tmp_path / "any.py", evaluator=tmp_path / "evaluator.py"))
    assert loaded.problem.seeds == (Program.of({"any.py": SEED}),)


@pytest.mark.parametrize("below", [True, False])
def test_a_folder_may_be_the_program(tmp_path: Path, below: bool) -> None:
    write(tmp_path / "judge", {"evaluator.py": EVALUATE})
    code = tmp_path / ("judge/code" if below else "code")
    write(code, {"main.py": SEED, "part.py": "y = 2\n"})
    loaded = load_problem(Project(folder=code, evaluator=tmp_path / "judge" / "evaluator.py"))
    assert loaded.problem.seeds == (Program.of({"main.py": SEED, "part.py": "y = 2\n"}),)


def test_a_folder_initial_program_is_the_program(tmp_path: Path) -> None:
    write(tmp_path, {"evaluator.py": EVALUATE, "config.yaml": CONFIG})
    write(tmp_path / "initial_program", {"a.cpp": "int a;", "b.py": "b = 1\n"})
    assert load_problem(tmp_path).problem.seeds == (Program.of({"a.cpp": "int a;", "b.py": "b = 1\n"}),)


@pytest.mark.parametrize(
    ("seed", "evaluator", "config"),
    [
        ("init_program.py", "evaluator.py", "config.yaml"),
        ("initial_prompt.txt", "evaluator.py", "config_phase_1.yaml"),
        ("initial_program.py", "evaluator/evaluator.py", "configs/big.yaml"),
    ],
)
def test_other_names_that_projects_use_are_found(tmp_path: Path, seed: str, evaluator: str, config: str) -> None:
    for path, text in ((seed, SEED), (evaluator, EVALUATE), (config, CONFIG)):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    loaded = load_problem(tmp_path)
    assert loaded.problem.evaluator.file == evaluator
    assert loaded.search["budget"] == {"evaluations": 8}
    assert any("is taken for the configuration" in one for one in loaded.warnings) == (config != "config.yaml")


def test_an_interpreter_is_kept_with_the_problem(tmp_path: Path) -> None:
    place = Project(folder=project(tmp_path, CONFIG), python="/opt/python")
    loaded = load_problem(place)
    assert loaded.problem.evaluator.python == "/opt/python"
    assert load_bundle(loaded.bundle, "again").problem.evaluator.python == "/opt/python"
    assert loaded.bundle.hash != load_problem(tmp_path).bundle.hash
    assert place.words == f"{tmp_path} --python /opt/python"


def test_what_cannot_be_named_is_said_in_one_sentence(tmp_path: Path) -> None:
    root = write(tmp_path / "judge", {"evaluator.py": EVALUATE, "start.py": SEED, "a.yaml": CONFIG})
    assert "is a file: name the folder of the problem, or its evaluator" in complaint(root / "start.py")
    absent = Project(folder=root / "absent.py", evaluator=root / "evaluator.py")
    assert "absent.py cannot be read (No such file or directory)" in complaint(absent)
    other = write(tmp_path / "other", {"a.yaml": "max_iterations: 8\n"})
    place = Project(folder=root / "start.py", evaluator=root / "evaluator.py", config=other / "a.yaml")
    assert "have the same name: rename one of them" in complaint(place)
    write(root, {FILE: "[1]"})
    assert f"{FILE} is a name that Evolve itself uses" in complaint(root)


def test_keys_of_a_configuration_are_not_sent(tmp_path: Path) -> None:
    project(tmp_path, "llm: {primary_model: a, api_key: sk-12345678}\n")
    assert "12345678" not in upload_of(tmp_path).model_dump_json()
