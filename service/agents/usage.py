"""The tokens that replies of model servers tell, whichever protocol an agent speaks, and what a session may spend."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from evolve.money import Money
from evolve.proposal import Usage
from service.policy.tokens import estimate_tokens

_MAX_TOKENS = 10**9
_MAX_TEXT = 4 << 20


@dataclass(slots=True, kw_only=True)
class SessionMeter:
    """The tokens that a session has used, and its limits.

    Attributes:
        max_tokens: 0: any number.
        max_cost: None: any amount.
        cost: of tokens; None: it is not known.
    """

    max_tokens: int = 0
    max_cost: Decimal | None = None
    cost: Callable[[Usage], Money | None]
    usage: Usage = field(default_factory=Usage)

    @property
    def refusal(self) -> str:
        """Why a further request is refused; empty: it is not."""
        if self.max_tokens and self.usage.total >= self.max_tokens:
            return f"this session has used its {self.max_tokens} tokens: end it, and leave what you have"
        cost = self.cost(self.usage) if self.max_cost is not None else None
        if cost is not None and self.max_cost is not None and cost.amount >= self.max_cost:
            return f"this session has used its {self.max_cost} {cost.currency}: end it, and leave what you have"
        return ""

    def room(self, asked: int) -> int | None:
        """Output tokens that a reply may still have, to a request of so many tokens; None: any number."""
        rooms = [self.max_tokens - self.usage.total - asked] if self.max_tokens else []
        spent, million = self.cost(self.usage + Usage(input=asked)), self.cost(Usage(output=1_000_000))
        if self.max_cost is not None and spent is not None and million is not None and million.amount:
            rooms.append(int((self.max_cost - spent.amount) * 1_000_000 / million.amount))
        return min(rooms, default=None)

    def add(self, usage: Usage) -> None:
        """Count the tokens of a reply."""
        self.usage += usage


class ReplyReader:
    """Finds the tokens in a reply while it passes; where it tells none, they are estimated, for it was paid for.

    Args:
        request: the body of the request.
        free: whether the reply costs nothing, such as a list of models.

    Attributes:
        asked: tokens of the request, by estimate.
    """

    def __init__(self, request: bytes, *, free: bool = False) -> None:
        self._free = free
        self.asked = estimate_tokens(request.decode(errors="replace"))
        self._text = bytearray()
        self._size = 0

    def feed(self, part: bytes) -> None:
        """Take a part of the reply."""
        self._size += len(part)
        self._text += part
        # The usage is in the first event or in the last ones.
        if len(self._text) > _MAX_TEXT:
            del self._text[_MAX_TEXT // 4 : len(self._text) - _MAX_TEXT // 2]

    def usage(self, *, complete: bool = True) -> Usage:
        """The tokens of the reply.

        Args:
            complete: whether its end was read. If not, the tokens that it told so far may be too few, such as those of
                Anthropic's first event, so an estimate that is higher counts.
        """
        if self._free:
            return Usage()
        estimate = Usage(input=self.asked, output=estimate_tokens("x" * self._size))
        text = self._text.decode(errors="replace")
        found = [usage for value in _values(text) if (usage := read_usage(value)) is not None]
        if not found:
            return estimate
        if not complete:
            found.append(estimate)
        return Usage(
            input=max(usage.input for usage in found),
            cached=max(usage.cached for usage in found),
            output=max(usage.output for usage in found),
            reasoning=max(usage.reasoning for usage in found),
        )


def read_usage(value: object) -> Usage | None:
    """The tokens that a reply, or an event of one, tells; None: it tells none.

    It reads OpenAI's chat completions and responses, Anthropic's messages, and Gemini's contents.
    """
    if not isinstance(value, dict):
        return None
    for outer in (value, value.get("response"), value.get("message")):
        if not isinstance(outer, dict):
            continue
        if isinstance(gemini := outer.get("usageMetadata"), dict):
            thought = _count(gemini, "thoughtsTokenCount")
            return Usage(
                input=_count(gemini, "promptTokenCount"),
                cached=_count(gemini, "cachedContentTokenCount"),
                output=_count(gemini, "candidatesTokenCount") + thought,
                reasoning=thought,
            )
        if isinstance(usage := outer.get("usage"), dict):
            return _of_usage(usage)
    return None


def _of_usage(usage: Mapping[str, Any]) -> Usage:
    if "cache_read_input_tokens" in usage or "cache_creation_input_tokens" in usage:
        cached = _count(usage, "cache_read_input_tokens")
        fresh = _count(usage, "input_tokens") + _count(usage, "cache_creation_input_tokens")
        return Usage(input=fresh + cached, cached=cached, output=_count(usage, "output_tokens"))
    asked = _part(usage, "prompt_tokens_details") or _part(usage, "input_tokens_details")
    wrote = _part(usage, "completion_tokens_details") or _part(usage, "output_tokens_details")
    return Usage(
        input=_count(usage, "prompt_tokens") or _count(usage, "input_tokens"),
        cached=_count(asked, "cached_tokens"),
        output=_count(usage, "completion_tokens") or _count(usage, "output_tokens"),
        reasoning=_count(wrote, "reasoning_tokens"),
    )


def _part(usage: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = usage.get(name)
    return found if isinstance(found, dict) else {}


def _count(usage: Mapping[str, Any], name: str) -> int:
    found = usage.get(name)
    whole = isinstance(found, int) and not isinstance(found, bool)
    return min(max(0, found), _MAX_TOKENS) if whole and isinstance(found, int) else 0


def _values(text: str) -> list[object]:
    """The JSON values of a reply: the whole, or the data of its events."""
    lines = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    found: list[object] = []
    for part in lines or [text]:
        try:
            found.append(json.loads(part))
        except (ValueError, RecursionError):
            continue
    return [value for each in found for value in (each if isinstance(each, list) else [each])]
