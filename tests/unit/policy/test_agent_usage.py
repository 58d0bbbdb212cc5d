"""The tokens of a coding agent's replies are counted in every protocol, and estimated where a reply tells none."""

import json
from decimal import Decimal

import pytest

from evolve.money import Money
from evolve.proposal import Usage
from service.agents.usage import ReplyReader, SessionMeter, read_usage


def events(*values: object) -> bytes:
    return "".join(f"data: {json.dumps(value)}\n\n" for value in values).encode() + b"data: [DONE]\n\n"


OPENAI = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_tokens_details": {"cached_tokens": 40}}
RESPONSES = {
    "input_tokens": 100,
    "output_tokens": 7,
    "input_tokens_details": {"cached_tokens": 40},
    "output_tokens_details": {"reasoning_tokens": 3},
}
ANTHROPIC = {"input_tokens": 50, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 10, "output_tokens": 1}
GEMINI = {
    "promptTokenCount": 100,
    "cachedContentTokenCount": 40,
    "candidatesTokenCount": 4,
    "thoughtsTokenCount": 3,
}


@pytest.mark.parametrize(
    ("reply", "usage"),
    [
        (json.dumps({"usage": OPENAI}).encode(), Usage(input=100, cached=40, output=7)),
        (events({"choices": []}, {"choices": [], "usage": OPENAI}), Usage(input=100, cached=40, output=7)),
        (events({"response": {"usage": RESPONSES}}), Usage(input=100, cached=40, output=7, reasoning=3)),
        (
            events({"message": {"usage": ANTHROPIC}}, {"usage": {"output_tokens": 7}}),
            Usage(input=100, cached=40, output=7),
        ),
        (json.dumps([{"usageMetadata": GEMINI}]).encode(), Usage(input=100, cached=40, output=7, reasoning=3)),
        (events({"usageMetadata": GEMINI}), Usage(input=100, cached=40, output=7, reasoning=3)),
    ],
)
@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_tokens_are_read_however_the_reply_is_cut(reply: bytes, usage: Usage, size: int) -> None:
    reader = ReplyReader(b"")
    for start in range(0, len(reply), size):
        reader.feed(reply[start : start + size])
    assert reader.usage() == usage


def test_a_reply_that_tells_no_tokens_is_estimated_for_it_was_paid_for() -> None:
    reader = ReplyReader(b"x" * 350)
    reader.feed(b"y" * 700)
    assert reader.usage() == Usage(input=100, output=200)


def test_a_reply_that_is_cut_off_counts_by_its_length_if_it_told_less() -> None:
    reader = ReplyReader(b"x" * 350)
    reader.feed(events({"message": {"usage": ANTHROPIC}}) + b"y" * 3500 + b"\n")
    assert reader.usage() == Usage(input=100, cached=40, output=1)
    assert reader.usage(complete=False).output > 1000
    reader.feed(events({"usage": {"output_tokens": 90_000}}))
    assert reader.usage(complete=False) == Usage(input=100, cached=40, output=90_000)


def test_the_last_event_of_a_long_reply_is_not_lost() -> None:
    reader = ReplyReader(b"")
    for _ in range(40):
        reader.feed(events({"delta": "x" * 200_000}))
    reader.feed(events({"usage": OPENAI}))
    assert reader.usage() == Usage(input=100, cached=40, output=7)


@pytest.mark.parametrize("value", [{"usage": {"prompt_tokens": -5, "completion_tokens": True}}, {"usage": {"x": []}}])
def test_nonsense_counts_for_nothing(value: object) -> None:
    assert read_usage(value) == Usage()


@pytest.mark.parametrize("value", [None, 3, [], {}, {"usage": 3}, {"message": "text"}])
def test_events_without_tokens_are_no_usage(value: object) -> None:
    assert read_usage(value) is None


def price(usage: Usage) -> Money:
    return Money(amount=Decimal(usage.total), currency="USD")


def test_a_session_is_refused_from_its_limit_on() -> None:
    meter = SessionMeter(max_tokens=100, max_cost=Decimal(150), cost=price)
    meter.add(Usage(input=99))
    assert meter.refusal == ""
    meter.add(Usage(output=1))
    assert "its 100 tokens" in meter.refusal
    assert "its 150 USD" in SessionMeter(max_cost=Decimal(150), cost=price, usage=Usage(input=150)).refusal
    assert SessionMeter(cost=price, usage=Usage(input=10**9)).refusal == ""
