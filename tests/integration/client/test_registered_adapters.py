"""LoRA adapters in the registry: a promoted version is loaded into the running vLLM that serves it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Said
from tests.e2e.evolving import Evolve, EvolveHere, make_problem
from tests.fakes.adapter_server import AdapterServer, adapter_server
from tests.integration.client.served import Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Commands on a database, or with a service on it."""

    evolve: Evolve
    where: tuple[str, ...] = ()

    def said(self, *words: str) -> Said:
        found = self.evolve.said(*words, *self.where)
        assert "Traceback" not in found.err
        return found

    def version(self, named: str) -> dict[str, Any]:
        (found,) = self.said("policy", "show", named, "--json").lines
        return found


@pytest.fixture(params=["database", "service"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "database":
        yield Place(evolve=EvolveHere(tmp_path))
        return
    service = Service(tmp_path)
    service.start()
    yield Place(evolve=service.evolve, where=tuple(service.words()))
    service.stop()


@pytest.fixture
def vllm() -> Iterator[AdapterServer]:
    with adapter_server() as running:
        yield running


def adapter(folder: Path, weights: str, kind: str = "LORA") -> str:
    """The folder of an adapter."""
    folder.mkdir()
    config = {"peft_type": kind, "r": 8, "base_model_name_or_path": "tiny"}
    (folder / "adapter_config.json").write_text(json.dumps(config))
    (folder / "adapter_model.safetensors").write_text(weights)
    return str(folder)


def test_a_promoted_version_is_loaded_and_runs_ask_for_it(place: Place, vllm: AdapterServer, tmp_path: Path) -> None:
    first, second = (adapter(tmp_path / name, name) for name in ("one", "two"))
    for folder in (first, second):
        assert place.said("policy", "add", "writer", folder, "--served", vllm.url).code == 0
    found = place.version("writer@1")
    assert (found["base"], found["settings"]["base_url"]) == ("tiny", vllm.url)
    assert found["settings"]["model"] == f"writer-{found['bundle_hash'][:12]}"
    assert vllm.adapters == {}

    assert place.said("policy", "promote", "writer@1").code == 0
    assert list(vllm.adapters) == [found["settings"]["model"]]
    loaded = Path(vllm.adapters[found["settings"]["model"]])
    assert (loaded / "adapter_model.safetensors").read_text() == "one"

    refused = place.said("policy", "promote", "writer@2")
    assert (refused.code, "was not evaluated against writer@1" in refused.err) == (5, True)
    assert len(vllm.adapters) == 1  # the gate comes first
    assert place.said("policy", "promote", "writer@2", "--force", "a test").code == 0
    assert list(vllm.adapters) == [found["settings"]["model"], place.version("writer@2")["settings"]["model"]]
    # After a restart of the vLLM.
    vllm.adapters.clear()
    assert place.said("policy", "promote", "writer@2").code == 0
    assert list(vllm.adapters) == [place.version("writer@2")["settings"]["model"]]


def test_a_version_that_its_vllm_does_not_answer_with_is_not_promoted(
    place: Place, vllm: AdapterServer, tmp_path: Path
) -> None:
    place.said("policy", "add", "writer", adapter(tmp_path / "one", "one"), "--served", vllm.url)
    vllm.forgets = True
    refused = place.said("policy", "promote", "writer@1")
    assert (refused.code, "was not promoted, since its vLLM did not load it" in refused.err) == (6, True), refused.err
    assert place.version("writer@1")["state"] == "candidate"
    vllm.forgets = False
    assert place.said("policy", "promote", "writer@1").code == 0
    assert place.version("writer@1")["state"] == "promoted"


def test_an_adapter_says_how_runs_ask_it(place: Place, vllm: AdapterServer, tmp_path: Path) -> None:
    folder = adapter(tmp_path / "one", "one")
    form = tmp_path / "one" / "evolve.toml"
    form.write_text('answers = 1\nedits = "rewrite"\ntemperature = 0.5\n')
    assert place.said("policy", "add", "writer", folder, "--served", vllm.url).code == 0
    found = place.version("writer@1")["settings"]
    assert (found["answers"], found["edits"], found["temperature"]) == (1, "rewrite", 0.5)
    assert (found["kind"], found["base_url"]) == ("openai", vllm.url)
    form.write_text('api_key_env = "HOME"\n')
    refused = place.said("policy", "add", "writer", folder, "--served", vllm.url)
    assert (refused.code, "unknown key api_key_env" in refused.err) == (2, True), refused.err


def test_a_run_names_the_adapter_of_the_promoted_version(vllm: AdapterServer, tmp_path: Path) -> None:
    evolve = EvolveHere(tmp_path)
    evolve.call("policy", "add", "writer", adapter(tmp_path / "one", "one"), "--served", vllm.url)
    problem = str(make_problem(tmp_path / "toy"))
    missing = evolve.said("run", problem, "--policy", "writer@1", "--evaluations", "2")
    assert (missing.code, "writer-" in missing.err) == (4, True), missing.err
    evolve.call("policy", "promote", "writer@1")
    asked = evolve.said("run", problem, "--policy", "writer", "--evaluations", "2", "--wall-seconds", "3", "--json")
    assert [policy["name"] for policy in evolve.lines("runs", "--json")[0]["policies"]] == ["writer@1"], asked.err


@pytest.mark.parametrize(
    ("kind", "served", "said"),
    [
        ("LORA", "", "name the vLLM that serves it with --served"),
        ("IA3", "http://127.0.0.1:9/v1", "is not a LoRA adapter"),
        ("LORA", "not an address", "base_url"),
    ],
)
def test_folders_and_addresses_that_cannot_be_are_refused(tmp_path: Path, kind: str, served: str, said: str) -> None:
    evolve = EvolveHere(tmp_path)
    words = ("--served", served) if served else ()
    refused = evolve.said("policy", "add", "writer", adapter(tmp_path / "one", "one", kind), *words)
    assert (refused.code, said in refused.err) == (2, True), refused.err
