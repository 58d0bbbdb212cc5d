"""A flywheel of a served model on programs, with real training: killed in each phase, it continues."""

import json
import os
import re
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.evolving import Evolve
from tests.fakes.adapter_server import AdapterServer, adapter_server
from tests.patience import PATIENCE_SECONDS
from tests.training.problem import make_point, point
from tests.training.spelling_model import make_spelling_model

if TYPE_CHECKING:
    import subprocess

pytestmark = [pytest.mark.training, pytest.mark.timeout(1500)]

FORM = 'answers = 1\nedits = "rewrite"\nsamples = 1\ntemperature = 0.5\nmax_tokens = 64\nconcurrency = 1\n'
STEPS, SAVE_EVERY = 8, 2
SMALL = ("rank=2", "max_tokens=6000", "batch=1", "completions=2", "completion_tokens=8")


@pytest.fixture
def server() -> Iterator[AdapterServer]:
    numbers = iter(range(10_000))

    def written(_: Mapping[str, Any]) -> list[str]:
        number = next(numbers)
        return [f"<answer_1>\n{point(number % 37 / 37, number % 23 / 23)}\n</answer_1>"]

    with adapter_server(respond=written) as found:
        yield found


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model with random weights, whose context holds the prompts of a run."""
    return make_spelling_model(tmp_path / "model", m=1, steps=0, context=8192)


@pytest.fixture
def evolve(tmp_path: Path, server: AdapterServer, model: Path) -> Evolve:
    """A place with a family, a held-out problem, and a policy with a first version."""
    found = Evolve(tmp_path)
    found.environment["OMP_NUM_THREADS"] = "1"
    for group, name in (("searched", "one"), ("searched", "two"), ("held", "three")):
        (tmp_path / group).mkdir(exist_ok=True)
        text = (make_point(tmp_path / group / name) / "problem.toml").read_text()
        text = text.replace('"point"', f'"{name}"', 1) + "selection = { uniform = 1.0 }\n"
        (tmp_path / group / name / "problem.toml").write_text(text)
    found.call("run", str(tmp_path / "searched" / "one"), "--policy", "syntax", "--evaluations", "40")
    adapter, warm = tmp_path / "warm" / "adapter", ("--updates", "1", "--batch", "1", "--rank", "2", "--answers", "1")
    sizes = ("--max-tokens", "6000", "--threads", "1", "-o", str(adapter.parent))
    found.call("train", "sft", "last", "--model", str(model), *warm, *sizes)
    (adapter / "evolve.toml").write_text(FORM)
    found.call("policy", "add", "writer", str(adapter), "--served", server.url)
    found.call("policy", "promote", "writer@1")
    return found


def words_of(tmp_path: Path, server: AdapterServer, model: Path, held_out: str = "held") -> list[str]:
    words = ["flywheel", "run", "programs", str(tmp_path / "searched"), "--held-out", str(tmp_path / held_out)]
    words += ["--policy", "writer", "--backend", "trl", "--method", "sft", "--model", str(model)]
    words += ["--served", server.url, "--rounds", "1", "--problems", "2", "--evaluations", "30"]
    words += ["--test-problems", "6", "--steps", str(STEPS), "--save-every", str(SAVE_EVERY), "--threads", "1"]
    words += ["--folder", str(tmp_path / "training"), "--allow-training"]
    return words + [word for value in SMALL for word in ("--set", value)]


def kill_when(evolve: Evolve, words: list[str], found: Callable[[], Any]) -> None:
    """Start it, and kill it as soon as something is so."""
    process: subprocess.Popen[str] = evolve.start(*words)
    end = time.monotonic() + 6 * PATIENCE_SECONDS
    while not found():
        assert time.monotonic() < end
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.2)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()


def test_a_flywheel_of_programs_is_gated_on_problems_that_it_never_trains_on(
    evolve: Evolve, server: AdapterServer, model: Path, tmp_path: Path
) -> None:
    words = words_of(tmp_path, server, model)

    def runs(label: str) -> list[dict[str, Any]]:
        return evolve.lines("runs", "--label", label, "--json")

    kill_when(evolve, words, lambda: runs("held-out-of=programs"))
    held = {run["run_id"] for run in runs("held-out-of=programs")}
    kill_when(evolve, words, lambda: any(job["checkpoint"] for job in evolve.lines("training", "list", "--json")))
    # The vLLM is started again.
    server.adapters.clear()
    del server.offered[1:]
    process = evolve.start(*words)
    out, said = process.communicate(timeout=8 * PATIENCE_SECONDS)
    assert process.returncode == 0, said
    assert "from the checkpoint update" in out

    (job,) = evolve.lines("training", "list", "--json")
    assert {run["run_id"] for run in runs("held-out-of=programs")} == held == set(job["request"]["test_runs"])
    assert set(job["runs"]) == {run["run_id"] for run in runs("flywheel=programs")}
    assert {run["problem_name"] for run in runs("flywheel=programs")} == {"one", "two"}
    (version,) = evolve.lines("policy", "show", "writer@2", "--json")
    learnt = [name for name in version["training"]["problems"] if name.startswith("problem ")]
    assert sorted(name.split()[1] for name in learnt) == ["one", "two"]
    assert set(version["training"]["runs"]) == set(job["runs"])
    (evaluation,) = version["evaluations"]
    assert len(evaluation["problems"]) == 6
    assert all(
        re.fullmatch(r"parent [0-9a-f]{12} of problem three [0-9a-f]{12}", one) for one in evaluation["problems"]
    )
    assert (version["settings"]["temperature"], version["settings"]["max_tokens"]) == (0.5, 64)
    assert "other problems: problem three" in version["card"]
    (evaluated,) = (tmp_path / "training" / job["id"]).glob("evaluation-adapter-*.json")
    assert json.loads(evaluated.read_text())["temperature"] == 0.5
    (found,) = evolve.lines("flywheel", "show", "programs", "--json")
    assert (found["version"], found["promoted"], found["policy"], found["problems"]) == (2, False, "writer@1", 2)
    assert set(server.adapters) == {server.offered[1]}

    other = evolve.said(*words[:4], *words[6:])
    assert (other.code, "begun with held-out problems 1, not 0" in other.err) == (5, True), other.err


def test_what_cannot_be_trained_is_refused_before_anything_is_searched(
    evolve: Evolve, server: AdapterServer, model: Path, tmp_path: Path
) -> None:
    words = words_of(tmp_path, server, model, "searched")
    both = evolve.said(*words)
    assert (both.code, "hold out other problems" in both.err) == (2, True), both.err
    words = words_of(tmp_path, server, model)
    at = words.index("--model")
    base = evolve.said(*words[:at], *words[at + 4 :])
    assert (base.code, "leave base out, and name the model" in base.err) == (2, True), base.err
    maze = evolve.said(*[word if word != "trl" else "maze" for word in words])
    assert (maze.code, "the back end maze has no model" in maze.err) == (2, True), maze.err
    assert [run["problem_name"] for run in evolve.lines("runs", "--json")] == ["one"]
