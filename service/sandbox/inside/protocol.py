"""What the keeper and a child say to each other. The child may be a liar: every frame is checked."""

import math
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any, Protocol

from .channel import ChannelError, parse
from .import_times import MAX_MODULES

_FAILURES = {"error", "memory"}
_MAX_REASON, _MAX_NAME = 600, 200


class Conversation(Protocol):
    """One conversation with one child.

    Attributes:
        done: whether everything was said.
        failed: outcome and reason when the child gave up; empty otherwise.
    """

    done: bool
    failed: tuple[str, str]

    def hear(self, body: bytes) -> bytes:
        """Take the body of a frame; returns what is to be sent next, if anything.

        Raises:
            ChannelError: the child does not keep to the conversation.
        """


class Dialogue:
    """A program's calls, one input after the other; the time of each is taken here, not by the program.

    Attributes:
        outputs: `{"value", "seconds", "error"}` of each call so far.
        imports: seconds by module, where the child is asked to take them.
    """

    def __init__(self, inputs: Iterator[bytes] | None) -> None:
        self.done = False
        self.failed = ("", "")
        self.outputs: list[dict[str, Any]] = []
        self.imports: dict[str, float] = {}
        self._inputs = inputs
        self._asked = False
        self._since = 0.0

    def hear(self, body: bytes) -> bytes:
        """Take an answer, and hand out the next input."""
        now = perf_counter()
        said = _mapping(body)
        self.failed = _failure(said)
        self.imports = _imports(said) or self.imports
        if self.failed[0]:
            self.done = True
            return b""
        if self._asked:
            self.outputs.append(_output(said, now - self._since))
        return self._next()

    def _next(self) -> bytes:
        if self._inputs is None:
            following = b"{}" if not self._asked else b""
        else:
            line = next(self._inputs, b"")
            following = b'{"input":' + line.rstrip() + b"}" if line else b""
        self._asked = True
        if not following:
            self.done = True
            return b""
        self._since = perf_counter()
        return len(following).to_bytes(4, "big") + following


class ScoreReply:
    """The one answer of a child that scores.

    Attributes:
        result: what the evaluator returned.
        stage: why its cascade stopped; empty when it did not.
        imports: seconds by module, where the child is asked to take them.
    """

    def __init__(self) -> None:
        self.done = False
        self.failed = ("", "")
        self.result: Any = None
        self.stage = ""
        self.imports: dict[str, float] = {}

    def hear(self, body: bytes) -> bytes:
        """Take the answer."""
        said = _mapping(body)
        self.failed = _failure(said)
        self.result = said.get("result")
        self.stage = str(said.get("stage", ""))[:_MAX_REASON]
        self.imports = _imports(said)
        self.done = True
        return b""


def _mapping(body: bytes) -> Mapping[str, Any]:
    said = parse(body)
    if not isinstance(said, dict):
        raise ChannelError("what came back is no answer")
    return said


def _imports(said: Mapping[str, Any]) -> dict[str, float]:
    found = said.get("imports")
    pairs = list(found.items())[:MAX_MODULES] if isinstance(found, dict) else []
    return {name[:_MAX_NAME]: value for name, value in pairs if isinstance(value, float) and 0 <= value < math.inf}


def _failure(said: Mapping[str, Any]) -> tuple[str, str]:
    if "failed" not in said:
        return "", ""
    outcome = said.get("outcome")
    return outcome if outcome in _FAILURES else "error", str(said["failed"])[:_MAX_REASON]


def _output(said: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    if "error" in said:
        return {"value": None, "seconds": seconds, "error": str(said["error"])[:_MAX_REASON]}
    if "value" not in said:
        raise ChannelError("what came back is no answer")
    return {"value": said["value"], "seconds": seconds, "error": None}
