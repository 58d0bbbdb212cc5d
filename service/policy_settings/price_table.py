"""Prices and context lengths of common models, from the table that LiteLLM brings along; empty where it is absent."""

import importlib.util
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from service.schemas.policies import PriceSettings

FILE = "model_prices_and_context_window_backup.json"
_MILLION = 1_000_000
# The parts of a name that say how a model is reached, not which it is.
_ROUTES = ("responses/", "converse/", "invoke/")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownModel:
    """What the table tells of a model.

    Attributes:
        price: of its tokens in US dollars; None: not known.
        context_tokens: most tokens of a prompt; None: not known.
    """

    price: PriceSettings | None = None
    context_tokens: int | None = None


def find_model(name: str) -> KnownModel:
    """What is known of a model, by the name that LiteLLM gives it, such as `anthropic/claude-sonnet-4-5`."""
    table = _table()
    for key in _spellings(name):
        if isinstance(entry := table.get(key), Mapping):
            return KnownModel(price=_price(entry), context_tokens=_count(entry.get("max_input_tokens")))
    return KnownModel()


def _spellings(name: str) -> list[str]:
    plain = name
    for route in _ROUTES:
        plain = plain.replace(route, "", 1)
    return [name, plain, plain.partition("/")[2]]


@cache
def _table() -> Mapping[str, Any]:
    found = importlib.util.find_spec("litellm")
    if found is None or not found.submodule_search_locations:
        return {}
    try:
        value = json.loads((Path(found.submodule_search_locations[0]) / FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, Mapping) else {}


def _price(entry: Mapping[str, Any]) -> PriceSettings | None:
    given, written = (_amount(entry.get(f"{kind}_cost_per_token")) for kind in ("input", "output"))
    if given is None or written is None:
        return None
    return PriceSettings(input=given, cached=_amount(entry.get("cache_read_input_token_cost")), output=written)


def _amount(value: object) -> Decimal | None:
    """Dollars for a million tokens."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
        return None
    return (Decimal(repr(value)) * _MILLION).normalize()


def _count(value: object) -> int | None:
    return value if isinstance(value, int) and value > 0 else None
