"""`evolve observe`: a folder, a git history and JSON lines become runs, which every command reads."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Said, call_here

LINES = [
    {"id": "a", "text": "x = 1\n", "scores": {"loss": 3, "size": 5}},
    {"id": "b", "parent": "a", "text": "x = 2\n", "reason": "it crashed"},
    {"id": "c", "parent": "a", "text": "x = 3\n", "scores": {"loss": 1.5}, "author": "model-1"},
    {"id": "d", "parents": ["c", "a"], "text": "x = 4\n", "scores": {"loss": 2}, "at": "2026-03-01T12:00:00Z"},
]
GIT = {
    "GIT_AUTHOR_NAME": "Ada", "GIT_AUTHOR_EMAIL": "ada@localhost",
    "GIT_COMMITTER_NAME": "Ada", "GIT_COMMITTER_EMAIL": "ada@localhost",
}  # fmt: skip


def evolve(home: Path, *words: str) -> Said:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL")}
    return call_here(words, kept | {"HOME": str(home)})


def observed(home: Path, *words: str) -> dict[str, Any]:
    said = evolve(home, "observe", *words, "--minimize", "--json")
    assert said.code == 0, said.err
    return said.lines[0]


def told(home: Path, run_id: str) -> list[dict[str, Any]]:
    return evolve(home, "export", run_id).lines


def git(folder: Path, *words: str) -> str:
    environment = {**os.environ, **GIT, "HOME": str(folder)}
    ended = subprocess.run(["git", *words], cwd=folder, env=environment, check=True, capture_output=True, text=True)
    return ended.stdout.strip()


def test_json_lines_are_recorded_with_their_lineage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(map(json.dumps, LINES)) + "\n"))
    run = observed(tmp_path, "-", "--metric", "loss", "--name", "loop")
    assert (run["state"], run["reason"], run["labels"]) == ("succeeded", "recorded", {"name": "loop"})
    assert (run["seed_fitness"], run["best_fitness"]) == (-3, -1.5)
    first, failed, best, crossed = told(tmp_path, run["run_id"])
    assert (first["operator"], first["scores"]) == ("seed", {"loss": 3, "size": 5})
    assert (failed["outcome"], failed["reason"], failed["fitness"]) == ("error", "it crashed", None)
    assert (best["policy"], best["files"]) == ("model-1", {"program.py": "x = 3\n"})
    assert best["parents"] == [{"candidate_id": first["candidate_id"], "role": "parent"}]
    assert crossed["operator"] == "crossover"
    assert [edge["candidate_id"] for edge in crossed["parents"]] == [best["candidate_id"], first["candidate_id"]]
    assert crossed["created_at"].startswith("2026-03-01T12:00:00")
    lineage = evolve(tmp_path, "lineage", run["run_id"], "--json").lines[0]
    assert [step["delta"] for step in lineage["steps"]] == [None, 1.5]
    assert [one["changed"] for one in told(tmp_path, run["run_id"])] == ["", "constants", "constants", "constants"]


@pytest.mark.parametrize(
    "words", [("resume", "last"), ("extend", "last", "--evaluations", "9"), ("run", "--resume", "last")]
)
def test_a_recorded_run_cannot_be_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{json.dumps(LINES[0])}\n"))
    observed(tmp_path, "-", "--metric", "loss")
    said = evolve(tmp_path, *words)
    assert said.code != 0
    assert "recorded from another loop" in said.err
    assert "--seeds-from" in said.err
    run = evolve(tmp_path, "show", "last", "--json").lines[0]
    assert (run["state"], run["reason"]) == ("succeeded", "recorded")


def test_a_line_that_is_no_version_ends_the_run_with_what_came_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{json.dumps(LINES[0])}\nnonsense\n"))
    said = evolve(tmp_path, "observe", "-", "--metric", "loss", "--minimize")
    assert said.code == 2
    assert "line 2 is not a version" in said.err
    run = evolve(tmp_path, "show", "last", "--json").lines[0]
    assert (run["state"], run["counters"]["evaluations"]) == ("succeeded", 1)


def test_a_metric_that_no_version_has_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for metric, warned in (("gain", True), ("loss", False)):
        monkeypatch.setattr(sys, "stdin", io.StringIO(f"{json.dumps(LINES[0])}\n"))
        said = evolve(tmp_path, "observe", "-", "--metric", metric)
        assert (said.code, f"no version has a score {metric}" in said.err) == (0, warned)


def test_a_folder_is_a_chain_in_the_order_of_its_names(tmp_path: Path) -> None:
    folder = tmp_path / "loop"
    folder.mkdir()
    for number in (1, 9, 10):
        (folder / f"v{number}.py").write_text(f"x = {number}\n")
    (folder / "scores.json").write_text(json.dumps({"v1": 3, "v10.py": {"loss": 1}}))
    run = observed(tmp_path, str(folder), "--metric", "loss")
    candidates = told(tmp_path, run["run_id"])
    assert [one["files"]["program.py"] for one in candidates] == ["x = 1\n", "x = 9\n", "x = 10\n"]
    assert [one["fitness"] for one in candidates] == [-3, None, -1]
    assert candidates[2]["parents"][0]["candidate_id"] == candidates[1]["candidate_id"]


def test_commits_with_a_score_are_versions(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    (folder / "src").mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    for number, message in enumerate(("Start\n\nloss: 3", "Without a score", "Better\n\nloss: 1.5e0"), start=1):
        (folder / "src" / "program.py").write_text(f"x = {number}\n")
        (folder / "notes.txt").write_text(f"{number}")
        git(folder, "add", ".")
        git(folder, "commit", "-qm", message)
    run = observed(tmp_path, str(folder), "--metric", "loss", "--path", "src")
    first, second = told(tmp_path, run["run_id"])
    assert second["files"] == {"src/program.py": "x = 3\n"}
    assert second["parents"][0]["candidate_id"] == first["candidate_id"]
    assert (second["policy"], second["fitness"]) == ("Ada", -1.5)


def test_a_history_of_other_files_says_to_name_those_of_the_program(tmp_path: Path) -> None:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "program.py").write_text("x = 1\n")
    (folder / "image.bin").write_bytes(b"\0\1")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start\n\nloss: 3")
    for words, sentence in (
        ([], "image.bin holds a NUL character: name the files of your program with --path"),
        (["--path", "absent"], "--path names files that the commits have"),
    ):
        said = evolve(tmp_path, "observe", str(folder), "--metric", "loss", "--minimize", *words)
        assert (said.code, said.out) == (2, "")
        assert sentence in said.err
    assert (
        len(told(tmp_path, observed(tmp_path, str(folder), "--metric", "loss", "--path", "program.py")["run_id"])) == 1
    )


def test_an_exported_history_comes_back_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(map(json.dumps, LINES)) + "\n"))
    run = observed(tmp_path, "-", "--metric", "loss")
    assert evolve(tmp_path, "export", run["run_id"], "--git", str(tmp_path / "history")).code == 0
    again = observed(tmp_path, str(tmp_path / "history"), "--metric", "loss")
    first, second = (
        {one["files"]["program.py"]: (one["fitness"], one["reason"]) for one in told(tmp_path, found["run_id"])}
        for found in (run, again)
    )
    assert second == first
    assert (None, "it crashed") in first.values()
    assert again["best_fitness"] == run["best_fitness"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere"], "is not a folder"),
        (["empty"], "scores of the versions cannot be read"),
        (["empty", "--path", "src"], "--path is for a git repository"),
    ],
)
def test_mistakes_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    ended = evolve(tmp_path, "observe", *words, "--metric", "loss")
    assert ended.code == 2
    assert said in ended.err


def test_a_recorded_run_is_not_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps(LINES[0]) + "\n"))
    run = observed(tmp_path, "-", "--metric", "loss")
    ended = evolve(tmp_path, "run", "--resume", run["run_id"])
    assert ended.code != 0
    assert "a bug in evolve" not in ended.err
