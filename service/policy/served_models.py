"""The models that a server offers, and which of them is asked for."""

import difflib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from evolve.errors import PolicyDenied, PolicyUnavailable
from service.policy_settings.settings import PolicySettings

_MODELS_NAMED = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedModel:
    """A model of a server.

    Attributes:
        name: to ask for it.
        context_tokens: None if the server does not say.
        owner: its owner by the server. Servers that run models themselves name themselves, such as `vllm`.
        base: of an adapter, the model that it adapts. Empty: it is no adapter, or the server does not say.
    """

    name: str
    context_tokens: int | None = None
    owner: str = ""
    base: str = ""


def read_offered(value: object) -> list[ServedModel]:
    """The models of a server's list.

    Raises:
        PolicyUnavailable: it is not such a list.
    """
    entries = value.get("data") if isinstance(value, Mapping) else None
    if not isinstance(entries, list):
        raise PolicyUnavailable("it lists its models in no known form", 0.0)
    named = {entry["id"]: entry for entry in entries if isinstance(entry, Mapping) and isinstance(entry.get("id"), str)}
    return [
        ServedModel(
            name=name,
            context_tokens=_context(entry, named),
            owner=str(entry.get("owned_by", "")),
            base=str(entry.get("parent") or ""),
        )
        for name, entry in named.items()
    ]


def choose(settings: PolicySettings, offered: Sequence[ServedModel] | None) -> str:
    """The model to ask for: the named model, by the name in the server's list, or else the only one but for adapters.

    Lists are not complete. Hosted servers leave out aliases, and list a page at a time. So Evolve also asks for a model
    that is not in the list.

    Args:
        settings: of the policy.
        offered: the models of its server. None: it has no list.

    Raises:
        PolicyDenied: there is no choice. The text names the offered models.
    """
    model, url = settings.model, settings.base_url
    if offered is None:
        if not model:
            raise PolicyDenied(f"the policy server {url} does not list its models: name one with --model")
        return model
    names = [entry.name for entry in offered]
    if model:
        return next((name for name in (model, f"{model}:latest", f"models/{model}") if name in names), model)
    if not names:
        raise PolicyDenied(f"the policy server {url} offers no model")
    names = [entry.name for entry in offered if not entry.base] or names
    if len(names) > 1:
        raise PolicyDenied(f"the policy server {url} offers several models: name one of {_shown(names)} with --model")
    return names[0]


@contextmanager
def unlisted(settings: PolicySettings, model: str, offered: Sequence[ServedModel] | None) -> Iterator[None]:
    """Explain that a server refuses a model that is not in its list. The text names the nearest model in it.

    Raises:
        PolicyDenied: always.
    """
    try:
        yield
    except PolicyDenied:
        if offered is None:
            raise
        names = [entry.name for entry in offered]
        nearest = difflib.get_close_matches(model, names, n=1, cutoff=0.4)
        hint = f"; the nearest is {nearest[0]}" if nearest else ""
        offers = f"it offers {_shown(names)}" if names else "it offers no model"
        raise PolicyDenied(f"{settings.place} does not know the model {model}: {offers}{hint}") from None


def _shown(names: Sequence[str]) -> str:
    return ", ".join(names[:_MODELS_NAMED]) + (", ..." if len(names) > _MODELS_NAMED else "")


def _context(entry: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]) -> int | None:
    """The context of a base model, which is its adapters' too: of an adapter vLLM tells only which model it adapts."""
    for place in (entry, named.get(str(entry.get("parent")), {})):
        length = place.get("max_model_len")
        if isinstance(length, int) and length > 0:
            return length
    return None
