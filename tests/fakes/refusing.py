"""What servers of the OpenAI protocol refuse, in their own words, from their published references."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.openai_server import Refuse

Body = Mapping[str, Any]


def _openai(message: str, param: str | None = None, code: str = "unsupported_parameter") -> Any:
    return {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def gpt5(body: Body) -> tuple[int, Any] | None:
    """Reasoning models of OpenAI: another name for the limit, and the default temperature alone."""
    if "max_tokens" in body:
        said = (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        )
        return 400, _openai(said, "max_tokens")
    if body.get("temperature", 1) != 1:
        said = (
            f"Unsupported value: 'temperature' does not support {body['temperature']} with this model. Only the default"
            " (1) value is supported."
        )
        return 400, _openai(said, "temperature", "unsupported_value")
    return None


def anthropic(body: Body) -> tuple[int, Any] | None:
    """Anthropic's compatible endpoint."""
    if body.get("n", 1) != 1:
        return 400, _openai("n: must be 1")
    if {"temperature", "top_p"} <= body.keys():
        said = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
        return 400, _openai(said)
    return None


def gemini(body: Body) -> tuple[int, Any] | None:
    """Google's compatible endpoint: a list around the error, and its own names."""
    if "seed" in body:
        said = 'Invalid JSON payload received. Unknown name "seed": Cannot find field.'
        return 400, [{"error": {"code": 400, "message": said, "status": "INVALID_ARGUMENT"}}]
    return None


MISTRAL = {"model", "messages", "n", "temperature", "top_p", "max_tokens", "stream", "random_seed", "stop"}


def mistral(body: Body) -> tuple[int, Any] | None:
    """Mistral: every unknown key at once, as a validation error."""
    extra = [key for key in body if key not in MISTRAL]
    detail = [
        {"type": "extra_forbidden", "loc": ["body", key], "msg": "Extra inputs are not permitted", "input": body[key]}
        for key in extra
    ]
    return (422, {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"}) if extra else None


def groq(body: Body) -> tuple[int, Any] | None:
    """Groq: one choice a request."""
    return (400, _openai("'n' : number must be at most 1", "n")) if body.get("n", 1) != 1 else None


def gemma(body: Body) -> tuple[int, Any] | None:
    """A chat template without a system role."""
    told = any(message["role"] == "system" for message in body["messages"])
    return (400, _openai("System role not supported")) if told else None


def short_replies(body: Body) -> tuple[int, Any] | None:
    """A model that writes 512 tokens at most."""
    if body.get("max_tokens", 0) > 512:
        return 400, _openai("max_tokens is too large: this model supports at most 512 completion tokens", "max_tokens")
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of server.

    Attributes:
        refuse: what it answers to a request that it refuses.
        learnt: parameter and action of each thing that a policy learns of it, in that order.
        given: parameters that its accepted requests hold, and some that they do not.
        missing: the latter.
    """

    refuse: Refuse
    learnt: tuple[tuple[str, str], ...]
    given: tuple[str, ...] = ("model", "messages", "stream")
    missing: tuple[str, ...] = ()


KINDS = {
    "gpt5": Kind(
        refuse=gpt5,
        learnt=(("max_tokens", "renamed"), ("temperature", "dropped")),
        given=("max_completion_tokens",),
        missing=("max_tokens", "temperature"),
    ),
    "anthropic": Kind(
        refuse=anthropic,
        learnt=(("n", "dropped"), ("top_p", "dropped")),
        given=("temperature",),
        missing=("n", "top_p"),
    ),
    "gemini": Kind(refuse=gemini, learnt=(("seed", "dropped"),), missing=("seed",)),
    "mistral": Kind(
        refuse=mistral, learnt=(("seed", "dropped"), ("stream_options", "dropped")), missing=("seed", "stream_options")
    ),
    "groq": Kind(refuse=groq, learnt=(("n", "dropped"),), missing=("n",)),
    "gemma": Kind(refuse=gemma, learnt=(("messages", "merged"),)),
    "short_replies": Kind(refuse=short_replies, learnt=(("max_tokens", "lowered"),), given=("max_tokens",)),
}
