"""The embedder against a real HTTP server that misbehaves on demand."""

import asyncio
import json
import math
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from evolve.errors import PolicyDenied, PolicyError, PolicyUnavailable
from evolve.money import Money
from evolve.program import Program
from evolve.prompt.control_tokens import neutralise
from evolve.prompt.text import shown
from evolve.proposal import Usage
from evolve.similarity.vectors import distance
from service.policy.embedding_protocol import MAX_VECTOR
from service.policy.embeddings import TEXTS_AT_ONCE, OpenAIEmbedder
from tests.fakes.openai_server import OpenAIServer, Reply, openai_server
from tests.integration.policy.conftest import KEY, Time, connected, respond
from tests.patience import PATIENCE_SECONDS

Make = Callable[..., OpenAIEmbedder]


def letters(text: str) -> list[float]:
    """How often each letter is there: another direction for another mix of letters, longer for a longer text."""
    return [1.0 + text.count(letter) for letter in "abcdefghijklmnopqrstuvwxyz="]


def programs(*texts: str) -> list[Program]:
    return [Program.of({"p.py": text}) for text in texts]


def expected(program: Program) -> list[float]:
    numbers = letters(shown(program, "python"))
    length = math.sqrt(sum(number * number for number in numbers))
    return [number / length for number in numbers]


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with openai_server(respond, embed=letters) as running:
        yield running


@pytest.fixture
async def make(server: OpenAIServer, clock: Time) -> AsyncIterator[Make]:
    """Makes embedders against the server; the keyword arguments are settings."""
    made: list[OpenAIEmbedder] = []

    def embedder(key: str | None = None, failures: int = 100, **settings: object) -> OpenAIEmbedder:
        usual = {"name": "eye", "role": "embedder", "base_url": server.url}
        connection = connected(clock, key, failures, **{**usual, **settings})
        made.append(OpenAIEmbedder(connection, language="python"))
        return made[-1]

    yield embedder
    for each in made:
        await each.close()


def whole(vectors: Sequence[object]) -> bool:
    return all(vector is not None for vector in vectors)


def raw(data: object, **others: object) -> Reply:
    return Reply(raw=json.dumps({"data": data, **others}).encode())


def entries(*vectors: object) -> list[dict[str, object]]:
    return [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]


async def test_programs_are_embedded_as_a_prompt_shows_them_and_vectors_have_norm_1(
    server: OpenAIServer, make: Make
) -> None:
    asked = [*programs("x = 1\n"), Program.of({"a.py": "import b\n", "b.py": "y = 2\n"})]
    embedded = await make().embed(asked)
    assert server.embeddings[-1].body == {
        "model": "fake",
        "input": ["```python\nx = 1\n```", shown(asked[1], "python")],
        "encoding_format": "float",
    }
    for program, vector in zip(asked, embedded.vectors, strict=True):
        assert vector is not None
        assert vector.dtype == np.float32
        assert vector.tolist() == pytest.approx(expected(program), rel=1e-6)
        assert distance(vector, vector) == pytest.approx(0.0, abs=1e-6)


async def test_control_tokens_of_a_program_are_no_control_tokens_to_the_model(server: OpenAIServer, make: Make) -> None:
    text = "s = '<|im_end|>'"
    await make().embed(programs(text))
    assert server.embeddings[-1].body["input"] == [f"```python\n{neutralise(text)}\n```"]
    assert "<|im_end|>" not in str(server.embeddings[-1].body)


async def test_many_programs_go_in_portions_and_come_back_in_order(server: OpenAIServer, make: Make) -> None:
    asked = programs(*("a" * number + "b" * (90 - number) for number in range(1, 2 * TEXTS_AT_ONCE + 4)))
    embedded = await make().embed(asked)
    assert [len(request.body["input"]) for request in server.embeddings[1:]] == [TEXTS_AT_ONCE, TEXTS_AT_ONCE, 3]
    for program, vector in zip(asked, embedded.vectors, strict=True):
        assert vector is not None
        assert vector.tolist() == pytest.approx(expected(program), rel=1e-6)


async def test_vectors_are_put_in_the_order_of_their_numbers(server: OpenAIServer, make: Make) -> None:
    embedder = make()
    await embedder.check()
    server.script_embeddings(raw([*reversed(entries([1.0] * 27, [0.0] * 26 + [1.0]))]))
    first, second = (await embedder.embed(programs("a", "b"))).vectors
    assert first is not None
    assert second is not None
    assert (first[0], second[0]) == (pytest.approx(1 / math.sqrt(27)), 0.0)


async def test_tokens_are_the_servers_and_cost_what_the_price_says(server: OpenAIServer, make: Make) -> None:
    embedder = make(price={"input": "2", "output": "0", "currency": "EUR"})
    asked = programs("x = 1\n", "y = 2\n")
    charge = (await embedder.embed(asked)).charge
    # The word that the server was asked for first is paid with the first call.
    tokens = 1 + sum(server.count(shown(program, "python")) for program in asked)
    assert (charge.policy, charge.purpose, charge.usage) == ("eye", "embedding", Usage(input=tokens))
    assert charge.cost == Money(amount=Decimal(2 * tokens) / 1_000_000, currency="EUR")
    assert (await embedder.embed(asked)).charge.usage == Usage(input=tokens - 1)


async def test_without_usage_tokens_are_estimated_and_without_a_price_the_cost_is_not_known(
    server: OpenAIServer, make: Make
) -> None:
    embedder = make()
    await embedder.embed(programs("x = 1\n"))
    server.script_embeddings(raw(entries([1.0] * 27)))
    charge = (await embedder.embed(programs("x = 1\n"))).charge
    assert charge.usage == Usage(input=math.ceil(len("```python\nx = 1\n```") / 3.5))
    assert charge.cost is None


async def test_what_the_server_refuses_has_no_vector_and_what_came_with_it_has(
    server: OpenAIServer, make: Make
) -> None:
    server.embedded_tokens = 40
    long = "x = 1\n" * 40
    asked = programs("a", "b", long, "c", long + "\n#", "d", "e")
    embedded = await make().embed(asked)
    assert [vector is None for vector in embedded.vectors] == [False, False, True, False, True, False, False]
    for program, vector in zip(asked, embedded.vectors, strict=True):
        assert vector is None or vector.tolist() == pytest.approx(expected(program), rel=1e-6)
    accepted = sum(server.count(shown(program, "python")) for program in programs("a", "b", "c", "d", "e"))
    assert embedded.charge.usage == Usage(input=1 + accepted)


@pytest.mark.parametrize("numbers", [[0.0] * 27, [math.nan] * 27, [math.inf] + [1.0] * 26, [10**400] + [1] * 26])
async def test_what_points_nowhere_is_no_vector(server: OpenAIServer, make: Make, numbers: list[float]) -> None:
    embedder = make()
    await embedder.check()
    server.script_embeddings(raw(entries([1.0] * 27, numbers)))
    first, second = (await embedder.embed(programs("a", "b"))).vectors
    assert first is not None
    assert second is None


@pytest.mark.parametrize("scale", [1e-300, 1e300, 5e-324])
async def test_a_direction_survives_numbers_at_the_ends_of_the_scale(
    server: OpenAIServer, make: Make, scale: float
) -> None:
    embedder = make()
    await embedder.check()
    server.script_embeddings(raw(entries([scale, scale] + [0.0] * 25)))
    (vector,) = (await embedder.embed(programs("a"))).vectors
    assert vector is not None
    assert vector[:3].tolist() == pytest.approx([math.sqrt(0.5), math.sqrt(0.5), 0.0])


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(raw=b"[1, 2"), "it does not send JSON"),
        (Reply(raw=b"[[1.0], [2.0]]"), "it does not send a list of embeddings"),
        (raw("none"), "it does not send a list of embeddings"),
        (raw(entries([1.0])), "it sends 1 embeddings for 2 texts"),
        (raw(entries([1.0], [1.0], [1.0])), "it sends 3 embeddings for 2 texts"),
        (raw(entries([1.0], [1.0, 2.0])), "it sends embeddings of different lengths"),
        (raw([{"index": 0, "embedding": [1.0]}] * 2), "it does not send a list of embeddings"),
        (
            raw([{"index": 7, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]),
            "it does not send a list of embeddings",
        ),
        (
            raw([{"index": "0", "embedding": [1.0]}, {"index": 1, "embedding": [1.0]}]),
            "it does not send a list of embeddings",
        ),
        (raw([1.0, 2.0]), "it does not send a list of embeddings"),
        (raw(entries([], [])), "it does not send a list of embeddings"),
        (raw(entries("AAAAAA==", "AAAAAA==")), "it does not send a list of embeddings"),
        (raw(entries([[1.0]], [[1.0]])), "it sends an embedding that is not numbers"),
        (raw(entries(["1.0"], ["1.0"])), "it sends an embedding that is not numbers"),
        (raw(entries([True], [True])), "it sends an embedding that is not numbers"),
        (raw(entries([1] * (MAX_VECTOR + 1), [1.0])), "it does not send a list of embeddings"),
        (Reply(status=500, body="engine died"), "status 500: engine died"),
    ],
)
async def test_garbage_is_asked_for_again_and_then_waited_for(
    server: OpenAIServer, make: Make, clock: Time, reply: Reply, said: str
) -> None:
    embedder = make()
    await embedder.check()
    server.script_embeddings(reply)
    assert whole((await embedder.embed(programs("a", "b"))).vectors)  # the second attempt is well
    server.script_embeddings(reply, reply, reply)
    with pytest.raises(PolicyUnavailable, match=said) as raised:
        await embedder.embed(programs("a", "b"))
    assert str(raised.value).startswith(f"no reply from the policy server {server.url}: ")
    assert raised.value.retry_after_seconds >= 1.0
    assert clock.slept


async def test_an_answer_without_end_is_cut_off(server: OpenAIServer, make: Make) -> None:
    embedder = make()
    await embedder.check()
    endless = Reply(raw=b'{"data": [' + b"1.0, " * 500_000 + b"1.0]}")
    server.script_embeddings(endless, endless, endless)
    with pytest.raises(PolicyUnavailable, match="not send JSON"):
        await embedder.embed(programs("a"))


async def test_vectors_of_another_length_than_before_are_those_of_another_model(
    server: OpenAIServer, make: Make
) -> None:
    embedder = make()
    await embedder.embed(programs("a"))
    server.embed = lambda text: letters(text)[:5]
    with pytest.raises(PolicyDenied, match="embeds in 5 numbers, and before in 27: serve the previous model"):
        await embedder.embed(programs("a"))
    with pytest.raises(PolicyDenied, match="embeds in 5 numbers, and before in 27"):
        await embedder.embed(programs("b"))
    server.embed = letters
    assert whole((await embedder.embed(programs("a"))).vectors)


async def test_the_key_is_sent_and_never_shown(server: OpenAIServer, make: Make) -> None:
    server.key = KEY
    await make(key=KEY).embed(programs("a"))
    assert server.embeddings[-1].headers["authorization"] == f"Bearer {KEY}"
    server.script_embeddings(Reply(status=401, body=f"the key {KEY} is wrong"))
    with pytest.raises(PolicyDenied, match="refuses the key") as raised:
        await make(key=KEY).check()
    assert KEY not in str(raised.value)
    with pytest.raises(PolicyDenied, match="needs a key"):
        await make().check()


async def refused(embedder: OpenAIEmbedder) -> str:
    with pytest.raises(PolicyDenied) as raised:
        await embedder.check()
    return str(raised.value)


async def test_a_server_that_does_not_embed_is_found_before_a_run_begins(server: OpenAIServer, make: Make) -> None:
    server.script_embeddings(Reply(status=400, body={"error": {"message": "This model does not embed", "code": 400}}))
    assert "This model does not embed (is fake a model that embeds?)" in await refused(make())
    server.script_embeddings(raw(entries([0.0, 0.0])))
    assert "returns a zero or infinite vector for a word" in await refused(make())
    assert "does not know the model large: it offers fake" in await refused(make(model="large"))
    server.embed = None
    assert "Not Found: check the address, and the model there" in await refused(make())
    server.models = ["one", "two"]
    assert "name one of one, two" in await refused(make())


async def test_a_server_that_is_not_there_is_unavailable(make: Make) -> None:
    with pytest.raises(PolicyUnavailable, match="cannot be reached"):
        await make(base_url="http://127.0.0.1:9/v1").check()


async def test_a_server_that_keeps_failing_is_left_alone(server: OpenAIServer, make: Make) -> None:
    embedder = make(failures=2)
    await embedder.check()
    server.embedder_away = "loading"
    with pytest.raises(PolicyUnavailable, match="status 503: loading"):
        await embedder.embed(programs("a"))
    asked = len(server.embeddings)
    with pytest.raises(PolicyUnavailable, match="status 503: loading") as raised:
        await embedder.embed(programs("a"))
    assert len(server.embeddings) == asked
    assert raised.value.retry_after_seconds > 1.0
    assert embedder.health()["breaker"] == "open"


async def test_what_was_paid_by_a_call_that_failed_halfway_is_told_with_the_next(
    server: OpenAIServer, make: Make
) -> None:
    embedder = make()
    await embedder.check()
    asked = programs(*("a" * number for number in range(1, TEXTS_AT_ONCE + 2)))
    server.script_embeddings(Reply(), *[Reply(status=500)] * 3)
    with pytest.raises(PolicyUnavailable):
        await embedder.embed(asked)
    first = sum(server.count(shown(program, "python")) for program in asked[:TEXTS_AT_ONCE])
    all_of_them = sum(server.count(shown(program, "python")) for program in asked)
    # The server may be another one by now: it is asked for the word again.
    assert (await embedder.embed(asked)).charge.usage == Usage(input=2 + first + all_of_them)


async def came(server: OpenAIServer, requests: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while len(server.embeddings) < requests:  # noqa: ASYNC110 - the server is in a thread and wakes nobody
            await asyncio.sleep(0.01)


async def test_no_more_calls_are_made_at_once_than_the_settings_say(server: OpenAIServer, make: Make) -> None:
    embedder = make(concurrency=2)
    await embedder.check()
    release = threading.Event()
    server.script_embeddings(*[Reply(release=release)] * 2)
    calls = [asyncio.create_task(embedder.embed(programs(text))) for text in ("a", "b", "c")]
    await came(server, 1 + 2)
    await asyncio.sleep(0.05)
    assert len(server.embeddings) == 1 + 2
    release.set()
    await asyncio.gather(*calls)
    assert len(server.embeddings) == 1 + 3


async def test_a_call_that_is_cancelled_gives_its_place_back(server: OpenAIServer, make: Make) -> None:
    embedder = make(concurrency=1)
    await embedder.check()
    release = threading.Event()
    server.script_embeddings(Reply(release=release))
    call = asyncio.create_task(embedder.embed(programs("a")))
    await came(server, 1 + 1)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    release.set()
    assert whole((await embedder.embed(programs("b"))).vectors)


async def error_of(call: Any) -> PolicyError | None:
    try:
        await call
    except PolicyError as error:
        return error
    return None


async def test_many_who_ask_at_once_check_the_server_once(server: OpenAIServer, make: Make) -> None:
    embedder = make()
    texts: Sequence[str] = [f"x = {number}" for number in range(6)]
    assert await asyncio.gather(*(error_of(embedder.embed(programs(text))) for text in texts)) == [None] * 6
    assert [request.path for request in server.requests].count("/v1/models") == 1
