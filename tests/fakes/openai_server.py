"""A real HTTP server on a loopback port that speaks the OpenAI protocol and misbehaves on demand.

    with openai_server(lambda body: ["<answer_1>\\nprint(1)\\n</answer_1>"]) as server:
        server.script(Reply(status=429, headers={"retry-after": "2"}), Reply(cut_after=3))
        ...  # server.url, server.requests

The scripted replies are given to the next chat completions, one each; after them every one is answered in full. Those
of `script_embeddings` are given to the next requests for embeddings.
"""

import asyncio
import itertools
import json
import random
import re
import socket
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route

HOLD_SECONDS = 60.0  # after which a held reply goes on, so that no failing test hangs

Respond = Callable[[Mapping[str, Any]], Sequence[str]]
Embed = Callable[[str], Sequence[float]]
# Status and body of the refusal of a completion; None: it is answered.
Refuse = Callable[[Mapping[str, Any]], tuple[int, Any] | None]


def chain(*answers: str, tag: str = "answer") -> str:
    """A well-formed chain of numbered tags."""
    return "\n".join(f"<{tag}_{n}>\n{text}\n</{tag}_{n}>" for n, text in enumerate(answers, start=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """How one chat completion is answered.

    Attributes:
        status, headers, body: other than 200: an error with this body, a dict or text.
        raw: bytes sent as the event stream instead of a completion.
        plain: the completion comes as one JSON object, although a stream was asked for; without that, it always does.
        cut_after: events after which the connection is dropped.
        error_after: events after which the stream reports an error.
        hold_after: events after which the stream waits for `release`.
        release: see `hold_after`; a reply without events waits for it before its head.
        usage: whether the stream ends with the usage.
        done: whether the stream ends with its end mark.
        finish_reason: of every choice.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: Mapping[str, Any] | str = ""
    raw: bytes | None = None
    plain: bool = False
    cut_after: int | None = None
    error_after: int | None = None
    hold_after: int | None = None
    release: threading.Event | None = None
    usage: bool = True
    done: bool = True
    finish_reason: str = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class Received:
    """A request as the server saw it."""

    path: str
    headers: Mapping[str, str]
    body: Mapping[str, Any]


class OpenAIServer:
    """State of the server; the test changes it while the server runs.

    Args:
        respond: the text of each choice for a request.
        models: names offered.
        context_tokens: `max_model_len` of each; None: not told.
        tokenizer: whether `/tokenize` is there.
        key: bearer token wanted.
        characters: of each event's piece of text.
        latency_seconds: before each completion begins.
        capacity: choices computed at once, the others wait; `/metrics` tells of both as vLLM does. None: no such thing.
        service_seconds: what a choice takes once there is room for it, with `capacity`; give or take a half.
        embed: the embedding of a text; None: there is unknown address.
        embedded_tokens: most tokens of a text that is embedded; those of more are refused.
    """

    def __init__(
        self,
        respond: Respond,
        *,
        models: Sequence[str] = ("fake",),
        context_tokens: int | None = 8192,
        tokenizer: bool = False,
        key: str | None = None,
        characters: int = 16,
        latency_seconds: float = 0.0,
        capacity: int | None = None,
        service_seconds: float = 0.0,
        embed: Embed | None = None,
        embedded_tokens: int = 8192,
    ) -> None:
        self.respond = respond
        self.models: Any = models
        self.owner = "somebody"  # of each model, as the list tells
        self.context_tokens = context_tokens
        self.tokenizer = tokenizer
        self.key = key
        self.characters = characters
        self.latency_seconds = latency_seconds
        self.capacity = capacity
        self.service_seconds = service_seconds
        self.embed = embed
        self.embedded_tokens = embedded_tokens
        self.embedder_away = ""  # what every request for embeddings is refused with, status 503
        self.running = self.waiting = 0
        self.loads: list[tuple[float, int, int]] = []
        self.metrics: str | None = None
        self._drawn = random.Random(1)
        self._room = asyncio.Semaphore(capacity or 0)
        self.requests: list[Received] = []
        self.hung_up = threading.Event()
        self.away = ""  # what every completion is refused with, status 503
        self.refuse: Refuse | None = None
        self.url = ""
        self._scripted: deque[Reply] = deque()
        self._embeddings_scripted: deque[Reply] = deque()

    @property
    def root(self) -> str:
        return self.url.removesuffix("/v1")

    @property
    def chats(self) -> list[Received]:
        """Chat completions asked for."""
        return [request for request in self.requests if request.path == "/v1/chat/completions"]

    @property
    def embeddings(self) -> list[Received]:
        """Embeddings asked for."""
        return [request for request in self.requests if request.path == "/v1/embeddings"]

    def script(self, *replies: Reply) -> None:
        self._scripted.extend(replies)

    def script_embeddings(self, *replies: Reply) -> None:
        """Replies to the next requests for embeddings; `status`, `headers`, `body` and `release` count, and `raw`."""
        self._embeddings_scripted.extend(replies)

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/tokenize", self._tokenize, methods=["POST"]),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
                Route("/v1/embeddings", self._embed, methods=["POST"]),
                Route("/metrics", self._metrics),
            ]
        )

    async def _receive(self, request: Request) -> tuple[dict[str, Any], Response | None]:
        raw = await request.body()
        body = json.loads(raw) if raw else {}
        self.requests.append(Received(path=request.url.path, headers=dict(request.headers), body=body))
        guarded = request.url.path.startswith("/v1/") and self.key is not None
        if guarded and request.headers.get("authorization") != f"Bearer {self.key}":
            return body, JSONResponse({"error": "Unauthorized"}, status_code=401)
        return body, None

    async def _models(self, request: Request) -> Response:
        _, refusal = await self._receive(request)
        if refusal is not None:
            return refusal
        if not isinstance(self.models, list | tuple):
            return JSONResponse(self.models)
        about = {"object": "model", "max_model_len": self.context_tokens, "owned_by": self.owner}
        entries = [{"id": name, **about} for name in self.models]
        return JSONResponse({"object": "list", "data": entries})

    async def _tokenize(self, request: Request) -> Response:
        body, _ = await self._receive(request)
        if not self.tokenizer:
            return JSONResponse({"detail": "Not Found"}, status_code=404)
        return JSONResponse({"count": self.count(body["prompt"]), "max_model_len": self.context_tokens})

    async def _metrics(self, request: Request) -> Response:
        await self._receive(request)
        if self.metrics is None and self.capacity is None:
            return JSONResponse({"detail": "Not Found"}, status_code=404)
        counts = {"running": self.running, "waiting": self.waiting}
        lines = [f'vllm:num_requests_{name}{{engine="0",model_name="fake"}} {n}.0\n' for name, n in counts.items()]
        return PlainTextResponse("".join(lines) if self.metrics is None else self.metrics)

    async def _compute(self) -> None:
        """One choice: it waits for room, and takes its time."""
        self._note(waiting=1)
        try:
            await self._room.acquire()
        finally:
            self._note(waiting=-1)
        self._note(running=1)
        try:
            await asyncio.sleep(self.service_seconds * self._drawn.uniform(0.5, 1.5))
        finally:
            self._note(running=-1)
            self._room.release()

    def _note(self, *, running: int = 0, waiting: int = 0) -> None:
        self.running += running
        self.waiting += waiting
        self.loads.append((time.monotonic(), self.running, self.waiting))

    @staticmethod
    def count(text: str) -> int:
        """The fake's tokens: words and marks."""
        return len(re.findall(r"\w+|[^\w\s]", text))

    async def _chat(self, request: Request) -> Response:
        body, refusal = await self._receive(request)
        if refusal is not None:
            return refusal
        if self.away:
            return Response(self.away, 503)
        reply = self._scripted.popleft() if self._scripted else Reply()
        if self.latency_seconds:
            await asyncio.sleep(self.latency_seconds)
        if self.capacity is not None:
            await asyncio.gather(*(self._compute() for _ in range(body.get("n", 1))))
        if reply.release is not None and reply.hold_after is None:
            await asyncio.to_thread(reply.release.wait, HOLD_SECONDS)
        if reply.status != 200:
            content = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            return Response(content, reply.status, dict(reply.headers))
        if self.refuse is not None and (refused := self.refuse(body)) is not None:
            return JSONResponse(refused[1], status_code=refused[0])
        if (unknown := self._unknown_model(body)) is not None:
            return unknown
        texts = list(self.respond(body))
        if reply.plain or not body.get("stream"):
            return JSONResponse(self._whole(texts, body, reply))
        return StreamingResponse(self._events(texts, body, reply), media_type="text/event-stream")

    def _unknown_model(self, body: Mapping[str, Any]) -> Response | None:
        if body.get("model") in self.models:
            return None
        error = {"message": f"The model `{body.get('model')}` does not exist.", "code": 404}
        return JSONResponse({"error": error}, status_code=404)

    async def _embed(self, request: Request) -> Response:
        body, refusal = await self._receive(request)
        if refusal is not None:
            return refusal
        if self.embed is None:
            return JSONResponse({"detail": "Not Found"}, status_code=404)
        if self.embedder_away:
            return Response(self.embedder_away, 503)
        reply = self._embeddings_scripted.popleft() if self._embeddings_scripted else Reply()
        if reply.release is not None:
            await asyncio.to_thread(reply.release.wait, HOLD_SECONDS)
        if reply.status != 200:
            content = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            return Response(content, reply.status, dict(reply.headers))
        if reply.raw is not None:
            return Response(reply.raw, media_type="application/json")
        if (unknown := self._unknown_model(body)) is not None:
            return unknown
        texts = body["input"]
        counts = [self.count(text) for text in texts]
        if max(counts, default=0) > self.embedded_tokens:
            error = {"message": f"This model's maximum context length is {self.embedded_tokens} tokens.", "code": 400}
            return JSONResponse({"error": error}, status_code=400)
        data = [{"object": "embedding", "index": i, "embedding": list(self.embed(t))} for i, t in enumerate(texts)]
        usage = {"prompt_tokens": sum(counts), "total_tokens": sum(counts)}
        return JSONResponse({"object": "list", "model": body["model"], "data": data, "usage": usage})

    async def _events(self, texts: list[str], body: Mapping[str, Any], reply: Reply) -> AsyncIterator[bytes]:
        complete = False
        try:
            if reply.raw is not None:
                yield reply.raw
            else:
                async for event in self._misbehaving(self._chunks(texts, body, reply), reply):
                    yield event
            complete = True
        finally:
            if not complete:
                self.hung_up.set()

    async def _misbehaving(self, chunks: Iterator[bytes], reply: Reply) -> AsyncIterator[bytes]:
        for number, chunk in enumerate(chunks):
            if number == reply.cut_after:
                raise ConnectionAbortedError("as scripted")
            if number == reply.error_after:
                yield _event({"error": {"message": "engine died", "type": "InternalServerError", "code": 500}})
                return
            if number == reply.hold_after and reply.release is not None:
                await asyncio.to_thread(reply.release.wait, HOLD_SECONDS)
            await asyncio.sleep(0)  # the loop learns here that the client hung up
            yield chunk

    def _chunks(self, texts: list[str], body: Mapping[str, Any], reply: Reply) -> Iterator[bytes]:
        size = self.characters
        pieces = [[text[at : at + size] for at in range(0, len(text), size)] for text in texts]
        for row in itertools.zip_longest(*pieces):
            for index, piece in enumerate(row):
                if piece is not None:
                    yield _event({"choices": [{"index": index, "delta": {"content": piece}, "finish_reason": None}]})
        for index in range(len(texts)):
            yield _event({"choices": [{"index": index, "delta": {}, "finish_reason": reply.finish_reason}]})
        if reply.usage:
            yield _event({"choices": [], "usage": self._usage(texts, body)})
        if reply.done:
            yield b"data: [DONE]\n\n"

    def _whole(self, texts: list[str], body: Mapping[str, Any], reply: Reply) -> dict[str, Any]:
        choices = [
            {"index": index, "message": {"role": "assistant", "content": text}, "finish_reason": reply.finish_reason}
            for index, text in enumerate(texts)
        ]
        about = {"id": "chatcmpl-fake", "object": "chat.completion", "created": 0, "model": body.get("model", "")}
        return {**about, "choices": choices, "usage": self._usage(texts, body)}

    def _usage(self, texts: list[str], body: Mapping[str, Any]) -> dict[str, Any]:
        given = sum(self.count(message["content"]) for message in body["messages"])
        written = sum(self.count(text) for text in texts)
        return {
            "prompt_tokens": given,
            "completion_tokens": written,
            "total_tokens": given + written,
            "prompt_tokens_details": {"cached_tokens": given // 2},
        }


def _event(value: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(value)}\n\n".encode()


@contextmanager
def openai_server(respond: Respond, **state: Any) -> Iterator[OpenAIServer]:
    """Yield a running server; `state` is that of `OpenAIServer`."""
    fake = OpenAIServer(respond, **state)
    with served(fake.app()) as address:
        fake.url = f"{address}/v1"
        yield fake


@contextmanager
def served(app: Starlette) -> Iterator[str]:
    """Serve an application on a loopback port; yields its address."""
    # Bound and listening before the thread begins: whoever connects early waits in the backlog.
    listener = socket.create_server(("127.0.0.1", 0), backlog=256)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # else each answer waits 40 ms in its middle
    config = uvicorn.Config(
        app, loop="asyncio", http="h11", ws="none", lifespan="off", log_config=None, timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
