"""The capabilities of a server, learnt from its refusals. The code is pure, from a frozen shape to the next.

Servers with the OpenAI protocol differ in their parameters. Evolve assumes nothing about them by name. It sends the
full request, and drops, renames, merges or lowers a refused parameter in all later requests.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

MAX_REASON_CHARACTERS = 200
MIN_LOWERED_TOKENS = 64
_NEVER_DROPPED = frozenset({"model", "messages", "stream"})
Action = Literal["dropped", "renamed", "merged", "lowered"]

# Templates of chat models and hosted models without a system role say so in these words.
_NO_SYSTEM = re.compile(
    r"(?:system|developer)[ _](?:role|messages?|prompt|instructions?)\b.{0,60}"
    r"\b(?:not|un)[ _]?(?:supported|enabled|allowed)"
    r"|does not support ['\"`](?:system|developer)\b"
    r"|roles must alternate"
    r"|only user(?:, | and )[\w, ]{0,40}roles are supported",
    re.IGNORECASE,
)
_NOT_TOGETHER = re.compile(r"cannot both|both be (?:specified|set)|only one|mutually exclusive|not both", re.IGNORECASE)
_ONE_CHOICE = re.compile(
    r"\bn\b['\"`]?\s*:?\s*(?:number )?(?:must|should|has to|needs to|can only) be (?:at most |equal to )?1\b"
    r"|\bn\s*(?:>|!=|greater than|other than)\s*1\b"
    r"|only (?:one|1|a single) (?:completion|choice|candidate)"
    r"|multiple (?:completions|choices|candidates)\b.{0,40}\bnot\b",
    re.IGNORECASE,
)
_REFUSING = re.compile(
    r"\bnot (?:yet )?(?:supported|permitted|allowed|available|accepted|valid|implemented)"
    r"|\b(?:un(?:supported|known|recognized|recognised|expected)|invalid|extra|forbidden|deprecated|only|cannot|can't)\b"
    r"|\bdo(?:es)? not (?:support|accept|allow|have)|\b(?:must|should) be\b|\bat most\b|\brange\b",
    re.IGNORECASE,
)
_THING = r"(?:name|parameter|argument|value|field|key|property|keyword argument|input|option)s?"
# The parameter that a refusal is about, in the words of the servers that we know; the name is the group that matched.
_NAMED = re.compile(
    r"(?:not supported|unsupported|unknown|unrecogni[sz]ed|unexpected|invalid|extra|forbidden)(?: request)?"
    rf"(?: {_THING})?(?: (?:supplied|found|received))?\s*:?\s*['\"`]([a-z][a-z0-9_]{{0,63}})\b"
    rf"|{_THING}(?: supplied| not supported)?(?: on this model)?\s*:?\s+['\"`]?([a-z][a-z0-9_]{{2,63}})"
    r"|['\"`]([a-z][a-z0-9_]{0,63})['\"`]\s*(?::|(?:is|are|was|does|cannot|must|should|may)\b)"
    r"|\b([a-z][a-z0-9_]{0,63}): (?:extra inputs|must|should|range|number|input|not|un|property)",
    re.IGNORECASE,
)
_CONTEXT = re.compile(
    r"(?:maximum context length|context window|context size|max_model_len\w*|`max_new_tokens` must be)"
    r"\D{0,40}?(\d{2,9})",
    re.IGNORECASE,
)
_GIVEN = re.compile(
    r"(\d{1,9})\s*(?:in (?:the|your) (?:messages|prompt|input)|(?:input|prompt|`inputs`) tokens|of text input"
    r"|tokens from the input)|messages resulted in (\d{1,9})",
    re.IGNORECASE,
)
_OUTPUT = re.compile(
    r"(?:at most|less than or equal to|<=|up to|maximum(?: value)?(?: allowed)?(?: is| of|:)"
    r"|range\b[^\d\n]{0,40}\d+(?: \(inclusive\))?\s*(?:,|to|-)|\d\s*>)[\s`'\"]*(\d{2,9})",
    re.IGNORECASE,
)
_LENGTH = re.compile(
    r"max_(?:completion_|output_)?tokens|maxOutputTokens|completion tokens|output tokens", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedRequest:
    """A refused request, as the server explains it.

    Attributes:
        message: its words on a single line, cut to a limit.
        parameters: names that it returns as data beside them, such as OpenAI's `param`. May be empty.
    """

    message: str
    parameters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterChange:
    """A parameter that is treated differently from now on."""

    parameter: str
    action: Action


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestShape:
    """The form of requests to a server.

    Attributes:
        length_key: name of the token limit.
        omitted: parameters that are left out.
        single_choice: whether each request asks for a single choice, so that n choices need n requests.
        merges_system: whether the system message goes to the start of the first user message.
        max_tokens: maximum tokens of a reply. None: unknown.
        context_tokens: context length from a refusal. None: unknown.
    """

    length_key: str = "max_tokens"
    omitted: frozenset[str] = frozenset()
    single_choice: bool = False
    merges_system: bool = False
    max_tokens: int | None = None
    context_tokens: int | None = None

    def shaped(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The full request as this server takes it."""
        dropped = self.omitted | ({"n"} if self.single_choice else set())
        shaped = {self._name(key): value for key, value in body.items() if self._name(key) not in dropped}
        if self.max_tokens is not None and self.length_key in shaped:
            shaped[self.length_key] = min(shaped[self.length_key], self.max_tokens)
        if self.merges_system:
            shaped["messages"] = _merged(body["messages"])
        return shaped

    def _name(self, key: str) -> str:
        return self.length_key if key == "max_tokens" else key


@dataclass(frozen=True, slots=True, kw_only=True)
class Adaptation:
    """The lesson of a refusal.

    Attributes:
        shape: the form of requests from now on.
        changes: its differences.
        reason: the server's words, cut to a limit.
        reply_tokens: the room that the refused prompt leaves for a reply. None: the refusal was not about the length.
    """

    shape: RequestShape
    changes: tuple[ParameterChange, ...]
    reason: str
    reply_tokens: int | None = None


def adapted(
    shape: RequestShape, body: Mapping[str, Any], refusal: RefusedRequest, context_tokens: int | None = None
) -> Adaptation | None:
    """The lesson of a refused request. None: nothing would make the same request acceptable.

    Args:
        shape: the form of the request.
        body: the request as sent.
        refusal: of the server.
        context_tokens: context length assumed for the request, if known.
    """
    found = _of_system(shape, body, refusal) or _of_length(shape, body, refusal, context_tokens)
    if found is not None:
        return found
    changes: list[ParameterChange] = []
    for name in _refused(body, refusal):
        shape, change = _without(shape, name)
        changes.append(change)
    return Adaptation(shape=shape, changes=tuple(changes), reason=_reason(refusal)) if changes else None


def without_choices(shape: RequestShape) -> RequestShape:
    """The shape for a server that returns a single choice for any n."""
    return replace(shape, single_choice=True)


def _of_system(shape: RequestShape, body: Mapping[str, Any], refusal: RefusedRequest) -> Adaptation | None:
    said = any(message["role"] == "system" for message in body["messages"])
    if not (said and _NO_SYSTEM.search(refusal.message)):
        return None
    changes = (ParameterChange(parameter="messages", action="merged"),)
    return Adaptation(shape=replace(shape, merges_system=True), changes=changes, reason=_reason(refusal))


def _of_length(
    shape: RequestShape, body: Mapping[str, Any], refusal: RefusedRequest, context_tokens: int | None
) -> Adaptation | None:
    asked = body.get(shape.length_key)
    if not isinstance(asked, int):
        return None
    told = _number(_CONTEXT, refusal.message)
    if told is None:
        return _of_output(shape, asked, refusal)
    known = min(filter(None, (shape.context_tokens, context_tokens)), default=None)
    given = _number(_GIVEN, refusal.message)
    room = told - given if given is not None else 0
    fits = room if MIN_LOWERED_TOKENS <= room < asked else None
    if known is not None and known <= told and fits is None:
        return None
    learnt = replace(shape, context_tokens=min(told, known or told))
    return Adaptation(shape=learnt, changes=_lowered(shape), reason=_reason(refusal), reply_tokens=fits)


def _of_output(shape: RequestShape, asked: int, refusal: RefusedRequest) -> Adaptation | None:
    if not (_LENGTH.search(refusal.message) or shape.length_key in refusal.parameters):
        return None
    beyond = "exclusive" in refusal.message.lower()
    maximum = [int(number) - beyond for number in _OUTPUT.findall(refusal.message)]
    maximum = [number for number in maximum if 0 < number < asked]
    if not maximum:
        return None
    learnt = replace(shape, max_tokens=max(maximum))
    return Adaptation(shape=learnt, changes=_lowered(shape), reason=_reason(refusal), reply_tokens=max(maximum))


def _lowered(shape: RequestShape) -> tuple[ParameterChange]:
    return (ParameterChange(parameter=shape.length_key, action="lowered"),)


def _refused(body: Mapping[str, Any], refusal: RefusedRequest) -> list[str]:
    """The parameters of the request that the refusal is about, as its data name them, else as its words do."""
    held = [key for key in body if key not in _NEVER_DROPPED]
    told = [key for key in held if key in refusal.parameters]
    message = refusal.message
    if "top_p" in held and {"temperature", "top_p"} <= _words(message) and _NOT_TOGETHER.search(message):
        return ["top_p"]
    if told:
        return told
    if "n" in held and _ONE_CHOICE.search(message):
        return ["n"]
    if not _REFUSING.search(message):
        return []
    named = {_plain(name) for match in _NAMED.finditer(message) for name in match.groups() if name}
    return [key for key in held if _plain(key) in named] or _first_word(message, held)


def _first_word(message: str, held: Sequence[str]) -> list[str]:
    """The first parameter that the words mention. A single letter is not a parameter."""
    places = {key: re.search(rf"\b{re.escape(key)}\b", message) for key in held if len(key) > 2}
    found = {key: place.start() for key, place in places.items() if place}
    return [min(found, key=lambda key: found[key])] if found else []


def _plain(name: str) -> str:
    """A name as all spellings of it have it: some servers answer in camelCase."""
    return name.replace("_", "").lower()


def _without(shape: RequestShape, name: str) -> tuple[RequestShape, ParameterChange]:
    if name == "n":
        return without_choices(shape), ParameterChange(parameter="n", action="dropped")
    if name == "max_tokens":
        return replace(shape, length_key="max_completion_tokens"), ParameterChange(parameter=name, action="renamed")
    return replace(shape, omitted=shape.omitted | {name}), ParameterChange(parameter=name, action="dropped")


def _merged(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The messages without the system role. Its text is at the start of the first user message."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    others = [dict(message) for message in messages if message["role"] != "system"]
    if not others or others[0]["role"] != "user":
        others.insert(0, {"role": "user", "content": ""})
    others[0]["content"] = "\n\n".join(text for text in (*system, others[0]["content"]) if text)
    return others


def _words(message: str) -> set[str]:
    return set(re.findall(r"\w+", message))


def _number(pattern: re.Pattern[str], message: str) -> int | None:
    found = pattern.search(message)
    return int(next(filter(None, found.groups()))) if found else None


def _reason(refusal: RefusedRequest) -> str:
    text = refusal.message
    return text if len(text) <= MAX_REASON_CHARACTERS else text[: MAX_REASON_CHARACTERS - 1] + "…"


def read_parameters(value: object) -> Iterator[str]:
    """The names that an error body returns as data: OpenAI's `param`, the `loc` of a validation error.

    Args:
        value: the body as JSON, of any form.
    """
    todo: list[object] = [value]
    for _ in range(64):
        if not todo:
            return
        one = todo.pop(0)
        if isinstance(one, list):
            todo.extend(one[:16])
        elif isinstance(one, Mapping):
            yield from _own_parameters(one)
            todo.extend(one[key] for key in ("error", "message", "detail") if isinstance(one.get(key), list | Mapping))


def _own_parameters(value: Mapping[Any, Any]) -> Iterator[str]:
    names = [value.get("param")]
    loc = value.get("loc")
    if isinstance(loc, list):
        names.append(next((part for part in loc if part not in ("body", "query")), None))
    for name in names:
        if isinstance(name, str) and (found := re.match(r"\w{1,64}", name)):
            yield found[0]
