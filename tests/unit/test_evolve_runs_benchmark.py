"""Runs of `evolve run` for benchmarks: their policies and their command."""

import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from benchmarks.evolve_runs import run_evolve, served

URL = "http://127.0.0.1:1/v1"


def test_the_tuner_stands_beside_the_served_policy() -> None:
    alone, tuned = (tomllib.loads(served(URL, 2, "chain", tuner=tuner))["policies"] for tuner in (False, True))
    assert [(policy["kind"], policy["answers"], policy["format"]) for policy in alone] == [("openai", 4, "tags:answer")]
    assert [policy.get("kind") for policy in tuned] == ["openai", "tuner"]
    (single,) = tomllib.loads(served(URL, 2))["policies"]
    assert (single["answers"], single["format"], single["concurrency"]) == (1, "single", 2)


@pytest.mark.parametrize("tuner", [False, True])
def test_only_runs_with_the_tuner_choose_policies_adaptively(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tuner: bool
) -> None:
    asked: list[list[str]] = []

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        asked.append(command)
        lines = ['{"kind": "candidate.evaluated", "fitness": 0.5}', '{"kind": "candidate.evaluated", "fitness": null}']
        return subprocess.CompletedProcess(command, 0, stdout="\n".join([*lines, '{"kind": "run.ended"}']), stderr="")

    monkeypatch.setattr(subprocess, "run", run)
    scores = run_evolve(tmp_path / "project", served(URL, 2, tuner=tuner), 7, 2, ["--evaluations", "11"], 60.0)
    assert scores == [0.5, 0.0]
    (command,) = asked
    assert ("policy_choice=adaptive" in command) == tuner
    assert command[-2:] == ["--evaluations", "11"]
    assert (tmp_path / "policy.toml").read_text() == served(URL, 2, tuner=tuner)
