"""A training job of an adapter with a real vLLM: loaded while it runs, other answers than its model, and unloaded."""

import json
import os
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import VLLM_PYTHON
from tests.e2e.evolving import Evolve
from tests.patience import PATIENCE_SECONDS
from tests.training.problem import make_point
from tests.vllm.server import MODEL, VllmServer, vllm_server
from tests.vllm.test_maze import post

pytestmark = [pytest.mark.training, pytest.mark.vllm, pytest.mark.slow]

SIZES = tuple(
    word
    for value in ("rank=8", "rate=0.003", "prompts=1", "group=4", "max_tokens=256", "completions=2")
    for word in ("--set", value)
)


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """A vLLM that takes adapters while it runs."""
    python = Path(os.environ[VLLM_PYTHON]).absolute()
    with vllm_server(python, tmp_path_factory.mktemp("vllm"), "key-of-the-tests", adapters=True) as server:
        yield server


def ended(evolve: Evolve, *words: str) -> dict[str, Any]:
    """The last event of a job that was submitted with these words."""
    job = evolve.json("training", "submit", "writer", "--new", "--backend", "trl", "--run", "last", *words)["id"]
    end = time.monotonic() + 8 * PATIENCE_SECONDS
    while (state := evolve.json("training", "show", job)["state"]) in ("queued", "running"):
        assert time.monotonic() < end, state
        time.sleep(2)
    lines = evolve.call("training", "watch", job, "--json", code=0 if state == "succeeded" else 1).splitlines()
    last: dict[str, Any] = json.loads(lines[-1])
    return last


def loaded(server: VllmServer) -> set[str]:
    """The adapters that a server offers."""
    request = urllib.request.Request(f"{server.url}/models", headers={"Authorization": f"Bearer {server.key}"})
    with urllib.request.urlopen(request, timeout=60) as response:
        return {one["id"] for one in json.load(response)["data"]} - {MODEL}


def rated(server: VllmServer, model: str) -> str:
    """The log-probabilities of a model's likeliest text."""
    body = {"model": model, "prompt": "def point():\n    return [", "max_tokens": 24, "temperature": 0.0, "logprobs": 1}
    return json.dumps(post(server, "/completions", body)["choices"][0]["logprobs"]["token_logprobs"])


def test_the_adapter_of_a_job_is_served_by_a_running_vllm(vllm: VllmServer, tmp_path: Path) -> None:
    folder, evolve = make_point(tmp_path / "point"), Evolve(tmp_path)
    (tmp_path / "key").write_text(vllm.key)
    evolve.environment |= {"EVOLVE_POLICY_API_KEY_FILE": str(tmp_path / "key"), "OMP_NUM_THREADS": "1"}
    search = ("run", str(folder), "--evaluations", "24", "--param", "adapt=[]", "--json")
    assert evolve.lines(*search, "--policy", vllm.url, "--model", MODEL)[-1]["state"] == "succeeded"
    evolve.call("training", "allow", "--all")
    model = str(Path(os.environ[VLLM_PYTHON]).absolute().parent.parent / "tiny-model")
    trainer = evolve.start("trainer", "--folder", str(tmp_path / "training"), "--threads", "1")
    try:
        words = ("--method", "vpo", "--model", model, "--served", vllm.url, "--steps", "2", "--test-problems", "0")
        first = ended(evolve, *words, "--promote", *SIZES)
        assert first["kind"] == "training.succeeded", first
        assert (first["payload"]["version"], first["payload"]["promoted"]) == (1, True), first
        (adapter,) = loaded(vllm)
        assert adapter.startswith("writer-")
        assert rated(vllm, adapter) != rated(vllm, MODEL)

        # The promoted version answers a run. A job goes on from it.
        assert evolve.lines(*search, "--policy", "writer")[-1]["valid"] > 0
        (event,) = [json.loads(line) for line in evolve.call("export", "last", "--training").splitlines()][:1]
        assert event["policy"] == "writer@1"
        again = ended(evolve, "--method", "vpo", "--base", "writer", "--steps", "2", "--test-problems", "0", *SIZES)
        assert (again["payload"]["version"], again["payload"]["promoted"]) == (2, False)
        (version,) = evolve.lines("policy", "show", "writer@2", "--json")
        assert (version["base"], loaded(vllm)) == ("writer@1", {adapter})

        # An adapter of another model does not load: the job keeps the version, and does not promote it.
        config = tmp_path / "wrong"
        config.mkdir()
        (config / "adapter_config.json").write_text(
            json.dumps({"peft_type": "LORA", "r": 8, "target_modules": ["q_proj"], "base_model_name_or_path": model})
        )
        (config / "adapter_model.safetensors").write_bytes(b"no weights")
        evolve.call("policy", "add", "writer", str(config), "--served", vllm.url)
        refused = evolve.said("policy", "promote", "writer@3", "--force", "a test")
        assert (refused.code, "did not load it" in refused.err) == (6, True), refused.err
        assert evolve.lines("policy", "show", "writer@1", "--json")[0]["state"] == "promoted"
        assert loaded(vllm) == {adapter}
    finally:
        trainer.terminate()
        trainer.communicate(timeout=PATIENCE_SECONDS)
    evolve.call("policy", "unload", adapter, "--policy", vllm.url)
    assert loaded(vllm) == set()
