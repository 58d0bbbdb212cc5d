"""Real HTTP servers on loopback ports that speak the providers' own protocols, and refuse what these refuse.

Requests, events and errors follow the published references of the Messages API (Anthropic), `streamGenerateContent`
(Gemini), the Responses API (OpenAI) and `ConverseStream` (Amazon Bedrock, in Amazon's event stream encoding).
"""

import asyncio
import json
import struct
import threading
import zlib
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.fakes.openai_server import served

Body = Mapping[str, Any]
Refused = tuple[int, Any] | None
Respond = Callable[[str], str]

INPUT, CACHED, OUTPUT, REASONING = 40, 24, 90, 12
CHARACTERS = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class Protocol:
    """A provider's protocol.

    Attributes:
        name: of the protocol.
        model: as LiteLLM is asked for it.
        refuse: status and body of the refusal of a request; None: it is answered.
        denied: body of the refusal of a key.
        key_header: header of the key, and what stands before it there.
        prompt: the text that a request asks with.
        events: the reply, event by event, to a text.
        media_type: of the stream.
    """

    name: str
    model: str
    refuse: Callable[[Body], Refused]
    denied: Any
    key_header: tuple[str, str]
    prompt: Callable[[Body], str]
    events: Callable[[str], Iterator[bytes]]
    media_type: str = "text/event-stream"


def _anthropic_refuses(body: Body) -> Refused:
    known = {"model", "messages", "max_tokens", "system", "stream", "temperature", "top_p", "top_k", "stop_sequences"}
    message = ""
    if "max_tokens" not in body:
        message = "max_tokens: Field required"
    elif extra := sorted(body.keys() - known - {"thinking", "metadata", "output_config"}):
        message = f"{extra[0]}: Extra inputs are not permitted"
    elif any(turn["role"] not in ("user", "assistant") for turn in body["messages"]):
        message = 'messages: Unexpected role "system". The Messages API accepts a top-level `system` parameter'
    elif {"temperature", "top_p"} <= body.keys():
        message = "`temperature` and `top_p` cannot both be specified for this model. Please use only one."
    return (400, _anthropic_error("invalid_request_error", message)) if message else None


def _anthropic_error(kind: str, message: str) -> Any:
    return {"type": "error", "error": {"type": kind, "message": message}}


def _anthropic_events(text: str) -> Iterator[bytes]:
    usage = {"input_tokens": INPUT - CACHED, "cache_read_input_tokens": CACHED, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "m", "usage": usage}
    yield _named("message_start", message=message | {"stop_reason": None, "stop_sequence": None})
    yield _named("content_block_start", index=0, content_block={"type": "thinking", "thinking": "", "signature": ""})
    yield _named("content_block_delta", index=0, delta={"type": "thinking_delta", "thinking": "Let me see."})
    yield _named("content_block_delta", index=0, delta={"type": "signature_delta", "signature": "c2ln"})
    yield _named("content_block_stop", index=0)
    yield _named("content_block_start", index=1, content_block={"type": "text", "text": ""})
    yield _named("ping")
    for piece in _pieces(text):
        yield _named("content_block_delta", index=1, delta={"type": "text_delta", "text": piece})
    yield _named("content_block_stop", index=1)
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    yield _named("message_delta", delta=ended, usage={"output_tokens": OUTPUT})
    yield _named("message_stop")


def _gemini_refuses(body: Body) -> Refused:
    settings = body.get("generationConfig", {})
    known = {"contents", "system_instruction", "systemInstruction", "generationConfig", "safetySettings"}
    message = ""
    if extra := sorted(body.keys() - known):
        message = f'Invalid JSON payload received. Unknown name "{extra[0]}": Cannot find field.'
    elif settings.get("candidate_count", settings.get("candidateCount", 1)) != 1:
        message = "Multiple candidates is not enabled for this model"
    return (400, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}) if message else None


def _gemini_events(text: str) -> Iterator[bytes]:
    usage = {
        "promptTokenCount": INPUT,
        "cachedContentTokenCount": CACHED,
        "candidatesTokenCount": OUTPUT - REASONING,
        "thoughtsTokenCount": REASONING,
        "totalTokenCount": INPUT + OUTPUT,
    }
    for piece in _pieces(text):
        content = {"parts": [{"text": piece}], "role": "model"}
        yield _event({"candidates": [{"content": content, "index": 0}], "usageMetadata": usage})
    ended = {"content": {"parts": [{"text": ""}], "role": "model"}, "index": 0, "finishReason": "STOP"}
    yield _event({"candidates": [ended], "usageMetadata": usage})


def _responses_refuses(body: Body) -> Refused:
    known = {"model", "input", "instructions", "stream", "max_output_tokens", "reasoning", "store", "include", "text"}
    message, name = "", None
    for name in ("temperature", "top_p"):
        if name in body:
            message = f"Unsupported parameter: '{name}' is not supported with this model."
            break
    else:
        if extra := sorted(body.keys() - known):
            message, name = f"Unknown parameter: '{extra[0]}'.", extra[0]
    error = {"message": message, "type": "invalid_request_error", "param": name, "code": "unknown_parameter"}
    return (400, {"error": error}) if message else None


def _responses_events(text: str) -> Iterator[bytes]:
    response: dict[str, Any] = {
        "id": "resp_1", "object": "response", "created_at": 1, "model": "m", "status": "in_progress", "output": [],
        "parallel_tool_calls": True, "tool_choice": "auto", "tools": [],
    }  # fmt: skip
    usage = {
        "input_tokens": INPUT,
        "input_tokens_details": {"cached_tokens": CACHED},
        "output_tokens": OUTPUT,
        "output_tokens_details": {"reasoning_tokens": REASONING},
        "total_tokens": INPUT + OUTPUT,
    }
    place = {"item_id": "msg_1", "output_index": 0, "content_index": 0}
    yield _named("response.created", sequence_number=0, response=response)
    for number, piece in enumerate(_pieces(text), start=1):
        yield _named("response.output_text.delta", sequence_number=number, delta=piece, logprobs=[], **place)
    ended = response | {"status": "completed", "usage": usage}
    yield _named("response.completed", sequence_number=10_000, response=ended)


_INFERENCE = {"maxTokens", "temperature", "topP", "stopSequences"}


def _bedrock_refuses(body: Body) -> Refused:
    known = {"messages", "system", "inferenceConfig", "additionalModelRequestFields"}
    message = ""
    if extra := sorted(body.keys() - known):
        message = f"Unknown parameter in input: {extra[0]}"
    elif extra := sorted(body.get("inferenceConfig", {}).keys() - _INFERENCE):
        message = f"Malformed input request: #/inferenceConfig: extraneous key [{extra[0]}] is not permitted"
    elif body.get("additionalModelRequestFields"):
        message = "Malformed input request: extraneous key is not permitted, please reformat your input and try again."
    return (400, {"message": message}) if message else None


def _bedrock_events(text: str) -> Iterator[bytes]:
    yield _frame("messageStart", {"role": "assistant"})
    for piece in _pieces(text):
        yield _frame("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}})
    yield _frame("contentBlockStop", {"contentBlockIndex": 0})
    yield _frame("messageStop", {"stopReason": "end_turn"})
    # Bedrock counts tokens that a cache held apart from the others.
    usage = {
        "inputTokens": INPUT - CACHED, "cacheReadInputTokens": CACHED, "outputTokens": OUTPUT,
        "totalTokens": INPUT + OUTPUT,
    }  # fmt: skip
    yield _frame("metadata", {"usage": usage, "metrics": {"latencyMs": 5}})


def _frame(kind: str, value: Any) -> bytes:
    """A message of Amazon's event stream: lengths, their checksum, headers, payload, and the checksum of all."""
    payload = json.dumps(value).encode()
    headers = {":event-type": kind, ":content-type": "application/json", ":message-type": "event"}
    packed = b"".join(
        struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(text)) + text.encode()
        for name, text in headers.items()
    )
    lengths = struct.pack("!II", 16 + len(packed) + len(payload), len(packed))
    message = lengths + struct.pack("!I", zlib.crc32(lengths)) + packed + payload
    return message + struct.pack("!I", zlib.crc32(message))


def _pieces(text: str) -> list[str]:
    return [text[at : at + CHARACTERS] for at in range(0, len(text), CHARACTERS)]


def _event(value: Any) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


def _named(kind: str, **values: Any) -> bytes:
    return f"event: {kind}\n".encode() + _event({"type": kind, **values})


def _said(*turns: Any) -> str:
    """All text of a request, whatever its shape."""
    return json.dumps(turns)


PROTOCOLS: Mapping[str, Protocol] = {
    "anthropic": Protocol(
        name="anthropic",
        model="anthropic/claude-sonnet-4-5",
        refuse=_anthropic_refuses,
        denied=_anthropic_error("authentication_error", "invalid x-api-key"),
        key_header=("x-api-key", ""),
        prompt=lambda body: _said(body.get("system"), body["messages"]),
        events=_anthropic_events,
    ),
    "gemini": Protocol(
        name="gemini",
        model="gemini/gemini-2.5-flash",
        refuse=_gemini_refuses,
        denied={"error": {"code": 401, "message": "API key not valid.", "status": "UNAUTHENTICATED"}},
        key_header=("x-goog-api-key", ""),
        prompt=lambda body: _said(body.get("system_instruction"), body["contents"]),
        events=_gemini_events,
    ),
    "responses": Protocol(
        name="responses",
        model="openai/responses/gpt-5",
        refuse=_responses_refuses,
        denied={"error": {"message": "Incorrect API key provided.", "code": "invalid_api_key"}},
        key_header=("authorization", "Bearer "),
        prompt=lambda body: _said(body.get("instructions"), body["input"]),
        events=_responses_events,
    ),
    "bedrock": Protocol(
        name="bedrock",
        model="bedrock/converse/us.amazon.nova-pro-v1:0",
        refuse=_bedrock_refuses,
        denied={"message": "The security token included in the request is invalid."},
        key_header=("authorization", "Bearer "),
        prompt=lambda body: _said(body.get("system"), body["messages"]),
        events=_bedrock_events,
        media_type="application/vnd.amazon.eventstream",
    ),
}


@dataclass(slots=True)
class NativeServer:
    """A running server.

    Attributes:
        url: its address.
        key: that it wants.
        respond: the reply to a prompt.
        bodies: requests, in order; `refused` those that were refused.
        away: status and headers of every reply; None: it answers.
        pause_seconds: between two events.
        hung_up: set when a client went away in the middle of a reply.
    """

    protocol: Protocol
    respond: Respond
    key: str
    url: str = ""
    bodies: list[Body] = field(default_factory=list)
    refused: list[Body] = field(default_factory=list)
    away: tuple[int, Mapping[str, str]] | None = None
    pause_seconds: float = 0.0
    hung_up: threading.Event = field(default_factory=threading.Event)

    async def answer(self, request: Request) -> Response:
        body: Body = json.loads(await request.body())
        self.bodies.append(body)
        header, before = self.protocol.key_header
        if request.headers.get(header) != before + self.key:
            return JSONResponse(self.protocol.denied, status_code=401)
        if self.away is not None:
            return JSONResponse({"error": {"message": "Overloaded"}}, self.away[0], dict(self.away[1]))
        if (refusal := self.protocol.refuse(body)) is not None:
            self.refused.append(body)
            return JSONResponse(refusal[1], status_code=refusal[0])
        events = self.protocol.events(self.respond(self.protocol.prompt(body)))
        return StreamingResponse(self._stream(events), media_type=self.protocol.media_type)

    async def _stream(self, events: Iterator[bytes]) -> AsyncIterator[bytes]:
        complete = False
        try:
            for event in events:
                await asyncio.sleep(self.pause_seconds)
                yield event
            complete = True
        finally:
            if not complete:
                self.hung_up.set()


@contextmanager
def native_server(protocol: str, respond: Respond, key: str = "sk-native-of-a-test") -> Iterator[NativeServer]:
    """Yield a running server of one of `PROTOCOLS`."""
    fake = NativeServer(protocol=PROTOCOLS[protocol], respond=respond, key=key)
    with served(Starlette(routes=[Route("/{path:path}", fake.answer, methods=["POST"])])) as address:
        fake.url = f"{address}/v1" if protocol == "responses" else address
        yield fake
