"""The real library loads an exported problem, asks a scripted model, and has its replies scored in the sandbox."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import EVOLVE
from tests.fakes.openai_server import OpenAIServer, chain, openai_server

# Warnings of the library are for those who write it.
pytestmark = [pytest.mark.verifiers, pytest.mark.filterwarnings("default")]

PROBLEM = """
schema = 1
name = "Two Goals"
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "give"

[[objectives]]
name = "width"
low = 0.0
high = 10.0
weight = 3.0

[[objectives]]
name = "height"
low = 0.0
high = 10.0

[search]
evaluations = 6
"""
UNBOUNDED = PROBLEM[: PROBLEM.index("[[objectives]]")] + '[[objectives]]\nname = "width"\n'
PROGRAM = "def give():\n    return {}, {}\n"
EVALUATOR = """
def score(outputs, program):
    if outputs[0]["error"]:
        return {"error": outputs[0]["error"]}
    width, height = outputs[0]["value"]
    return {"width": width, "height": height}
"""


def problem_of(folder: Path, text: str = PROBLEM) -> Path:
    folder.mkdir()
    (folder / "problem.toml").write_text(text)
    (folder / "program.py").write_text(PROGRAM.format(4.0, 2.0))
    (folder / "evaluator.py").write_text(EVALUATOR if text == PROBLEM else EVALUATOR.replace(', "height": height', ""))
    return folder


@pytest.fixture
def package(tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The package of a problem, installed and imported."""
    monkeypatch.setenv("HOME", str(tmp_path))
    problem = problem_of(tmp_path / "problem", getattr(request, "param", PROBLEM))
    evolve(tmp_path, "export", str(problem), "--verifiers", str(tmp_path / "package"))
    yield from imported(tmp_path / "package", monkeypatch)


def evolve(home: Path, *words: str) -> str:
    environment = {"HOME": str(home), "PATH": os.environ["PATH"]}
    done = subprocess.run([EVOLVE, *words], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def imported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "-qq", "--no-deps"]
    target = folder.parent / "installed"
    words = ["--no-build-isolation", "--no-index", "--target", str(target), str(folder)]
    subprocess.run([*pip, *words], check=True, capture_output=True)
    monkeypatch.syspath_prepend(str(target))
    try:
        yield import_module("evolve_two_goals")
    finally:
        sys.modules.pop("evolve_two_goals", None)


async def rollouts(package: Any, server: OpenAIServer, count: int) -> list[Any]:
    """The traces of rollouts of the first task, one after the other."""
    import verifiers.v1 as vf
    from verifiers.v1.utils.loaders import load_environment

    config = package.ProblemEnvConfig(taskset={"id": "evolve-two-goals", "task": {"slots": 1}})
    environment = load_environment(config)
    client = vf.EvalClientConfig(base_url=server.url, api_key_var="TESTED_KEY")
    context = vf.ModelContext(model="fake", client=client, sampling=vf.SamplingConfig())
    task = next(iter(environment.taskset))
    traces = []
    async with environment.serving():
        for slot in environment.slots(task, count):
            episode = await environment.run_slot(slot, context)
            assert episode.errors == []
            traces += episode.traces
    return traces


REPLIES = [
    chain(PROGRAM.format(10.0, 6.0)),
    chain(PROGRAM.format(10.0, 6.0)),
    chain("def give():\n    raise ValueError\n"),
    "There is nothing to improve.",
]


async def test_replies_are_scored_by_the_evaluator_of_the_problem(
    package: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESTED_KEY", "sk-tested")
    replies = iter(REPLIES)
    with openai_server(lambda _: [next(replies)], key="sk-tested") as server:
        traces = await rollouts(package, server, len(REPLIES))
    assert [trace.errors for trace in traces] == [[]] * 4
    best = {"valid": 1.0, "fitness": 0.9, "reward_width": 1.0, "reward_height": 0.6}  # (3 * 1 + 0.6) / 4 = 0.9
    for trace in traces[:2]:
        assert trace.reward == pytest.approx(0.9)
        assert {name: trace.metrics[name] for name in best} == pytest.approx(best)
    for trace in traces[2:]:
        assert (trace.reward, trace.metrics["valid"]) == (0.0, 0.0)
    system, user = server.chats[0].body["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    assert "return 4.0, 2.0" in user["content"]


@pytest.mark.parametrize("package", [UNBOUNDED], indirect=True)
async def test_without_bounds_the_reward_is_relative_to_the_parent(
    package: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TESTED_KEY", "sk-tested")
    replies = iter([chain(PROGRAM.format(width, 0.0)) for width in (4.5, 8.0, 2.0)])
    with openai_server(lambda _: [next(replies)]) as server:
        traces = await rollouts(package, server, 3)
    # The parent has 4. A gain g in units of it becomes (1 + g / (1 + |g|)) / 2.
    assert [trace.reward for trace in traces] == pytest.approx([0.5 + 0.5 / 9, 0.75, 0.5 - 0.5 / 3])


async def test_a_run_brings_its_best_programs_as_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    problem = problem_of(tmp_path / "problem")
    evolve(tmp_path, "run", str(problem), "--seed", "3", "--json")
    told = json.loads(evolve(tmp_path, "export", "last", "--verifiers", str(tmp_path / "package"), "--json"))
    lines = evolve(tmp_path, "export", "last").splitlines()
    worth = sorted({record["fitness"] for record in map(json.loads, lines) if record["fitness"] is not None})
    with contextmanager(imported)(tmp_path / "package", monkeypatch) as package:
        tasks = list(package.ProblemTaskset(package.ProblemTasksetConfig()))
        parents = package.open_scorer(None, 0).parents
    assert told == {"schema": 1, "name": "evolve-two-goals", "parents": len(tasks), "path": str(tmp_path / "package")}
    assert len(tasks) >= 2
    assert parents[0].fitness == worth[-1]
    assert [task.data.id for task in tasks] == [parent.candidate_id for parent in parents]
    assert [parent.fitness for parent in parents] == sorted((one.fitness for one in parents), reverse=True)
