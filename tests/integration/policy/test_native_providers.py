"""Policies of the kind litellm against servers that speak the providers' own protocols and refuse what these refuse."""

import asyncio
import gc
import importlib
import itertools
import os
from collections.abc import Iterator
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from pydantic import SecretStr

from evolve.errors import PolicyDenied, PolicyUnavailable
from evolve.proposal import Answer, CompletedReply
from service.net.retry import Backoff
from service.policy.connection import ServerConnection
from service.policy.openai import OpenAIPolicy, PreflightResult
from service.policy_settings.settings import PolicySettings
from tests.command_line import call_here
from tests.fakes.native_providers import CACHED, INPUT, OUTPUT, PROTOCOLS, NativeServer, native_server
from tests.fakes.openai_server import chain
from tests.integration.policy.conftest import build_prompt, proposal
from tests.patience import PATIENCE_SECONDS

pytestmark = [
    pytest.mark.skipif(find_spec("litellm") is None, reason="LiteLLM is not installed"),
    # What pydantic says of LiteLLM's own models: raised, it would cost them their usage.
    pytest.mark.filterwarnings("ignore:.*qualifier:UserWarning"),
    pytest.mark.filterwarnings("ignore:Pydantic serializer warnings:UserWarning"),
    # LiteLLM leaves the connection of a response that Bedrock refused to the garbage collector.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Accessing the 'model_:DeprecationWarning"),
]

TEXT = chain(*(f"x = {number}" for number in range(4)))
# What each provider refuses of the full request, or LiteLLM knows that it does.
LEARNT = {
    "anthropic": {("n", "dropped"), ("seed", "dropped"), ("top_p", "dropped")},
    "gemini": {("n", "dropped")},
    "responses": {("n", "dropped"), ("temperature", "dropped"), ("top_p", "dropped")},
    "bedrock": {("n", "dropped"), ("seed", "dropped")},
}


@pytest.fixture(scope="module", autouse=True)
def library() -> None:
    """The library itself stays. A look at all of its objects for garbage takes a third of a second, in each test."""
    importlib.import_module("litellm")
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """What the library leaves to the garbage collector is collected here, and not in the tests of others."""
    yield
    gc.collect()


@pytest.fixture(params=sorted(PROTOCOLS))
def server(request: pytest.FixtureRequest) -> Iterator[NativeServer]:
    with native_server(request.param, lambda _: TEXT) as server:
        yield server


def policy_of(server: NativeServer, *, key: str = "", **values: object) -> OpenAIPolicy:
    described = {"name": "native", "kind": "litellm", "model": server.protocol.model, "base_url": server.url, **values}
    connection = ServerConnection[PreflightResult](
        PolicySettings.model_validate(described),
        key=SecretStr(key or server.key),
        rng=np.random.default_rng(1),
        backoff=Backoff(attempts=2, first_seconds=0.01),
    )
    return OpenAIPolicy(connection, build_prompt=build_prompt)


async def test_chains_answers_and_tokens_come_as_from_any_server(server: NativeServer) -> None:
    policy = policy_of(server)
    try:
        *answers, completed = [reply async for reply in policy.propose(proposal())]
        learnt = {(notice.parameter, notice.action) for notice in policy.notices()}
        again = [reply async for reply in policy.propose(proposal())]
    finally:
        await policy.close()
    assert isinstance(completed, CompletedReply)
    assert {(a.chain, a.index): a.text for a in answers if isinstance(a, Answer)} == {
        (c, i): f"x = {i}" for c in range(2) for i in range(4)
    }
    assert completed.completions == (TEXT, TEXT)
    assert completed.finish_reasons == ("stop", "stop")
    assert (completed.usage.input, completed.usage.cached, completed.usage.output) == (
        2 * INPUT,
        2 * CACHED,
        2 * OUTPUT,
    )
    assert learnt == LEARNT[server.protocol.name]
    assert len(again) == 9
    refused = len(server.refused)
    assert len(server.bodies) - refused == 4


async def test_reasoning_is_kept_apart() -> None:
    with native_server("anthropic", lambda _: TEXT) as server:
        policy = policy_of(server, samples=1)
        *_, completed = [reply async for reply in policy.propose(proposal(samples=1, limit=4))]
        await policy.close()
    assert isinstance(completed, CompletedReply)
    assert completed.reasoning == ("Let me see.",)


async def test_an_answer_is_handed_on_while_the_next_is_written_and_a_call_can_be_left(server: NativeServer) -> None:
    server.pause_seconds = 0.1
    policy = policy_of(server, samples=1)
    try:
        async with aclosing(policy.propose(proposal(samples=1, limit=4))) as stream:
            first = await anext(stream)
            assert isinstance(first, Answer)
            assert not server.hung_up.is_set()
        assert await asyncio.to_thread(server.hung_up.wait, PATIENCE_SECONDS)
    finally:
        await policy.close()


async def test_a_policy_that_is_closed_leaves_another_its_connections(server: NativeServer) -> None:
    first, second = policy_of(server), policy_of(server)
    for policy in (first, second):
        assert [reply async for reply in policy.propose(proposal())]
    await first.close()
    assert [reply async for reply in second.propose(proposal())]
    await second.close()
    third = policy_of(server)
    assert [reply async for reply in third.propose(proposal())]
    await third.close()


async def test_a_refused_key_is_told_without_the_key(server: NativeServer) -> None:
    policy = policy_of(server, key="sk-another-secret-key")
    with pytest.raises(PolicyDenied, match="refuses the key") as caught:
        _ = [reply async for reply in policy.propose(proposal())]
    await policy.close()
    assert "sk-another" not in str(caught.value)
    assert server.protocol.model in str(caught.value)
    assert "Traceback" not in str(caught.value)


async def test_a_provider_that_asks_for_time_gets_it(server: NativeServer) -> None:
    server.away = (429, {"retry-after": "37"})
    policy = policy_of(server)
    with pytest.raises(PolicyUnavailable, match="Overloaded") as caught:
        _ = [reply async for reply in policy.propose(proposal())]
    await policy.close()
    assert caught.value.retry_after_seconds == pytest.approx(37.0, abs=1.0)


async def test_a_provider_that_cannot_be_reached_is_unavailable(server: NativeServer) -> None:
    policy = policy_of(server, base_url="http://127.0.0.1:9/v1")
    with pytest.raises(PolicyUnavailable, match="cannot be reached"):
        _ = [reply async for reply in policy.propose(proposal())]
    await policy.close()


@pytest.mark.parametrize(
    ("model", "told"),
    [
        ("nosuch/model", "LiteLLM does not know this provider"),
        ("mistral/large", "environment variable MISTRAL_API_KEY"),
    ],
)
async def test_a_provider_that_is_unknown_or_lacks_its_key_is_told_before_anything_is_asked(
    model: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MISTRAL_API_KEY", raising=False)
    settings = PolicySettings(kind="litellm", model=model)
    policy = OpenAIPolicy(
        ServerConnection[PreflightResult](settings, rng=np.random.default_rng(1)), build_prompt=build_prompt
    )
    with pytest.raises(PolicyDenied, match=told):
        await policy.check()
    await policy.close()


def program(number: int) -> str:
    return f"def solve():\n    x = {number / 100}\n    y = -1.0\n    return [x, y]"


def test_a_run_evolves_with_each_provider_and_knows_what_it_cost(tmp_path: Path, server: NativeServer) -> None:
    numbers = itertools.count()
    server.respond = lambda _: chain(*(program(next(numbers)) for _ in range(4)))
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "VIRTUAL_ENV")}
    environment = kept | {"HOME": str(tmp_path), "EVOLVE_POLICY_API_KEY": server.key}
    (tmp_path / "policy.toml").write_text(
        f'[[policies]]\nkind = "litellm"\nmodel = "{server.protocol.model}"\nbase_url = "{server.url}"\n'
        "price = { input = 2, output = 8 }\n"
    )
    problem = str(tmp_path / "problem")
    assert call_here(["problem", "init", problem], environment).code == 0
    words = ["run", problem, "--policy", str(tmp_path / "policy.toml"), "--evaluations", "20", "--json"]
    said = call_here(words, environment)
    assert said.code == 0, said.err
    summary = said.lines[-1]
    assert summary["evaluations"] >= 20
    calls = summary["tokens"]["output"] // OUTPUT
    assert summary["tokens"]["input"] == calls * INPUT
    amount, currency = summary["cost"].split()
    assert float(amount) == pytest.approx(calls * (INPUT * 2 + OUTPUT * 8) / 1e6)
    assert currency == "USD"
