"""The command, from `evolve run` to a better program, on a real vLLM."""

import sqlite3
from pathlib import Path

import pytest

from tests.e2e.evolving import Evolve
from tests.vllm.server import VllmServer

pytestmark = [pytest.mark.vllm, pytest.mark.slow]

PROBLEM = """
schema = 1
name = "point"
description = "Return the point of the unit square that lies nearest to a hidden one."
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "point"

[[objectives]]
name = "nearness"

[search]
islands = 2
"""
SEED = "def point():\n    return [0.00, 0.00]\n"
EVALUATOR = """
def score(outputs, program):
    x, y = outputs[0]["value"]
    return {"nearness": 1.0 - ((x - 0.62) ** 2 + (y - 0.41) ** 2) ** 0.5}
"""


@pytest.fixture
def problem(tmp_path: Path) -> str:
    folder = tmp_path / "point"
    folder.mkdir()
    for name, text in {"problem.toml": PROBLEM, "program.py": SEED, "evaluator.py": EVALUATOR}.items():
        (folder / name).write_text(text)
    return str(folder)


@pytest.fixture
def evolve(tmp_path: Path, vllm: VllmServer) -> Evolve:
    """The command, with the server's key in a file of its home."""
    command = Evolve(tmp_path)
    (tmp_path / "key").write_text(vllm.key)
    command.environment["EVOLVE_POLICY_API_KEY_FILE"] = str(tmp_path / "key")
    return command


def test_chains_of_a_real_model_become_children_and_better_ones(
    evolve: Evolve, vllm: VllmServer, problem: str, tmp_path: Path
) -> None:
    *events, summary = evolve.lines("run", problem, "--policy", vllm.url, "--evaluations", "60", "--json")
    assert (summary["state"], summary["evaluations"]) == ("succeeded", 60)
    assert summary["best"]["fitness"] > summary["seed_fitness"]
    assert summary["tokens"]["input"] > summary["tokens"]["cached"] > 0
    answered = [event for event in events if event["kind"] == "proposal.answered"]
    assert max(event["answers"] for event in answered) > 4
    children = evolve.lines("export", summary["run_id"])
    assert len([child for child in children if child["outcome"] == "ok"]) >= 30
    assert all(child["parents"] for child in children if child["proposal_number"])
    assert_the_key_is_nowhere(vllm.key, tmp_path, str(events) + str(summary))


def assert_the_key_is_nowhere(key: str, home: Path, shown: str) -> None:
    assert key not in shown
    with sqlite3.connect(home / "runs.db") as database:
        assert key not in "\n".join(database.iterdump())


def test_an_unknown_model_is_said_in_a_sentence(evolve: Evolve, vllm: VllmServer, problem: str) -> None:
    process = evolve.start("run", problem, "--policy", vllm.url, "--model", "large")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "does not know the model large: it offers tiny" in err
    assert "Traceback" not in err


def test_a_wrong_key_is_said_in_a_sentence(evolve: Evolve, vllm: VllmServer, problem: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("not-this-one")
    process = evolve.start("run", problem, "--policy", vllm.url)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 4
    assert "refuses the key" in err
    assert "not-this-one" not in err
