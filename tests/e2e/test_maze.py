"""A run on the maze of the examples, with a model that reads the maze in short and answers with routes."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.domains.maze import best, maze_of, read_brief, steps
from tests.e2e.evolving import Evolve, EvolveHere
from tests.fakes.openai_server import chain, openai_server

MAZE = str(Path(__file__).parents[2] / "examples" / "maze")
CORNERS = ([0.25] * 4, [0.9, 0.1, 0.0, 0.0], [0.1, 0.0, 0.9, 0.0])
POLICY = """
[[policies]]
name = "walker"
kind = "openai"
base_url = "{url}"
model = "fake"
format = "tags:route"
answers = 3
"""


def routes(body: Mapping[str, Any]) -> list[str]:
    """Best walks for different weights, in the words of small policies, from what the prompt says in short."""
    text = body["messages"][-1]["content"]
    (line,) = [line for line in text.splitlines() if line.startswith("In short: ")]
    maze = read_brief(line.removeprefix("In short: "))
    walks = [" ".join(steps(maze, best(maze, weights).moves)) for weights in CORNERS]
    return [chain(*walks, tag="route")] * body.get("n", 1)


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    return EvolveHere(tmp_path)


# The server writes four routes, however many it is asked for.
PACE = ("--set", "concurrency.policy=1")


def test_routes_of_a_model_reach_the_known_best(evolve: Evolve, tmp_path: Path) -> None:
    with openai_server(routes) as server:
        (tmp_path / "policy.toml").write_text(POLICY.format(url=server.url))
        words = ("run", MAZE, "--policy", str(tmp_path / "policy.toml"), "--evaluations", "4", "--seed", "1", *PACE)
        summary = evolve.lines(*words, "--json")[-1]
        prompt = server.chats[0].body["messages"][-1]["content"]
    maze = maze_of("hard", "questions", 0)
    known = best(maze, np.full(4, 0.25)).value
    assert summary["known_best"] == pytest.approx(known)
    assert summary["best"]["fitness"] == pytest.approx(known)
    assert (summary["evaluations"], summary["failed"]) == (4, 0)
    assert "ULLDLLLL" in prompt
    assert "The walk ends on E (b7) after 8 of at most 24 moves." in prompt
    exported = [json.loads(line) for line in evolve.call("export", "last").splitlines()]
    assert {text.split()[0] for one in exported[1:] for text in one["files"].values()} <= {"Dh8", "Lg7", "Uh6"}


def test_the_summary_compares_with_the_exact_optimum(evolve: Evolve, tmp_path: Path) -> None:
    with openai_server(routes) as server:
        (tmp_path / "policy.toml").write_text(POLICY.format(url=server.url))
        out = evolve.call(
            "run", MAZE, "--policy", str(tmp_path / "policy.toml"), "--evaluations", "4", "--seed", "1", *PACE
        )
    assert "The best known fitness is reached" in out
    (row,) = [line for line in out.splitlines() if line.startswith("best known")]
    assert row.split()[-1] == "0.8214285714"


def test_without_a_model_the_run_says_who_writes_text(evolve: Evolve) -> None:
    said = evolve.said("run", MAZE)
    assert said.code == 2
    assert "the built-in syntax mutator finds nothing to change in maze" in said.err
    assert "--policy bundled:NAME" in said.err


def test_a_problem_begun_from_a_question_passes_its_check(evolve: Evolve, tmp_path: Path) -> None:
    evolve.call("problem", "init", str(tmp_path / "walk"), "--domain", "maze", "--number", "2")
    report = evolve.json("problem", "check", str(tmp_path / "walk"))
    assert report["ok"], report
    assert report["seeds"][0]["scores"]["completion"] == 1.0


def test_what_names_no_question_is_refused(evolve: Evolve, tmp_path: Path) -> None:
    target = str(tmp_path / "new")
    evolve.call("problem", "init", target, "--number", "2", code=2)
    evolve.call("problem", "init", target, "--domain", "chess", code=2)
    evolve.call("problem", "init", target, "--domain", "musique", "--data", str(tmp_path / "no.jsonl"), code=8)
    assert not (tmp_path / "new").exists()
