"""The span of a request for a completion, by OpenTelemetry's conventions of generative AI."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from service import tracing
from service.policy.model_server import NO_HEADERS
from service.policy.request_record import RequestRecord
from service.policy_settings.settings import PolicySettings

# The conventions' names of providers that the catalog calls otherwise.
_PROVIDER_NAMES = MappingProxyType({"mistral": "mistral_ai", "xai": "x_ai", "gemini": "gcp.gemini"})
_REQUESTED = MappingProxyType(
    {
        "max_tokens": "gen_ai.request.max_tokens",
        "max_completion_tokens": "gen_ai.request.max_tokens",
        "temperature": "gen_ai.request.temperature",
        "top_p": "gen_ai.request.top_p",
        "seed": "gen_ai.request.seed",
    }
)


@contextmanager
def chat_span(
    settings: PolicySettings, body: Mapping[str, Any], record: RequestRecord, finish_reasons: Mapping[int, str]
) -> Iterator[Mapping[str, str]]:
    """Record a request, and yield the headers by which the server continues its trace.

    Args:
        settings: of the policy.
        body: the request in the OpenAI protocol.
        record: of its tokens, when it has ended.
        finish_reasons: why each choice ended, when it has ended.
    """
    if not tracing.enabled():
        yield NO_HEADERS
        return
    # The caller is a generator: between two chunks its consumer does other work.
    name, kind = f"chat {body['model']}", tracing.SpanKind.CLIENT
    with tracing.span(name, kind, _request_attributes(settings, body), current=False) as sent:
        try:
            yield {tracing.TRACEPARENT: sent.traceparent}
        finally:
            usage = record.usage
            ended: dict[str, tracing.Attribute] = {
                "gen_ai.usage.input_tokens": usage.input,
                "gen_ai.usage.output_tokens": usage.output,
                "gen_ai.usage.cache_read.input_tokens": usage.cached,
                "gen_ai.usage.reasoning.output_tokens": usage.reasoning,
                "gen_ai.response.finish_reasons": [finish_reasons[choice] for choice in sorted(finish_reasons)],
            }
            sent.note(ended)


def _request_attributes(settings: PolicySettings, body: Mapping[str, Any]) -> dict[str, tracing.Attribute]:
    found: dict[str, tracing.Attribute] = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider_name(settings),
        "gen_ai.request.model": str(body["model"]),
        "gen_ai.request.stream": True,
        "evolve.policy": settings.name,
    }
    if body["n"] != 1:
        found["gen_ai.request.choice.count"] = body["n"]
    for key, name in _REQUESTED.items():
        if isinstance(value := body.get(key), int | float):
            found[name] = value
    address = urlsplit(settings.base_url or "")
    if address.hostname:
        found["server.address"] = address.hostname
        found["server.port"] = address.port or (443 if address.scheme == "https" else 80)
    return found


def _provider_name(settings: PolicySettings) -> str:
    """Of the catalog, else of LiteLLM's model. A server of one's own has the name of the protocol that it speaks."""
    named = settings.provider or ("" if settings.kind == "openai" else (settings.model or "").partition("/")[0])
    return _PROVIDER_NAMES.get(named, named) or "openai"
