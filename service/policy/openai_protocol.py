"""The OpenAI streaming protocol, read with care, because a server may send anything."""

import json
import math
import re
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from evolve.errors import PolicyDenied, PolicyError, PolicyRefused, PolicyUnavailable
from evolve.proposal import Usage
from service.net.retry import worth_retrying
from service.policy.capabilities import RefusedRequest, read_parameters
from service.policy.concurrency_controller import ConcurrencyLoad

DONE = "[DONE]"
MAX_LINE_BYTES = 2 << 20
MAX_MESSAGE_CHARACTERS = 300
MAX_REFUSAL_CHARACTERS = 2000
# Servers known to continue a reply, by what their list of models calls them. Others would begin a reply of their own.
CONTINUING = frozenset({"vllm"})
_UNKNOWN_MODEL = frozenset({"model_not_found", "unknown_model", "model_not_exist"})

# A line of Prometheus' text format: vLLM's gauges, one series for each engine.
_LOAD = re.compile(r"^vllm:num_requests_(running|waiting)(?:\{[^\n]*\})?[ \t]+([^\s]+)", re.MULTILINE)
_MAX_REQUESTS = 1e9


# A template of a chat model that refuses the roles is no failure of the server, whatever status it sends.
_TEMPLATE = re.compile(r"(?i)system role not supported|roles must alternate|roles are supported")


class RequestRefused(PolicyRefused):
    """A request that the server refused, with the refusal as it explains it."""

    def __init__(self, text: str, refusal: RefusedRequest) -> None:
        super().__init__(text)
        self.refusal = refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """The part of an event for a choice. `finish_reason` is empty before its end. `reasoning` is not text of it."""

    choice: int
    text: str = ""
    reasoning: str = ""
    finish_reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamChunk:
    """One event of a stream; `done` is the last, after which nothing comes."""

    deltas: tuple[Delta, ...] = ()
    usage: Usage | None = None
    done: bool = False


async def read_events(blocks: AsyncIterator[bytes], max_bytes: int) -> AsyncGenerator[str, None]:
    """The data of server-sent events, each as a string, without waiting for more than a line.

    Raises:
        PolicyUnavailable: a line or the whole is longer than any honest answer.
    """
    rest, total = b"", 0
    async for block in blocks:
        total += len(block)
        *lines, rest = (rest + block).split(b"\n")
        if total > max_bytes or len(rest) > MAX_LINE_BYTES:
            raise PolicyUnavailable("it sends more than was asked for", 0.0)
        for line in lines:
            if line.startswith(b"data:"):
                yield line[5:].strip().decode("utf-8", "replace")
    if rest.startswith(b"data:"):
        yield rest[5:].strip().decode("utf-8", "replace")


def read_chunk(data: str) -> StreamChunk:
    """Read an event of a chat completion, or a whole completion without streaming.

    Raises:
        PolicyError: the event reports an error, or is not one of a chat completion.
    """
    if data == DONE:
        return StreamChunk(done=True)
    value = read_json(data)
    if isinstance(value, Mapping) and value.get("error"):
        code = value["error"].get("code") if isinstance(value["error"], Mapping) else None
        raise failure(code if isinstance(code, int) and 400 <= code < 600 else 500, data)
    return read_chunk_value(value)


def read_chunk_value(value: object) -> StreamChunk:
    """Read an event of a chat completion that is JSON already.

    Raises:
        PolicyUnavailable: it is not an event of a chat completion.
    """
    if not isinstance(value, Mapping):
        raise PolicyUnavailable("it does not send a chat completion", 0.0)
    choices = value.get("choices")
    if not isinstance(choices, list):
        raise PolicyUnavailable("it does not send a chat completion", 0.0)
    return StreamChunk(deltas=tuple(_delta(choice) for choice in choices), usage=read_usage(value.get("usage")))


def read_json(text: str) -> Any:
    """A JSON value.

    Raises:
        PolicyUnavailable: the text is none.
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyUnavailable("it does not send JSON", 0.0) from error


def read_load(text: str) -> ConcurrencyLoad | None:
    """The load in a server's metrics, over all its engines. None: they have none."""
    found: dict[str, float] = {}
    for name, number in _LOAD.findall(text):
        try:
            value = float(number)
        except ValueError:
            return None
        if not (math.isfinite(value) and 0.0 <= value <= _MAX_REQUESTS):
            return None
        found[name] = found.get(name, 0.0) + value
    return ConcurrencyLoad(running=found["running"], waiting=found["waiting"]) if len(found) == 2 else None


def failure(status: int, body: str, retry_after_seconds: float = 0.0) -> PolicyError:
    """The error for a response with this status and body, with the server's own text, trimmed."""
    code, said, refusal = _error(body)
    text = said or f"status {status}"
    if worth_retrying(status) and not (status == 500 and _TEMPLATE.search(refusal.message)):
        return PolicyUnavailable(f"status {status}: {said}" if said else text, retry_after_seconds)
    if code in _UNKNOWN_MODEL or status not in (400, 413, 422, 500):
        return PolicyDenied(text)
    return RequestRefused(text, refusal)


def read_usage(value: object) -> Usage | None:
    """The tokens that a server tells of; None: it tells of none."""
    if not isinstance(value, Mapping):
        return None
    details = value.get("prompt_tokens_details")
    given = _count(value.get("prompt_tokens"))
    # With several choices the server tells of one of them: as much of the prompt as that one found, never a sum.
    cached = min(given, _count(details.get("cached_tokens"))) if isinstance(details, Mapping) else 0
    output, written = _count(value.get("completion_tokens")), value.get("completion_tokens_details")
    reasoning = min(output, _count(written.get("reasoning_tokens"))) if isinstance(written, Mapping) else 0
    return Usage(input=given, cached=cached, output=output, reasoning=reasoning)


def clean(text: str) -> str:
    """Text that any storage accepts: lone surrogates and NUL become the replacement character."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\x00", "\ufffd")


def _delta(choice: object) -> Delta:
    if not isinstance(choice, Mapping):
        raise PolicyUnavailable("it does not send a chat completion", 0.0)
    part = choice.get("delta", choice.get("message"))
    part = part if isinstance(part, Mapping) else {}
    index, reason = choice.get("index", 0), choice.get("finish_reason")
    if not isinstance(index, int):
        raise PolicyUnavailable("it does not send a chat completion", 0.0)
    return Delta(
        choice=index,
        text=_text(part, "content"),
        reasoning=_text(part, "reasoning_content", "reasoning"),
        finish_reason=clean(reason)[:64] if isinstance(reason, str) else "",
    )


def _text(part: Mapping[str, Any], *keys: str) -> str:
    """The text under the first of the keys that holds one."""
    return next((clean(part[key]) for key in keys if isinstance(part.get(key), str) and part[key]), "")


def _count(value: object) -> int:
    return min(value, 2**53) if isinstance(value, int) and value > 0 else 0


def _error(body: str) -> tuple[str, str, RefusedRequest]:
    """Code, message and refusal of an error body: an object, a list of them, a string, or no JSON at all."""
    try:
        value: object = json.loads(body)
    except (ValueError, RecursionError):
        text = re.sub(r"<[^<>]*>", " ", body)
        return "", _trim(text), RefusedRequest(message=_trim(text, MAX_REFUSAL_CHARACTERS))
    whole = value = value[0] if isinstance(value, list) and value and isinstance(value[0], Mapping) else value
    code = ""
    for _ in range(4):
        if not isinstance(value, Mapping):
            break
        code = value["code"] if isinstance(value.get("code"), str) else code
        value = next((value[key] for key in ("error", "message", "detail") if value.get(key)), "")
    text = value if isinstance(value, str) else json.dumps(value)
    return code, _trim(text), _refusal(whole, text)


def _refusal(body: object, text: str) -> RefusedRequest:
    text = f"{text} {_passed_on(body)}"
    return RefusedRequest(message=_trim(text, MAX_REFUSAL_CHARACTERS), parameters=tuple(read_parameters(body)))


def _passed_on(body: object) -> str:
    """The text of the server behind a gateway, which OpenRouter passes on as `error.metadata.raw`."""
    error = body.get("error") if isinstance(body, Mapping) else None
    metadata = error.get("metadata") if isinstance(error, Mapping) else None
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    return raw if isinstance(raw, str) else ""


def _trim(text: str, maximum: int = MAX_MESSAGE_CHARACTERS) -> str:
    line = clean(" ".join("".join(c if c.isprintable() else " " for c in text[:4096]).split()))
    return line if len(line) <= maximum else line[: maximum - 1] + "\u2026"


def continuing(beginning: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a request whose last message is the start of the reply. Empty without such a start.

    The server stops after the fence that closes the program, because later words are useless.

    Args:
        beginning: of the reply, from the line that opens a fenced block on.
        parameters: of the policy. Their `stop` applies as well.
    """
    if not beginning:
        return {}
    opening = beginning.partition("\n")[0]
    run = opening[: len(opening) - len(opening.lstrip("`"))]
    stop = parameters.get("stop", [])
    return {
        "add_generation_prompt": False,
        "continue_final_message": True,
        "include_stop_str_in_output": True,
        "stop": [*([stop] if isinstance(stop, str) else stop), f"\n{run}"],
    }
