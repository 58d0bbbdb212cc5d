"""Requests of coding agents ask for no more output than their session has left."""

import json
from decimal import Decimal
from typing import Any

import pytest

from evolve.money import Money
from evolve.proposal import Usage
from service.agents.request_limits import capped_request
from service.agents.usage import SessionMeter


@pytest.mark.parametrize(
    ("path", "asked", "sent"),
    [
        ("/v1/chat/completions", {"max_tokens": 900}, {"max_tokens": 50}),
        ("/v1/chat/completions", {"max_completion_tokens": 900}, {"max_completion_tokens": 50}),
        ("/v1/chat/completions", {"max_tokens": 20}, {"max_tokens": 20}),
        ("/v1/chat/completions", {"max_tokens": "all"}, {"max_tokens": 50}),
        ("/v1/chat/completions", {}, {}),
        ("/v1/messages", {"max_tokens": 900}, {"max_tokens": 50}),
        ("/v1/responses", {}, {"max_output_tokens": 50}),
        ("/v1/models/g:generateContent", {}, {"generationConfig": {"maxOutputTokens": 50}}),
        (
            "/v1/models/g:streamGenerateContent",
            {"generation_config": {"max_output_tokens": 900, "temperature": 1}},
            {"generationConfig": {"max_output_tokens": 50, "temperature": 1}},
        ),
    ],
)
def test_a_limit_is_lowered_to_what_is_left(path: str, asked: dict[str, Any], sent: dict[str, Any]) -> None:
    assert json.loads(capped_request(json.dumps(asked).encode(), path, 50)) == sent


@pytest.mark.parametrize("body", [b"", b"not json", b"[1]", b'{"max_tokens": 9}'])
def test_another_body_or_no_limit_changes_nothing(body: bytes) -> None:
    assert capped_request(body, "/v1/messages", None) == body
    if not body.startswith(b"{"):
        assert capped_request(body, "/v1/messages", 5) == body


def test_what_is_left_is_never_below_a_token() -> None:
    assert json.loads(capped_request(b'{"max_tokens": 9}', "/v1/messages", -100)) == {"max_tokens": 1}


def test_a_session_has_what_its_tokens_and_its_money_leave() -> None:
    def cost(usage: Usage) -> Money:
        return Money(amount=Decimal(usage.input + 10 * usage.output) / 1000, currency="USD")

    used = Usage(input=100, output=20)
    assert SessionMeter(cost=cost, usage=used).room(30) is None
    assert SessionMeter(cost=cost, usage=used, max_tokens=200).room(30) == 50
    assert SessionMeter(cost=cost, usage=used, max_tokens=200, max_cost=Decimal("0.43")).room(30) == 10
    assert SessionMeter(cost=lambda _: None, usage=used, max_tokens=200).room(30) == 50
