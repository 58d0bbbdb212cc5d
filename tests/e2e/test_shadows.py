"""Files of the user's that are called like our packages, beside a script and in a problem's folder."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.evolving import EVALUATOR, EvolveHere, make_problem
from tests.patience import PATIENCE_SECONDS

SCRIPT = """
import evolve

found = evolve.run("x = 7\\n", evaluate=lambda source: 1.0, evaluations=2)
print(found.reason)
print(type(found.statistics).__name__)
"""


def started(folder: Path, script: str = SCRIPT) -> "subprocess.CompletedProcess[str]":
    """A script in a folder, in a process whose first place for modules is that folder."""
    (folder / "script.py").write_text(script)
    return subprocess.run(
        [sys.executable, str(folder / "script.py")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("path", ["service.py", "service/__init__.py"])
@pytest.mark.parametrize("first", ["", "import service\n"])
def test_a_module_called_like_ours_is_named_in_one_sentence(tmp_path: Path, path: str, first: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("value = 1\n")
    said = started(tmp_path, first + SCRIPT)
    assert said.returncode == 1
    last = said.stderr.splitlines()[-1]
    assert last.startswith(f"ImportError: {file} has the name of a package of evolve, 'service'")
    assert "rename it" in last


def test_migrations_of_the_users_own_stand_in_the_way_of_statistics_alone(tmp_path: Path) -> None:
    (tmp_path / "migrations").mkdir()
    (tmp_path / "migrations" / "__init__.py").write_text("")
    said = started(tmp_path)
    assert said.stdout == "evaluations\n"
    assert f"ImportError: {tmp_path}/migrations/__init__.py has the name" in said.stderr


@pytest.mark.parametrize("path", ["training.py", "service/notes.txt", "problems.py"])
def test_other_files_stand_in_nobodys_way(tmp_path: Path, path: str) -> None:
    file = tmp_path / path
    file.parent.mkdir(exist_ok=True)
    file.write_text("")
    assert (said := started(tmp_path)).returncode == 0, said.stderr


def test_a_problem_may_have_modules_called_like_ours(tmp_path: Path) -> None:
    problem = make_problem(tmp_path / "problem")
    names = ("service", "training", "evolve", "migrations")
    for name in names:
        (problem / f"{name}.py").write_text("VALUE = 1\n")
    (problem / "evaluator.py").write_text(f"import {', '.join(names)}\nassert service.VALUE == 1\n{EVALUATOR}")
    here = EvolveHere(tmp_path)
    assert here.json("problem", "check", str(problem))["ok"]
    assert "succeeded" in here.call("run", str(problem), "--evaluations", "3", "--json")


def test_what_a_user_calls_stands_first() -> None:
    script = "import evolve, pydoc\nprint('run' in dir(evolve))\nprint(pydoc.plain(pydoc.render_doc(evolve)))"
    said = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    listed, text = said.stdout.split("\n", 1)
    assert listed == "True"
    assert 0 < text.index("evolve.run(seed, evaluate=score)") < text.index("PACKAGE CONTENTS")
    assert "\n    run(" in text
