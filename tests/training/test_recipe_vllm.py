"""The recipe from end to end: a run, its records, an adapter, and the next run that the adapter answers."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.cli.exit_codes import REFUSED, USAGE
from tests.conftest import VLLM_PYTHON
from tests.e2e.evolving import Evolve
from tests.training.problem import make_point
from tests.vllm.server import MODEL, VllmServer, vllm_server

pytestmark = [
    pytest.mark.training,
    pytest.mark.vllm,
    pytest.mark.slow,
]

KEY = "key-of-the-tests"
ADAPTER = "point-vpo"


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    """A vLLM that takes adapters while it runs."""
    python = Path(os.environ[VLLM_PYTHON]).absolute()
    with vllm_server(python, tmp_path_factory.mktemp("vllm"), KEY, adapters=True) as server:
        yield server


def test_a_run_is_answered_by_the_adapter_that_an_earlier_run_trained(vllm: VllmServer, tmp_path: Path) -> None:
    folder, records = make_point(tmp_path / "point"), tmp_path / "records.jsonl"
    evolve = Evolve(tmp_path)
    (tmp_path / "key").write_text(vllm.key)
    evolve.environment["EVOLVE_POLICY_API_KEY_FILE"] = str(tmp_path / "key")

    def run(model: str) -> Any:
        form = ("--param", "adapt=[]")  # in chains of four alone: other forms have pools of other sizes
        words = ("run", str(folder), "--policy", vllm.url, "--model", model, "--evaluations", "24", *form)
        return evolve.lines(*words, "--json")[-1]

    assert run(MODEL)["state"] == "succeeded"
    evolve.call("export", "last", "--training", "-o", str(records))
    model = Path(os.environ[VLLM_PYTHON]).absolute().parent.parent / "tiny-model"
    words = ("train", "lora", str(folder), "--model", str(model), "--records", str(records))
    sizes = ("--steps", "3", "--prompts", "1", "--group", "4", "--rate", "1e-3", "--rank", "8", "--max-tokens", "256")
    reports = evolve.lines(*words, "-o", str(tmp_path / "trained"), *sizes, "--json")
    adapter = Path(reports[-1]["adapter"])
    steps = [report for report in reports if report["kind"] == "training.step"]
    assert [report["step"] for report in steps] == [1, 2, 3]
    assert all(report["pool_size"] == 4 for report in steps)  # a model that writes chains of four
    assert all(0.3 < report["set_reward"] <= 1 for report in steps)

    server = ("--policy", vllm.url, "--json")
    (loaded,) = evolve.lines("policy", "load", ADAPTER, str(adapter), *server)
    assert (loaded["name"], loaded["base"]) == (ADAPTER, MODEL)
    assert loaded["difference"] > 0
    second = run(ADAPTER)
    assert (second["state"], second["evaluations"]) == ("succeeded", 24)
    assert second["valid"] >= 12
    assert vllm.metric("vllm:generation_tokens_total") > 0
    (proposal,) = [json.loads(line) for line in evolve.call("export", "last", "--training").splitlines()][:1]
    assert len(proposal["answers"]) > 1
    assert evolve.lines("policy", "unload", ADAPTER, *server)[0]["loaded"] is False
    refused = evolve.said("run", str(folder), "--policy", vllm.url, "--model", ADAPTER, "--evaluations", "24")
    assert refused.code == REFUSED
    assert f"does not know the model {ADAPTER}" in refused.err


def test_an_adapter_that_is_not_there_is_refused_by_the_server(vllm: VllmServer, tmp_path: Path) -> None:
    evolve = Evolve(tmp_path)
    (tmp_path / "key").write_text(vllm.key)
    evolve.environment["EVOLVE_POLICY_API_KEY_FILE"] = str(tmp_path / "key")
    refused = evolve.said("policy", "load", "absent", "/nowhere/adapter", "--policy", vllm.url)
    assert refused.code in {REFUSED, USAGE}
    assert refused.err.count("evolve: ") == 1
    assert "/nowhere/adapter" in refused.err
