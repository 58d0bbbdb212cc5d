"""ToolRL: calls of tools, compared with the calls wanted.

Reward (Vector Policy Optimization, arXiv 2605.22817; data: ToolRL, arXiv 2504.13958, rlla_4k): the form of the reply,
the tools' names, the arguments' names and the arguments' values.
"""

import json
import math
import re
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evolve.answers.chain import MAX_ANSWER
from evolve.domains.blocks import check_count, fill, taken
from evolve.domains.blocks import field as tag_text
from evolve.domains.domain import DomainReply
from evolve.domains.overlap import f1, same, words
from evolve.multiobjective.scalarization import Floats

OBJECTIVES = ("format", "tool_name", "arg_key", "arg_value")
MAX_DEPTH = 20
_OUTER = re.compile(r"<(/?)response[ _-]?\d{1,6}[ \t]{0,8}>", re.IGNORECASE | re.ASCII)
_SPACE = re.compile(r"[\s,;]*")
FORM = (
    "Reply in this form. Leave the calls out if none is needed:\n<think>why these calls</think>\n"
    '<tool_call>\n{"name": "tool", "parameters": {"argument": "value"}}\n</tool_call>\n'
    "<response>what you say, if anything</response>"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolTask:
    """A task for tools.

    Attributes:
        system: what the tools are, and the form of a reply; empty: the usual form is added.
        user: what is asked for.
        calls: the calls wanted; none where the right thing is to answer without.
    """

    user: str
    system: str = ""
    calls: tuple[ToolCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """An attempt.

    Attributes:
        thought: whether it has a `<think>` section.
        tried: whether its `<tool_call>` section has any content.
        calls: the readable calls.
    """

    thought: bool
    tried: bool
    calls: tuple[ToolCall, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRL:
    """Call the right tools with the right arguments."""

    name: str = "toolrl"

    def objectives(self, question: ToolTask) -> tuple[str, ...]:  # noqa: ARG002 - the shape all domains have
        """Format, tool_name, arg_key, arg_value."""
        return OBJECTIVES

    def task(self, question: ToolTask) -> str:
        """The tools, with the form of a reply if the data names it, and the task."""
        return "\n\n".join(part for part in (question.system, question.user) if part)

    def prompt(self, question: ToolTask, m: int = 1) -> str:
        """The tools, the task, and the form of the reply."""
        check_count(m)
        parts = [self.task(question)]
        parts += [] if question.system else [FORM]
        if m > 1:
            parts.append(
                f"Make {m} attempts that differ in tools or in arguments. Put each, in the form above, between tags of"
                f" its own: <response_1> and </response_1> to <response_{m}> and </response_{m}>."
            )
        return "\n\n".join(parts) + "\n"

    def parse(self, text: str, m: int = 1, cut: bool = False) -> DomainReply[Attempt]:
        """Attempts in numbered `<response_i>` tags, else a single attempt in the whole completion.

        Calls are JSON objects in a row, or an array of them. `arguments` is read as `parameters`.

        Raises:
            ConfigurationError: `m` is below 1.
        """
        check_count(m)
        found, dropped = _attempts(text, cut)
        if not found and not dropped and text.strip():
            found = [text]
            dropped = ["no <response_i> tags: the whole completion was read as one answer"] if m > 1 else []
        found, beyond = taken(found, m)
        return fill(found, [*dropped, *beyond], m, _attempt)

    def reward(self, question: ToolTask, answer: Attempt) -> Floats:
        """(4,): format 0 or 1, F1 of the names, mean F1 of the arguments' names, and mean match of the expected values.

        Calls are paired with the expected calls in order, by name and then by shared arguments. A call without a
        partner scores 0 on its arguments.
        """
        right_form = answer.thought and (bool(answer.calls) if question.calls else not answer.tried)
        names = f1([_plain(call.name) for call in answer.calls], [_plain(call.name) for call in question.calls])
        pairs = paired(answer.calls, question.calls)
        alone = len(answer.calls) + len(question.calls) - 2 * len(pairs)
        count = len(pairs) + alone
        keys = sum(f1(made.arguments.keys(), wanted.arguments.keys()) for made, wanted in pairs)
        values = sum(_values(made.arguments, wanted.arguments) for made, wanted in pairs)
        means = (keys / count, values / count) if count else (1.0, 1.0)
        return np.array([float(right_form), names, *means])

    def scalar(self, vector: Floats) -> float:
        """The mean."""
        return float(vector.mean())

    def identity(self, answer: Attempt, vector: Floats) -> Hashable:  # noqa: ARG002 - the shape all domains have
        """The reward vector."""
        return tuple(vector.tolist())


def _attempts(text: str, cut: bool) -> tuple[list[str], list[str]]:
    """The text after each numbered opening tag, up to the next. Inner `<response>` tags have no number."""
    marks = list(_OUTER.finditer(text))
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    open_end = bool(marks) and not marks[-1][1] and cut
    found = [text[mark.end() : end] for mark, end in zip(marks, ends, strict=False) if not mark[1]]
    return found[:-1] if open_end else found, ["1 answer cut off by the end of the completion"] if open_end else []


def _attempt(text: str) -> tuple[Attempt | None, str]:
    if len(text) > MAX_ANSWER:
        return None, f"the attempt is longer than {MAX_ANSWER} characters"
    sections = {tag: tag_text(text, tag) for tag in ("think", "tool_call", "response")}
    if all(section is None for section in sections.values()):
        return None, "the attempt holds no <think>, <tool_call> or <response>"
    body = sections["tool_call"] or ""
    calls, note = _calls(body)
    return Attempt(thought=sections["think"] is not None, tried=bool(body), calls=tuple(calls)), note


def _calls(body: str) -> tuple[list[ToolCall], str]:
    decoder, at = json.JSONDecoder(), 0
    calls: list[ToolCall] = []
    while at < len(body):
        gap = _SPACE.match(body, at)
        at = gap.end() if gap else at
        if at == len(body):
            break
        try:
            value, at = decoder.raw_decode(body, at)
        except (ValueError, RecursionError):
            return calls, f"the text after call {len(calls)} is not JSON"
        for entry in value if isinstance(value, list) else [value]:
            call = _call(entry)
            if call is None:
                return calls, f"the text after call {len(calls)} is not a call with a name and parameters"
            calls.append(call)
    return calls, ""


def _call(entry: object) -> ToolCall | None:
    if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
        return None
    arguments = entry.get("parameters", entry.get("arguments", {}))
    if not isinstance(arguments, dict) or not _shallow(arguments, MAX_DEPTH):
        return None
    return ToolCall(name=entry["name"], arguments=arguments)


def _shallow(value: object, left: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return left > 0 and all(_shallow(one, left - 1) for one in inner)


def paired(made: tuple[ToolCall, ...], wanted: tuple[ToolCall, ...]) -> list[tuple[ToolCall, ToolCall]]:
    """Pairs of made and expected calls: for each expected call, in order, the remaining call that fits best."""
    free, pairs = list(made), []
    for goal in wanted:
        if not free:
            break
        fits = [(_plain(call.name) == _plain(goal.name), len(call.arguments.keys() & goal.arguments)) for call in free]
        pairs.append((free.pop(fits.index(max(fits))), goal))
    return pairs


def _values(made: Mapping[str, Any], wanted: Mapping[str, Any]) -> float:
    if not wanted:
        return 1.0
    return sum(match(made[key], value) for key, value in wanted.items() if key in made) / len(wanted)


def match(made: object, wanted: object) -> float:
    """The match of a value with the expected value.

    Texts use F1 of their words, lists F1 of their entries, objects F1 of their keys, and the rest equality.
    """
    if isinstance(made, bool) or isinstance(wanted, bool):
        return float(made is wanted)
    if isinstance(wanted, int | float):
        return float(_equal(made, wanted))
    if isinstance(wanted, list):
        entries = made if isinstance(made, list) else [made]
        return f1([_plain(one) for one in entries], [_plain(one) for one in wanted])
    if isinstance(wanted, dict):
        return f1(made.keys(), wanted.keys()) if isinstance(made, dict) else 0.0
    if isinstance(wanted, str) and isinstance(made, str):
        return float(made == wanted) if not words(wanted) else f1(words(made), words(wanted))
    return float(same(str(made), str(wanted)))


def _equal(made: object, wanted: float) -> bool:
    try:
        return math.isclose(float(str(made)), wanted, rel_tol=0.0, abs_tol=1e-9)
    except (ValueError, OverflowError):
        return False


def _plain(value: object) -> str:
    return " ".join(words(str(value)))
