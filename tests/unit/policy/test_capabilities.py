"""What refusals teach, in the servers' own words."""

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.policy.capabilities import Adaptation, RefusedRequest, RequestShape, adapted
from service.policy.openai_protocol import RequestRefused, failure

BODY: dict[str, Any] = {
    "model": "m",
    "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "U"}],
    "n": 2, "seed": 7, "temperature": 0.7, "top_p": 0.9, "max_tokens": 4096, "min_p": 0.1, "presence_penalty": 0.1,
    "reasoning_effort": "low", "stream": True, "stream_options": {"include_usage": True},
}  # fmt: skip
UNSUPPORTED = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
)


def body(message: str, param: str | None = None) -> str:
    return json.dumps({"error": {"message": message, "type": "invalid_request_error", "param": param}})


def detail(*keys: str) -> dict[str, Any]:
    return {"detail": [{"type": "extra_forbidden", "loc": ["body", key], "msg": "Extra inputs"} for key in keys]}


def learnt(status: int, text: str, context_tokens: int = 16384) -> Adaptation | None:
    error = failure(status, text)
    assert isinstance(error, RequestRefused)
    return adapted(RequestShape(), BODY, error.refusal, context_tokens)


def changes(found: Adaptation | None) -> list[tuple[str, str]]:
    return [(change.parameter, change.action) for change in found.changes] if found else []


@pytest.mark.parametrize(
    ("text", "parameter", "action"),
    [
        (body(UNSUPPORTED, "max_tokens"), "max_tokens", "renamed"),
        (body(UNSUPPORTED), "max_tokens", "renamed"),
        (body("Unsupported value: 'temperature' does not support 0.7 with this model. Only the default (1) value is"
              " supported.", "temperature"), "temperature", "dropped"),
        (body("`temperature` may only be set to 1 when thinking is enabled."), "temperature", "dropped"),
        (body("temperature: range: 0..1"), "temperature", "dropped"),
        (body("`temperature` and `top_p` cannot both be specified for this model. Please use only one."),
         "top_p", "dropped"),
        (body("n: must be 1"), "n", "dropped"),
        (body("'n' : number must be at most 1"), "n", "dropped"),
        (body("Multiple candidates is not enabled for this model"), "n", "dropped"),
        (json.dumps([{"error": {"code": 400, "message": 'Unknown name "seed": Cannot find field.'}}]),
         "seed", "dropped"),
        ('(Invalid input) {"detail":[{"type":"extra_forbidden","loc":["body","seed"],"msg":"Extra inputs are not'
         ' permitted","input":123}]}', "seed", "dropped"),
        (body("Extra inputs are not permitted, field: 'seed', value: 7"), "seed", "dropped"),
        (body("property 'seed' is unsupported, did you mean 'n'?"), "seed", "dropped"),
        (body("Unrecognized request argument supplied: seed"), "seed", "dropped"),
        (body("stream_options: Extra inputs are not permitted"), "stream_options", "dropped"),
        (body("Unknown parameter: 'min_p'.", "min_p"), "min_p", "dropped"),
        (body("Argument not supported on this model: presencePenalty"), "presence_penalty", "dropped"),
        (body("Model grok-3 does not support parameter reasoningEffort."), "reasoning_effort", "dropped"),
        (body("System role not supported"), "messages", "merged"),
        (body("Only user and assistant roles are supported!"), "messages", "merged"),
        (body("Conversation roles must alternate user/assistant/user/assistant/..."), "messages", "merged"),
        (body("Developer instruction is not enabled for models/gemma-3-27b-it"), "messages", "merged"),
        (body("Unsupported value: 'messages[0].role' does not support 'system' with this model.", "messages[0].role"),
         "messages", "merged"),
        (json.dumps({"error": {"message": "Provider returned error", "metadata": {"raw": body(UNSUPPORTED)}}}),
         "max_tokens", "renamed"),
    ],
)  # fmt: skip
def test_a_refusal_changes_the_parameter_that_it_names(text: str, parameter: str, action: str) -> None:
    found = learnt(400, text)
    assert changes(found) == [(parameter, action)]
    assert found is not None
    assert adapted(found.shape, found.shape.shaped(BODY), RefusedRequest(message="no")) is None


def test_a_refusal_that_names_several_parameters_as_data_changes_all_of_them() -> None:
    dropped = [("seed", "dropped"), ("stream_options", "dropped")]
    assert changes(learnt(422, json.dumps(detail("seed", "stream_options")))) == dropped
    assert changes(learnt(422, json.dumps({"message": detail("seed", "stream_options")}))) == dropped


@pytest.mark.parametrize(
    ("message", "reply", "context"),
    [
        ("max_tokens is too large: 4096. This model supports at most 2048 completion tokens.", 2048, None),
        ("max_tokens: 4096 > 2048, which is the maximum allowed number of output tokens for the model", 2048, None),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 2048]", 2048, None),
        ("`max_tokens` must be less than or equal to `2048`, the maximum value for `max_tokens`", 2048, None),
        ("it has a maxOutputTokens value of 4096 but the supported range is from 1 (inclusive) to 2049 (exclusive).",
         2048, None),
        ("This model's maximum context length is 8192 tokens. However, you requested 9096 tokens (5000 in the"
         " messages, 4096 in the completion).", 3192, 8192),
        ("This model's maximum context length is 8192 tokens. However, your messages resulted in 9575 tokens.",
         None, 8192),
        ("'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 8192"
         " tokens and your request has 5000 input tokens (4096 > 8192 - 5000).", 3192, 8192),
        ("Requested token count exceeds the model's maximum context length of 8192 tokens. You requested a total of"
         " 9096 tokens: 5000 tokens from the input messages and 4096 tokens for the completion.", 3192, 8192),
        ("the request exceeds the available context size (8192 tokens), try increasing it", None, 8192),
        ("Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8192. Given: 5000 `inputs` tokens and"
         " 4096 `max_new_tokens`", 3192, 8192),
    ],
)  # fmt: skip
def test_a_length_that_is_too_large_is_lowered_to_what_fits(
    message: str, reply: int | None, context: int | None
) -> None:
    found = learnt(400, body(message))
    assert found is not None
    assert changes(found) == [("max_tokens", "lowered")]
    assert (found.reply_tokens, found.shape.context_tokens) == (reply, context)
    assert found.shape.max_tokens == (reply if context is None else None)


@pytest.mark.parametrize(
    "message",
    [
        "Your credit balance is too low to access the API.",
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy.",
        "This model's maximum context length is 16384 tokens. However, your messages resulted in 20000 tokens.",
        "too long",
    ],
)
def test_a_refusal_that_no_other_request_would_meet_teaches_nothing(message: str) -> None:
    assert learnt(400, body(message)) is None


def test_a_parameter_that_is_gone_already_is_not_dropped_again() -> None:
    found = learnt(400, body("Unknown parameter: 'seed'.", "seed"))
    assert found is not None
    again = RefusedRequest(message="Unknown parameter: 'seed'.", parameters=("seed",))
    assert adapted(found.shape, found.shape.shaped(BODY), again) is None


def test_the_system_message_begins_the_first_message_of_the_user() -> None:
    shaped = RequestShape(merges_system=True).shaped(BODY)
    assert shaped["messages"] == [{"role": "user", "content": "S\n\nU"}]
    assert BODY["messages"][0] == {"role": "system", "content": "S"}


def test_a_shape_renames_drops_and_lowers() -> None:
    shape = RequestShape(
        length_key="max_completion_tokens", omitted=frozenset({"seed"}), single_choice=True, max_tokens=100
    )
    shaped = shape.shaped(BODY)
    assert shaped["max_completion_tokens"] == 100
    assert not {"seed", "n", "max_tokens"} & shaped.keys()


@given(st.text(max_size=300), st.lists(st.sampled_from([*BODY, "x"]), max_size=3))
def test_any_refusal_is_read_and_what_is_learnt_changes_the_request(message: str, names: list[str]) -> None:
    found = adapted(RequestShape(), BODY, RefusedRequest(message=message, parameters=tuple(names)), 16384)
    assert found is None or found.shape != RequestShape()
    assert found is None or found.shape.shaped(BODY)["stream"] is True


@pytest.mark.parametrize(
    "piece", ["n must be ", "invalid 'a", "system role ", "1 > ", "maximum context length ", "9" * 40]
)
def test_a_hostile_refusal_is_read_in_time(piece: str) -> None:
    error = failure(400, body(piece * 10_000))
    assert isinstance(error, RequestRefused)
    started = time.process_time()
    adapted(RequestShape(), BODY, error.refusal, 16384)
    assert time.process_time() - started < 0.5
