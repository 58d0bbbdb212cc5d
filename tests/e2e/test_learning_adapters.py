"""Runs that train a served model within them: adapters of a server that takes them as vLLM does, with real processes.

A trainer without torch writes the adapters. The training itself is tested in tests/training.
"""

import hashlib
import json
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.evolving import Evolve, make_problem
from tests.e2e.learning import (
    StartTrainer,
    asked,
    begun,
    candidates,
    end_with_a_killed_trainer,
    trainers,
    until,
    updates,
)
from tests.fakes.adapter_server import BASE, ChattingAdapterServer, chatting_adapter_server
from tests.patience import PATIENCE_SECONDS

MODEL = "/models/tiny"
START = "start"
LEARNING = ("--set", "learning.every=3", "--set", f"learning.model={MODEL}")


def written(body: Mapping[str, Any]) -> list[str]:
    """Programs that follow from the prompt alone."""
    digest = hashlib.sha256(json.dumps(body["messages"]).encode()).digest()
    return [f"```python\ndef give():\n    return {digest[place]} / 4\n```" for place in range(body.get("n", 1))]


@pytest.fixture
def server() -> Iterator[ChattingAdapterServer]:
    with chatting_adapter_server(written) as running:
        yield running


@pytest.fixture
def evolve(tmp_path: Path) -> Evolve:
    make_problem(tmp_path / "number")
    return Evolve(tmp_path)


@pytest.fixture
def start_trainer(evolve: Evolve, tmp_path: Path) -> Iterator[StartTrainer]:
    with trainers(evolve, tmp_path) as start:
        yield start


def words(tmp_path: Path, server: ChattingAdapterServer, *more: str, updates: int = 3) -> tuple[str, ...]:
    """A run in a fixed order, whose updates are waited for."""
    policy = (
        "--policy",
        server.url,
        "--param",
        f"name={START}",
        "--param",
        "format=single",
        "--param",
        "answers=1",
        "--param",
        "samples=4",
    )
    search = ("--evaluations", "60", "--set", "deterministic.window=2", "--set", f"learning.updates={updates}")
    return ("run", str(tmp_path / "number"), *policy, *search, *LEARNING, "--set", "learning.versions=1", *more)


def answering(server: ChattingAdapterServer) -> set[str]:
    """The models that chats asked for."""
    return {request.body["model"] for request in server.chats if request.body["messages"]}


def test_a_run_asks_the_adapters_that_it_trained_and_leaves_the_newest_loaded(
    evolve: Evolve, tmp_path: Path, server: ChattingAdapterServer, start_trainer: StartTrainer
) -> None:
    start_trainer()
    evolve.call(*words(tmp_path, server))
    found = updates(evolve)
    name = found[0]["policy"].partition("@")[0]
    assert [one["policy"] for one in found] == [f"{name}@1", f"{name}@2", f"{name}@3"], found
    assert [one["base"] for one in found] == [START, f"{name}@1", f"{name}@2"]
    assert asked(evolve) == {START, f"{name}@1", f"{name}@2", f"{name}@3"}

    served = [f"{name}-{one['model'][:12]}" for one in found]
    assert answering(server) == {BASE, *served}
    assert server.lora.loaded == served
    assert set(server.lora.adapters) == {served[-1]}

    versions = [evolve.json("policy", "show", one["policy"]) for one in found]
    assert [one["base"] for one in versions] == [MODEL, f"{name}@1", f"{name}@2"]
    assert (versions[2]["training"]["backend"], versions[2]["training"]["update"]) == ("trl", 3)
    assert all(problem.startswith("parent ") for problem in versions[2]["training"]["problems"])
    asking = json.loads((tmp_path / "jobs" / found[2]["job"] / "update.json").read_text())
    assert (asking["start"], Path(asking["newest"]).name, asking["bounded"]) == (None, found[1]["model"], [False])

    # The newest adapter answers a run of its own, which goes on from it.
    short = ("--evaluations", "24", "--set", "deterministic.window=2")
    more = ("--set", "learning.every=4", "--set", "learning.updates=1")
    evolve.call("run", str(tmp_path / "number"), "--policy", f"{name}@3", *short, *more)
    (again,) = updates(evolve)
    assert (again["policy"][-2:], again["base"]) == ("@1", f"{name}@3"), again
    assert evolve.json("policy", "show", again["policy"])["base"] == f"{name}@3"


def test_a_run_killed_within_an_update_continues_as_if_it_had_not_been(
    evolve: Evolve, tmp_path: Path, server: ChattingAdapterServer, start_trainer: StartTrainer
) -> None:
    trainer = start_trainer()
    evolve.call(*words(tmp_path, server))
    whole, before = candidates(evolve), len(begun(tmp_path))
    trainer.kill()
    trainer.wait()

    start_trainer(1.5)
    run = evolve.start(*words(tmp_path, server))
    until(lambda: len(begun(tmp_path)) > before + 1)
    run.send_signal(signal.SIGKILL)
    run.communicate()
    server.lora.adapters.clear()  # as if the vLLM had started again meanwhile
    evolve.call("run", "--resume", "last")
    assert candidates(evolve) == whole
    found = updates(evolve)
    assert len(found) == 3
    newest = found[-1]["policy"].partition("@")[0] + "-" + found[-1]["model"][:12]
    assert set(server.lora.adapters) == {newest}
    assert all(job["state"] == "succeeded" for job in evolve.lines("training", "list", "--json"))


def test_a_run_replays_its_updates_without_training(
    evolve: Evolve, tmp_path: Path, server: ChattingAdapterServer, start_trainer: StartTrainer
) -> None:
    trainer = start_trainer()
    run = evolve.start(*words(tmp_path, server, "--evaluations", "400", updates=1), "--json")
    assert run.stdout
    until(lambda: json.loads(next(run.stdout or iter(())))["kind"] == "policy.updated")
    run.send_signal(signal.SIGKILL)
    run.communicate()
    trainer.kill()
    trainer.wait()
    evolve.call("run", "--resume", "last", "--evaluations", "80")
    (found,) = updates(evolve)
    assert found["policy"] in asked(evolve)
    assert len(begun(tmp_path)) == 1


def test_a_trainer_killed_within_an_update_costs_the_update_its_time_alone(
    evolve: Evolve, tmp_path: Path, server: ChattingAdapterServer, start_trainer: StartTrainer
) -> None:
    end_with_a_killed_trainer(evolve.start(*words(tmp_path, server, updates=1)), tmp_path, start_trainer)
    (found,) = updates(evolve)
    assert found["policy"]
    assert len(server.lora.adapters) == 1


POLICY = """
[[policies]]
name = "start"
base_url = "{url}"
api_key_env = "VLLM_KEY"
format = "single"
answers = 1
samples = 3
temperature = 0.5
max_tokens = 512
context_tokens = 4000
timeout_seconds = 77
concurrency = 2
weight = 2
params = {{ top_k = 7 }}
price = {{ input = "0.5", output = "1.5" }}
"""


def test_a_version_is_asked_as_the_policy_of_its_run_was(
    evolve: Evolve, tmp_path: Path, start_trainer: StartTrainer
) -> None:
    start_trainer()
    place, problem = tmp_path / "policy.toml", str(tmp_path / "number")
    short = ("--evaluations", "30", "--set", "deterministic.window=2", "--set", "learning.updates=2", *LEARNING)
    with chatting_adapter_server(written, key="s3cret") as server:
        place.write_text(POLICY.format(url=server.url))
        evolve.environment["VLLM_KEY"] = "s3cret"
        evolve.call("run", problem, "--policy", str(place), *short)
        found = updates(evolve)[1]
        (start,) = evolve.lines("runs", "--json")[0]["policies"]
        (shown,) = evolve.lines("policy", "show", found["policy"], "--json")
        before = len(server.chats)
        evolve.call("run", problem, "--policy", found["policy"], "--evaluations", "12")
    (again,) = evolve.lines("runs", "--json")[0]["policies"]
    model = f"{found['policy'].partition('@')[0]}-{found['model'][:12]}"
    assert again == {key: value for key, value in start.items() if key != "weight"} | {
        "name": found["policy"],
        "model": model,
    }
    assert (again["temperature"], again["max_tokens"], again["price"]["output"]) == (0.5, 512, "1.5")
    bodies = [request.body for request in server.chats[before:]]
    assert {(body["model"], body["temperature"], body["max_tokens"], body["top_k"]) for body in bodies} == {
        (model, 0.5, 512, 7)
    }
    hidden = ("name", "api_key_env", "api_key_file")
    assert shown["settings"] == {key: value for key, value in again.items() if key not in hidden}


UNLUCKY = """
import os

from evolve.selection import Selected


class Unlucky:
    def __call__(self, view, rng, knobs):
        if os.path.exists(os.environ["UNLUCKY"]):
            raise ValueError("no luck today")
        return Selected(place=0)
"""


def numbered() -> Any:
    """Programs that are all different."""
    numbers = count()
    return lambda body: [f"```python\ndef give():\n    return {next(numbers)}\n```" for _ in range(body.get("n", 1))]


def until_updates(run: Any, wanted: int) -> None:
    """Read the events of a run until it has so many updates."""
    seen = 0
    while seen < wanted:
        seen += json.loads(next(run.stdout))["kind"] == "policy.updated"


def newest(evolve: Evolve) -> str:
    found = updates(evolve)[-1]
    return f"{found['policy'].partition('@')[0]}-{found['model'][:12]}"


def test_a_run_that_an_extension_ends_leaves_the_newest_adapter_alone(
    evolve: Evolve, tmp_path: Path, start_trainer: StartTrainer
) -> None:
    start_trainer()
    (tmp_path / "unlucky.py").write_text(UNLUCKY)
    evolve.environment |= {"PYTHONPATH": str(tmp_path), "UNLUCKY": str(tmp_path / "now")}
    more = ("--evaluations", "4000", "--set", "learning.versions=2", "--set", "selection.unlucky:Unlucky=1", "--json")
    with chatting_adapter_server(numbered()) as server:
        run = evolve.start(*words(tmp_path, server, *more, updates=2))
        until_updates(run, 2)
        assert len(server.lora.adapters) == 2
        (tmp_path / "now").touch()
        run.communicate(timeout=PATIENCE_SECONDS)
        assert evolve.json("show", "last")["reason"] == "extension_failed"
        assert set(server.lora.adapters) == {newest(evolve)}


@contextmanager
def served(evolve: Evolve, home: Path) -> Iterator[tuple[str, ...]]:
    """A service on the database, and the words with which commands find it."""
    evolve.call("keys", "create", "tests", "-o", str(home / "key"))
    process = evolve.start("serve", "--port", "0", "--json")
    assert process.stdout is not None
    yield ("--server", json.loads(process.stdout.readline())["url"], "--api-key-file", str(home / "key"))
    process.terminate()
    process.communicate(timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize("end", ["cancel", "delete", "delete with a service"])
def test_a_killed_run_that_is_ended_afterwards_leaves_the_newest_adapter_alone(
    evolve: Evolve, tmp_path: Path, start_trainer: StartTrainer, end: str
) -> None:
    start_trainer()
    more = ("--evaluations", "4000", "--set", "learning.versions=2", "--json")
    with chatting_adapter_server(numbered()) as server:
        run = evolve.start(*words(tmp_path, server, *more, updates=2))
        until_updates(run, 2)
        run.send_signal(signal.SIGKILL)
        run.communicate()
        assert len(server.lora.adapters) == 2
        kept = newest(evolve)
        if end == "cancel":
            evolve.call("cancel", "last")
        else:
            evolve.call("pause", "last")
            with ExitStack() as stack:
                where = stack.enter_context(served(evolve, tmp_path)) if end != "delete" else ()
                evolve.call("delete", evolve.lines("runs", "--json")[0]["run_id"], *where)
            assert evolve.lines("runs", "--json") == []
        assert set(server.lora.adapters) == {kept}


@pytest.mark.parametrize(
    ("fails", "state", "reason"),
    [
        (True, {}, "the disk is full of numbers"),
        (False, {"shift": 0.0}, "answers exactly as its base tiny"),
        (False, {"forgets": True}, "after it was loaded"),
    ],
)
def test_a_run_goes_on_without_the_adapter_of_an_update_that_failed(
    evolve: Evolve, tmp_path: Path, start_trainer: StartTrainer, fails: bool, state: dict[str, Any], reason: str
) -> None:
    start_trainer(0.0, *(["fail"] if fails else []))
    with chatting_adapter_server(written, **state) as server:
        evolve.call(*words(tmp_path, server, updates=2))
        assert server.lora.adapters == {}
    found = updates(evolve)
    assert [one.get("policy") for one in found] == [None, None]
    assert all(reason in one["reason"] for one in found), found
    assert asked(evolve) == {START}


def test_a_server_that_takes_no_adapters_is_refused_before_the_run_is_stored(evolve: Evolve, tmp_path: Path) -> None:
    with chatting_adapter_server(written, updates=False) as server:
        said = evolve.said(*words(tmp_path, server))
    assert said.code != 0
    assert "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True" in said.err
    assert not evolve.lines("runs", "--json")


@pytest.mark.parametrize(
    ("policies", "reason"),
    [
        (("--policy", "http://127.0.0.1:9/v1", "--model", "m"), "in learning.model"),
        (("--policy", "openai:gpt-5", "--set", f"learning.model={MODEL}"), "and openai is neither"),
        (("--policy", "syntax", "--set", f"learning.model={MODEL}"), "and syntax is neither"),
        (("--policy", "bundled:maze-base", "--set", f"learning.model={MODEL}"), "is a bundled policy: leave it out"),
        (
            ("--policy", "http://127.0.0.1:9/v1", "--policy", "syntax", "--set", f"learning.model={MODEL}"),
            "trains a single author",
        ),
        (
            ("--policy", "http://127.0.0.1:9/v1", "--param", "edits=continue", "--set", f"learning.model={MODEL}"),
            "replies that continue a program are not trained on",
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_before_a_server_is_asked(
    evolve: Evolve, tmp_path: Path, policies: tuple[str, ...], reason: str
) -> None:
    said = evolve.said("run", str(tmp_path / "number"), *policies, "--set", "learning.every=3")
    assert (said.code, said.err.count("evolve: ")) == (2, 1), said.err
    assert reason in said.err
    assert not evolve.lines("runs", "--json")
