"""A policy server for benchmarks, in a process of its own.

The model `single` writes one fenced program, the model `chain` four in numbered tags; a request that does not ask for a
stream gets one JSON object. Unless it is told otherwise, every answer is a program of 3 KB that nobody has seen: it
does next to nothing, so that what is measured is the client.
"""

import asyncio
import itertools
import json
import multiprocessing
import socket
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from benchmarks.harness import program_text
from tests.fakes.openai_server import chain

ANSWERS = {"single": 1, "chain": 4}
_CONTEXT_TOKENS = 131_072

# A prompt and how many programs are wanted in; the programs out. It is sent to the process of the server.
Write = Callable[[str, int], Awaitable[Sequence[str]]]


@dataclass
class New:
    """Programs that nobody has seen, whatever the prompt."""

    made: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    async def __call__(self, prompt: str, count: int) -> list[str]:
        del prompt
        return [program_text(next(self.made)) for _ in range(count)]


class PolicyServer:
    """The routes, over one that writes."""

    def __init__(self, latency_seconds: float, write: Write) -> None:
        self._latency_seconds = latency_seconds
        self._write = write

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/models", self._models),
                Route("/v1/chat/completions", self._chat, methods=["POST"]),
            ]
        )

    @staticmethod
    async def _models(_: Request) -> Response:
        entries = [{"id": name, "object": "model", "max_model_len": _CONTEXT_TOKENS} for name in ANSWERS]
        return JSONResponse({"object": "list", "data": entries})

    async def _chat(self, request: Request) -> Response:
        try:
            body = await request.json()
        except ClientDisconnect:  # a search that is stopped at its budget
            return Response(status_code=400)
        if self._latency_seconds:
            await asyncio.sleep(self._latency_seconds)
        text = await self._answer(body)
        usage = {"prompt_tokens": 1000, "completion_tokens": len(text) // 4, "total_tokens": 1000 + len(text) // 4}
        whole = {"id": "1", "created": 1, "model": body["model"]}
        if body.get("stream"):
            return StreamingResponse(_stream(whole, text, usage), media_type="text/event-stream")
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return JSONResponse(whole | {"object": "chat.completion", "choices": [choice], "usage": usage})

    async def _answer(self, body: dict[str, Any]) -> str:
        programs = await self._write(body["messages"][-1]["content"], ANSWERS[body["model"]])
        return chain(*programs) if body["model"] == "chain" else f"```python\n{programs[0].rstrip()}\n```"


async def _stream(whole: dict[str, object], text: str, usage: dict[str, int]) -> AsyncIterator[str]:
    head = whole | {"object": "chat.completion.chunk"}
    yield _event(head | {"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": None}]})
    yield _event(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    yield _event(head | {"choices": [], "usage": usage})
    yield "data: [DONE]\n\n"


def _event(value: dict[str, object]) -> str:
    return f"data: {json.dumps(value)}\n\n"


def _serve(channel: Connection, latency_seconds: float, write: Write) -> None:
    with policy_thread(latency_seconds, write) as url, suppress(EOFError, BrokenPipeError):  # the benchmark was killed
        channel.send(url)  # who connects before it serves waits a moment
        channel.recv()


@contextmanager
def policy_thread(latency_seconds: float, write: Write) -> Iterator[str]:
    """Its address, as clients take it, where it serves in a thread of this process."""
    listener = socket.create_server(("127.0.0.1", 0))
    # Else the kernel holds the second piece of an answer back until the first is acknowledged, 40 ms later.
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    server = uvicorn.Server(uvicorn.Config(PolicyServer(latency_seconds, write).app(), log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def policy_server(latency_seconds: float = 0.0, write: Write | None = None) -> Iterator[str]:
    """Its address, as clients take it."""
    ours, theirs = multiprocessing.Pipe()
    args = (theirs, latency_seconds, write or New())
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=args)
    process.start()
    try:
        yield ours.recv()
    finally:
        ours.send("stop")
        process.join()
