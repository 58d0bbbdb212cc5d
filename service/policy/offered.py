"""The models that a server offers, and which of them is asked for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evolve.errors import PolicyDenied, PolicyUnavailable
from service.policy.settings import PolicySettings

_MODELS_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A model that a server offers; `context_tokens` is None where it does not say."""

    name: str
    context_tokens: int | None = None


def read_offered(value: object) -> list[Offered]:
    """The models of a list as servers send it.

    Raises:
        PolicyUnavailable: it is no such list.
    """
    entries = value.get("data") if isinstance(value, Mapping) else None
    if not isinstance(entries, list):
        raise PolicyUnavailable("it lists its models in no known form", 0.0)
    named = {entry["id"]: entry for entry in entries if isinstance(entry, Mapping) and isinstance(entry.get("id"), str)}
    return [Offered(name=name, context_tokens=_context(entry, named)) for name, entry in named.items()]


def choose(settings: PolicySettings, offered: Sequence[Offered] | None) -> str:
    """The model to ask for: the one that is named, else the only one.

    Args:
        settings: of the policy.
        offered: the models of its server; None: it keeps no list.

    Raises:
        PolicyDenied: there is none to choose; the text names those that there are.
    """
    model, url = settings.model, settings.base_url
    if offered is None:
        if not model:
            raise PolicyDenied(f"the policy server {url} does not list its models: name one with --model")
        return model
    names = [entry.name for entry in offered]
    shown = ", ".join(names[:_MODELS_NAMED]) + (", ..." if len(names) > _MODELS_NAMED else "")
    if not names:
        raise PolicyDenied(f"the policy server {url} offers no model")
    if not model and len(names) > 1:
        raise PolicyDenied(f"the policy server {url} offers several models: name one of {shown} with --model")
    if model and model not in names:
        raise PolicyDenied(f"the policy server {url} does not know the model {model}: it offers {shown}")
    return model or names[0]


def _context(entry: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]) -> int | None:
    """The context of a base model, which is its adapters' too: of an adapter vLLM tells only which model it adapts."""
    for place in (entry, named.get(str(entry.get("parent")), {})):
        length = place.get("max_model_len")
        if isinstance(length, int) and length > 0:
            return length
    return None
