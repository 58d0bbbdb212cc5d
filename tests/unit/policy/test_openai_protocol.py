import asyncio
import json
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.errors import PolicyDenied, PolicyError, PolicyRefused, PolicyUnavailable
from evolve.proposal import Usage
from service.policy.concurrency_controller import ConcurrencyLoad
from service.policy.openai_protocol import (
    MAX_MESSAGE_CHARACTERS,
    StreamChunk,
    clean,
    failure,
    read_chunk,
    read_events,
    read_load,
)

texts = st.text(alphabet=st.characters(), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)
# Objects with the protocol's own keys and anything behind them.
keys = st.sampled_from(["choices", "delta", "message", "content", "index", "finish_reason", "usage", "error", "code"])
protocol = st.recursive(
    values, lambda inner: st.dictionaries(keys, inner, max_size=5) | st.lists(inner, max_size=2), max_leaves=20
)


@given(protocol)
def test_any_json_is_a_chunk_or_a_policys_error(value: object) -> None:
    try:
        chunk = read_chunk(json.dumps(value))
    except PolicyError:
        return
    for delta in chunk.deltas:
        assert (delta.text + delta.finish_reason).encode() is not None
    if chunk.usage:
        assert 0 <= chunk.usage.cached <= chunk.usage.input
        assert chunk.usage.output >= 0


@given(texts)
def test_any_text_but_a_completion_is_a_policys_error(text: str) -> None:
    with pytest.raises(PolicyError):
        read_chunk(text)


@given(protocol, st.sampled_from([302, 400, 401, 404, 413, 422, 429, 500]))
def test_any_error_body_makes_a_short_printable_sentence(value: object, status: int) -> None:
    sentence = str(failure(status, json.dumps(value)))
    assert 0 < len(sentence) <= MAX_MESSAGE_CHARACTERS + len("status 500: ")
    assert sentence.isprintable() or "\ufffd" in sentence
    assert sentence.encode()


@pytest.mark.parametrize(
    ("status", "body", "kind", "text"),
    [
        (401, '{"error": "Unauthorized"}', PolicyDenied, "Unauthorized"),
        (404, '{"error": {"message": "no such model", "code": 404}}', PolicyDenied, "no such model"),
        (400, '{"error": {"message": "too long"}}', PolicyRefused, "too long"),
        (422, '{"detail": [{"msg": "wrong"}]}', PolicyRefused, '[{"msg": "wrong"}]'),
        (400, '{"error": {"message": "x", "code": "model_not_found"}}', PolicyDenied, "x"),
        (503, "<h1>Service\n Unavailable</h1>", PolicyUnavailable, "status 503: Service Unavailable"),
        (500, "", PolicyUnavailable, "status 500"),
    ],
)
def test_the_servers_own_words_are_found(status: int, body: str, kind: type[PolicyError], text: str) -> None:
    error = failure(status, body)
    assert isinstance(error, kind)
    assert str(error) == text


def test_a_whole_completion_is_read_like_its_stream() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 9}}
    choice = {"index": 0, "message": {"content": "hi"}, "finish_reason": "stop"}
    chunk = read_chunk(json.dumps({"choices": [choice], "usage": usage}))
    assert (chunk.deltas[0].text, chunk.deltas[0].finish_reason) == ("hi", "stop")
    assert chunk.usage == Usage(input=5, cached=5, output=7)


def test_the_end_mark_is_the_last_chunk() -> None:
    assert read_chunk("[DONE]") == StreamChunk(done=True)


CHARACTERS = st.characters(codec="utf-8", exclude_categories=["Cc", "Z"])
events = st.lists(st.text(alphabet=CHARACTERS, max_size=20), max_size=8)


@given(events, st.data())
def test_events_do_not_depend_on_how_the_bytes_arrive(data: list[str], draw: st.DataObject) -> None:
    stream = b"".join(f": ping\r\ndata: {text}\r\n\r\n".encode() for text in data)
    cuts = sorted(draw.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    blocks = [stream[start:end] for start, end in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert asyncio.run(collect(blocks)) == data


async def collect(blocks: list[bytes], max_bytes: int = 1 << 20) -> list[str]:
    async def arriving() -> AsyncIterator[bytes]:
        for block in blocks:
            yield block

    return [event async for event in read_events(arriving(), max_bytes)]


def test_more_than_was_asked_for_is_not_read() -> None:
    with pytest.raises(PolicyUnavailable, match="more than was asked for"):
        asyncio.run(collect([b"data: x\n\n"] * 100, max_bytes=500))


@given(texts)
def test_clean_text_is_storable_and_clean_stays_clean(text: str) -> None:
    once = clean(text)
    assert "\x00" not in once
    assert once.encode().decode() == once
    assert clean(once) == once


def test_a_character_in_two_halves_becomes_whole() -> None:
    assert clean("\ud83d\ude00") == "\U0001f600"


def test_the_load_is_read_from_the_metrics_of_vllm() -> None:
    said = (
        "# HELP vllm:num_requests_running Number of requests in model execution batches.\n"
        'vllm:num_requests_running{engine="0",model_name="a}b"} 12.0\n'
        'vllm:num_requests_waiting{engine="0",model_name="a}b"} 3.0 1700000000\n'
        'vllm:num_requests_waiting_by_reason{engine="0",reason="capacity"} 3.0\n'
    )
    assert read_load(said) == ConcurrencyLoad(running=12.0, waiting=3.0)


@given(st.text(), st.sampled_from(["vllm:num_requests_running ", "vllm:num_requests_waiting{", ""]), st.text())
def test_any_metrics_are_a_load_or_none(before: str, name: str, after: str) -> None:
    found = read_load(f"vllm:num_requests_running 1\n{before}\n{name}{after}\nvllm:num_requests_waiting 2\n")
    assert found is None or (found.running >= 0 and found.waiting >= 0)
