"""OpenEvolve's own command line: `evolve run PROGRAM EVALUATOR --config FILE`, and an interpreter that is named."""

import json
import os
import sys
from pathlib import Path

import pytest

from tests.command_line import Said, call_here

PROGRAM = "# EVOLVE-BLOCK-START\nx = 1.0\n# EVOLVE-BLOCK-END\n"
EVALUATOR = """
import runpy, sys

def evaluate(program_path):
    x = runpy.run_path(program_path)["x"]
    return {"combined_score": -abs(float(x) - 2.0), "valid": True, "note": sys.executable}
"""
CONFIG = "max_iterations: 9\ndatabase: {num_islands: 1}\nllm: {primary_model: m, api_key: sk-of-nobody-at-all}\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "start.py").write_text(PROGRAM)
    (tmp_path / "judge.py").write_text(EVALUATOR)
    (tmp_path / "fast.yaml").write_text(CONFIG)
    return tmp_path


def evolve(home: Path, *words: str) -> Said:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    return call_here(words, kept | {"HOME": str(home)})


def test_a_program_and_its_evaluator_are_run(home: Path) -> None:
    places = [str(home / name) for name in ("start.py", "judge.py")]
    done = evolve(home, "run", *places, "--config", str(home / "fast.yaml"), "--policy", "syntax", "--json")
    assert done.code == 0, done.err
    summary = json.loads(done.out.splitlines()[-1])
    assert (summary["evaluations"], summary["seed_fitness"]) == (10, -1.0)
    assert "sk-of-nobody-at-all" not in done.out + done.err
    exported = evolve(home, "export", "last", "--format", "events").out
    assert "sk-of-nobody-at-all" not in exported


def test_an_interpreter_that_is_named_evaluates_and_is_kept(
    home: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    own = tmp_path_factory.mktemp("own") / "python"
    own.symlink_to(sys.executable)
    words = [str(home / "start.py"), str(home / "judge.py"), "--python", str(own)]
    found = evolve(home, "problem", "check", *words, "--config", str(home / "fast.yaml"))
    assert found.code == 0, found.out + found.err
    assert f"note: {own}" in found.out
    assert f"evolve run {home}/start.py {home}/judge.py --config {home}/fast.yaml --python {own}" in found.err
    absent = evolve(home, "problem", "check", *words[:2], "--python", str(home / "absent"))
    assert absent.code == 8
    assert "is not a program on this machine: name an interpreter" in absent.out


def test_a_run_configuration_in_yaml_is_still_one(home: Path) -> None:
    (home / "run.yaml").write_text("islands: 2\nbudget: {evaluations: 5}\n")
    folder = home / "folder"
    folder.mkdir()
    (folder / "initial_program.py").write_text(PROGRAM)
    (folder / "evaluator.py").write_text(EVALUATOR)
    done = evolve(home, "run", str(folder), "--config", str(home / "run.yaml"), "--policy", "syntax", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out.splitlines()[-1])["evaluations"] == 5


def test_one_file_alone_is_explained(home: Path) -> None:
    done = evolve(home, "run", str(home / "start.py"))
    assert done.code == 8
    assert "the command gives no score for the program as it is" in done.err
    assert "print the score on the last line" in done.err
