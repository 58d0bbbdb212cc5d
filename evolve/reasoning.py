"""Reasoning that a policy writes in front of its answers: taken out while it streams, for it may speak of answers."""

import re

NAMES = ("think", "thinking")
_OPENING = re.compile(rf"<({'|'.join(NAMES)})>", re.IGNORECASE | re.ASCII)
_MOST_SPACE = 200


class ReasoningFilter:
    """Lets a completion pass without a leading `<think> ... </think>` block.

    A model told to answer in tags mentions those tags while it thinks; what it thinks is no answer. Only a block that
    the completion starts with is taken out. One that never ends swallows the rest: then the completion holds no answer.
    """

    def __init__(self) -> None:
        self._held = ""
        self._past = False
        self._closing: re.Pattern[str] | None = None

    def feed(self, text: str) -> str:
        """Take the next piece of the completion; gives what of it is not reasoning."""
        if self._past:
            return text
        self._held += text
        if self._closing is None:
            return self._start()
        return self._skip(self._closing)

    def close(self) -> str:
        """End the completion; gives what was held back until it was clear that no block begins."""
        return "" if self._past or self._closing is not None else self._pass(0)

    def _start(self) -> str:
        body = self._held.lstrip()
        if len(self._held) - len(body) > _MOST_SPACE:
            return self._pass(0)
        opening = _OPENING.match(body)
        if opening is not None:
            self._closing = re.compile(f"</{opening[1]}>", re.IGNORECASE | re.ASCII)
            self._held = body[opening.end() :]
            return self._skip(self._closing)
        undecided = any(f"<{name}>".startswith(body.lower()) for name in NAMES)
        return "" if undecided else self._pass(0)

    def _skip(self, closing: re.Pattern[str]) -> str:
        found = closing.search(self._held)
        if found is not None:
            return self._pass(found.end())
        self._held = self._held[-len(closing.pattern) :]
        return ""

    def _pass(self, start: int) -> str:
        text, self._held, self._past = self._held[start:], "", True
        return text
