"""A lineage written with a real git, and read back with it."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from service.errors import ConflictError
from service.usecases.git_history import write_history


def git(folder: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def candidate(name: str, *parents: tuple[str, str], **changes: Any) -> dict[str, Any]:
    return {
        "candidate_id": f"cnd_{name}",
        "name": name,
        "status": "evaluated",
        "outcome": "ok",
        "reason": "",
        "operator": "mutate",
        "policy": "syntax",
        "scores": {"loss": 0.5},
        "fitness": -0.5,
        "files": {"program.py": f"x = '{name}'\n"},
        "parents": [{"candidate_id": f"cnd_{parent}", "role": role} for parent, role in parents],
        "created_at": "2026-03-01T12:00:00.5Z",
    } | changes


LINEAGE = [
    candidate("0.0", operator="seed", policy=""),
    candidate("1.0", ("0.0", "parent"), policy="a <b>\nc", files={"program.py": "é\n", 'a "b"/ü.txt': "no line end"}),
    candidate("1.1", ("0.0", "parent"), status="rejected", files=None),
    candidate("2.0", ("0.0", "parent"), outcome="timeout", reason="it ran\nlonger", scores={}, fitness=None),
    candidate("3.0", ("1.0", "parent"), ("2.0", "crossover"), ("0.0", "inspiration")),
]


def test_each_evaluated_candidate_is_a_commit_on_its_parents(tmp_path: Path) -> None:
    folder = tmp_path / "history"
    assert write_history(folder, LINEAGE, "cnd_3.0") == 4
    git(folder, "fsck", "--strict")
    commit = {name: git(folder, "rev-parse", f"evolve/{name}").strip() for name in ("0.0", "1.0", "2.0", "3.0")}
    parents = {name: git(folder, "log", "-1", "--format=%P", f"evolve/{name}").split() for name in commit}
    assert parents == {
        "0.0": [],
        "1.0": [commit["0.0"]],
        "2.0": [commit["0.0"]],
        "3.0": [commit["1.0"], commit["2.0"]],
    }
    assert git(folder, "rev-parse", "HEAD").strip() == commit["3.0"]
    assert (folder / "program.py").read_text() == "x = '3.0'\n"
    assert git(folder, "status", "--short") == ""


def test_files_authors_and_times_are_those_of_the_candidate(tmp_path: Path) -> None:
    write_history(tmp_path, LINEAGE, "cnd_1.0")
    assert {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*") if ".git" not in path.parts} == {
        "program.py", 'a "b"/ü.txt',
    }  # fmt: skip
    assert (tmp_path / 'a "b"' / "ü.txt").read_text() == "no line end"
    assert git(tmp_path, "log", "-1", "--format=%an|%at|%s", "evolve/1.0").strip() == "a  b  c|1772366400|1.0: loss 0.5"
    message = git(tmp_path, "log", "-1", "--format=%B", "evolve/2.0")
    assert message.startswith("2.0: timeout\n\n")
    assert "Reason: it ran longer\n" in message
    trailers = git(tmp_path, "log", "-1", "--format=%(trailers:key=Score-loss,valueonly)", "evolve/1.0")
    assert trailers.strip() == "0.5"


def test_a_folder_that_holds_something_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(ConflictError, match="is not empty"):
        write_history(tmp_path, LINEAGE, None)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
