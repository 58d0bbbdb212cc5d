"""`evolve policy load` and `evolve policy unload` against a server that takes adapters as vLLM does."""

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.cli.exit_codes import CONFLICT, NOT_FOUND, REFUSED, UNREACHABLE, USAGE
from tests.command_line import Said, call_here
from tests.fakes.adapter_server import BASE, AdapterServer, adapter_server

KEY = "sk-of-a-test"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if key in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    return kept | {"HOME": str(tmp_path), "EVOLVE_POLICY_API_KEY": KEY}


@pytest.fixture
def server() -> Iterator[AdapterServer]:
    with adapter_server(key=KEY) as running:
        yield running


@pytest.fixture
def adapter(tmp_path: Path) -> Path:
    folder = tmp_path / "adapter"
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA", "r": 8}))
    return folder


def load(environment: dict[str, str], server: AdapterServer, folder: object, *words: str) -> Said:
    return call_here(["policy", "load", "first", str(folder), "--policy", server.url, *words], environment)


def unload(environment: dict[str, str], server: AdapterServer, name: str, *words: str) -> Said:
    return call_here(["policy", "unload", name, "--policy", server.url, *words], environment)


def test_an_adapter_is_loaded_compared_with_its_base_and_unloaded(
    environment: dict[str, str], server: AdapterServer, adapter: Path
) -> None:
    said = load(environment, server, adapter)
    assert (said.code, server.adapters) == (0, {"first": str(adapter)})
    assert "first is loaded, an adapter of tiny" in said.out
    assert "by up to 0.25 nats differently" in said.out
    assert f"evolve run PROBLEM --policy {server.url} --model first" in said.err
    said = unload(environment, server, "first")
    assert (said.code, said.out.strip(), server.adapters) == (0, "first is unloaded", {})


def test_the_figures_are_json(environment: dict[str, str], server: AdapterServer, adapter: Path) -> None:
    (found,) = load(environment, server, adapter, "--json").lines
    told = {"schema": 1, "name": "first", "base": BASE, "difference": pytest.approx(0.25), "folder": str(adapter)}
    assert found == told
    assert unload(environment, server, "first", "--json").lines == [{"schema": 1, "name": "first", "loaded": False}]


def test_a_server_that_tells_no_log_probabilities_is_asked_for_nothing_more(
    environment: dict[str, str], server: AdapterServer, adapter: Path
) -> None:
    server.rates = False
    (found,) = load(environment, server, adapter, "--json").lines
    assert found["difference"] is None


def test_an_adapter_that_answers_as_its_base_is_unloaded_again(
    environment: dict[str, str], server: AdapterServer, adapter: Path
) -> None:
    server.shift = 0.0
    said = load(environment, server, adapter)
    assert (said.code, server.adapters) == (REFUSED, {})
    assert "answers exactly as its base tiny" in said.err


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        ({"updates": False}, REFUSED, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"),
        ({"forgets": True}, UNREACHABLE, "does not offer first after it was loaded"),
        ({"adapters": {"first": "/elsewhere"}}, CONFLICT, "has a model first already"),
        ({"key": "another"}, REFUSED, "refuses the key"),
    ],
)
def test_a_load_that_cannot_be_is_refused_in_one_sentence(
    environment: dict[str, str], adapter: Path, state: dict[str, object], code: int, words: str
) -> None:
    with adapter_server(**{"key": KEY, **state}) as server:
        said = load(environment, server, adapter)
    assert (said.code, said.err.count("evolve: ")) == (code, 1), said.err
    assert words in said.err
    assert KEY not in said.err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "holds no adapter_config.json"),
        ("{", "cannot be read as JSON"),
        ('{"peft_type": "PREFIX_TUNING"}', "is not a LoRA adapter"),
        ("[]", "is not a LoRA adapter"),
    ],
)
def test_a_folder_here_that_is_no_adapter_is_not_sent(
    environment: dict[str, str], server: AdapterServer, tmp_path: Path, content: str | None, words: str
) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    if content is not None:
        (folder / "adapter_config.json").write_text(content)
    said = load(environment, server, folder)
    assert (said.code, server.calls) == (USAGE, [])
    assert words in said.err


def test_a_folder_that_only_the_server_may_have_is_left_to_it(
    environment: dict[str, str], server: AdapterServer
) -> None:
    said = load(environment, server, "/adapters/of/the/server")
    assert said.code == REFUSED
    assert "No adapter found for /adapters/of/the/server" in said.err


@pytest.mark.parametrize(
    ("name", "state", "code", "words"),
    [
        ("second", {"adapters": {"first": "/a"}}, NOT_FOUND, "has no adapter second: it has first"),
        (BASE, {}, USAGE, "is a model of the server, not an adapter"),
        ("first", {"adapters": {"first": "/a"}, "updates": False}, REFUSED, "VLLM_ALLOW_RUNTIME_LORA_UPDATING=True"),
        ("first", {"adapters": {"first": "/a"}, "keeps": True}, UNREACHABLE, "still offers first"),
    ],
)
def test_an_unload_that_cannot_be_is_refused_in_one_sentence(
    environment: dict[str, str], name: str, state: dict[str, object], code: int, words: str
) -> None:
    with adapter_server(**{"key": KEY, **state}) as server:
        said = unload(environment, server, name)
    assert said.code == code, said.err
    assert words in said.err


@pytest.mark.parametrize("source", ["syntax", "bundled:maze-base"])
def test_a_policy_without_a_server_takes_no_adapters(environment: dict[str, str], adapter: Path, source: str) -> None:
    said = call_here(["policy", "load", "first", str(adapter), "--policy", source], environment)
    assert said.code == USAGE
    assert "adapters are loaded into a vLLM" in said.err
