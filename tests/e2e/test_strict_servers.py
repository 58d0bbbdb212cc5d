"""`evolve run` on an example that comes with the product, with servers that refuse what their providers refuse."""

import gc
import json
import os
import random
import re
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import Said, call_here
from tests.fakes.native_providers import PROTOCOLS, native_server
from tests.fakes.openai_server import chain, openai_server
from tests.fakes.refusing import KINDS

EXAMPLE = Path(__file__).parents[2] / "examples" / "circle_packing"
KEY = "sk-of-a-strict-server"
_PARENT = re.compile(r"# The parent program.*?```python\n(.*?)\n```", re.DOTALL)
_NUMBER = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")


def answer(prompt: str, rng: random.Random) -> str:
    """What the prompt asks for: programs that differ from its parent in one number, in tags where these are wanted."""
    (parent,) = _PARENT.findall(prompt)
    programs = []
    for _ in range(4):
        number = rng.choice(list(_NUMBER.finditer(parent)))
        moved = abs(float(number[0]) + rng.gauss(0.0, 0.02))
        programs.append(f"```python\n{parent[: number.start()]}{moved:.4f}{parent[number.end() :]}\n```")
    return chain(*programs) if "answer_1" in prompt else programs[0]


def run(tmp_path: Path, *words: str) -> Said:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    environment = kept | {"HOME": str(tmp_path), "EVOLVE_POLICY_API_KEY": KEY}
    return call_here(["run", str(EXAMPLE), *words, "--evaluations", "15", "--json"], environment)


def check(said: Said) -> None:
    assert said.code == 0, said.err
    summary = said.lines[-1]
    assert (summary["state"], summary["evaluations"]) == ("succeeded", 15)
    assert sum(line["kind"] == "candidate.created" for line in said.lines[:-1]) > 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_has_children_whatever_its_server_refuses(tmp_path: Path, kind: str) -> None:
    rng = random.Random(1)

    def respond(body: Mapping[str, Any]) -> list[str]:
        prompt = "\n".join(message["content"] for message in body["messages"])
        return [answer(prompt, rng) for _ in range(body.get("n", 1))]

    with openai_server(respond, key=KEY) as server:
        server.refuse = KINDS[kind].refuse
        check(run(tmp_path, "--policy", server.url))


@pytest.mark.skipif(find_spec("litellm") is None, reason="LiteLLM is not installed")
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning", "ignore:.*qualifier:UserWarning",
    "ignore:Pydantic serializer warnings:UserWarning", "ignore:Accessing the 'model_:DeprecationWarning",
)  # fmt: skip
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_run_has_children_with_each_protocol(tmp_path: Path, protocol: str) -> None:
    rng = random.Random(1)
    with native_server(protocol, lambda prompt: answer("\n".join(texts(json.loads(prompt))), rng), KEY) as server:
        (tmp_path / "policy.toml").write_text(
            f'[[policies]]\nkind = "litellm"\nmodel = "{server.protocol.model}"\nbase_url = "{server.url}"\n'
        )
        check(run(tmp_path, "--policy", str(tmp_path / "policy.toml")))
    gc.collect()  # what the library leaves to it is not the next test's


def texts(value: object) -> Iterator[str]:
    """Every text of a JSON value, in order."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from texts(inner)
