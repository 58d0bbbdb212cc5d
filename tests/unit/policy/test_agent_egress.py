"""The proxy of a coding agent counts a reply before the agent can ask again, and whatever a session leaves behind."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import httpx
import pytest

from evolve.proposal import Usage
from service.agents.egress import MAX_CONNECTIONS, MAX_REQUESTS, EgressProxy
from service.agents.usage import SessionMeter

PAUSE_SECONDS, TIMEOUT_SECONDS = 0.1, 20.0
REPLY = b'data: {"usage": {"prompt_tokens": 100, "completion_tokens": 7}}\n\n'
DONE = b"data: [DONE]\n\n"
Reader = asyncio.StreamReader


class Stream(httpx.AsyncByteStream):
    """A reply whose server waits after its last part."""

    def __init__(self, parts: list[bytes], pause: Callable[[], Awaitable[None]]) -> None:
        self._parts, self._pause = parts, pause

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self._parts:
            yield part
        await self._pause()


@asynccontextmanager
async def serving(reply: httpx.AsyncBaseTransport) -> AsyncIterator[tuple[EgressProxy, SessionMeter, int]]:
    """A proxy in a session, with its meter and its port."""
    proxy = EgressProxy("http://model.example/v1", "sk-1", reply)
    proxy.meter = meter = SessionMeter(cost=lambda usage: None)  # noqa: ARG005 - nothing has a price
    listening = socket.create_server(("127.0.0.1", 0))
    listening.setblocking(False)
    await proxy.start(listening)
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            yield proxy, meter, listening.getsockname()[1]
    finally:
        await proxy.close()


@asynccontextmanager
async def asked(port: int, path: str = "/v1/chat/completions", method: str = "POST") -> AsyncIterator[Reader]:
    """The reply to a request, whose body is 20 tokens."""
    body = json.dumps({"stream": False, "text": "x"}).ljust(70).encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()
    yield reader
    writer.close()
    await writer.wait_closed()


async def test_a_reply_counts_before_its_last_part_is_passed_on() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, stream=Stream([REPLY, DONE], lambda: asyncio.sleep(PAUSE_SECONDS)))

    async with serving(httpx.MockTransport(answer)) as (_, meter, port), asked(port) as reply:
        assert REPLY in await reply.readuntil(DONE)
        assert meter.usage == Usage(input=100, output=7)


@pytest.mark.parametrize(("parts", "output"), [([], 0), ([b"y" * 350, b"y" * 350], 200)])
async def test_a_request_in_progress_counts_when_its_session_ends(parts: list[bytes], output: int) -> None:
    waiting = asyncio.Event()

    async def stuck() -> None:
        waiting.set()
        await asyncio.Event().wait()

    async def answer(request: httpx.Request) -> httpx.Response:
        if not parts:
            await stuck()
        return httpx.Response(200, stream=Stream(parts, stuck))

    async with serving(httpx.MockTransport(answer)) as (proxy, meter, port):
        async with asked(port):
            await waiting.wait()
            await proxy.end_session()
            assert meter.usage == Usage(input=20, output=output)
        async with asked(port) as reply:
            assert b" 403 " in await reply.readline()


async def test_a_flood_of_requests_waits_and_is_cut_off() -> None:
    waiting: list[None] = []
    answering = asyncio.Event()

    async def answer(request: httpx.Request) -> httpx.Response:
        waiting.append(None)
        await answering.wait()
        return httpx.Response(200, json={})

    async with serving(httpx.MockTransport(answer)) as (_, _, port), AsyncExitStack() as flood:
        replies = [await flood.enter_async_context(asked(port)) for _ in range(MAX_CONNECTIONS)]
        beyond, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await beyond.read() == b""
        writer.close()
        await writer.wait_closed()
        await asyncio.sleep(PAUSE_SECONDS)
        assert len(waiting) == MAX_REQUESTS
        answering.set()
        for reply in replies:
            assert b" 200 " in await reply.readline()


@pytest.mark.parametrize(
    ("method", "path", "status", "counts"),
    [
        ("GET", "/v1/models", 200, False),
        ("GET", "/v1/models/vendor/model-1", 200, False),
        ("POST", "/v1/responses?beta=true", 200, True),
        ("POST", "/v1/messages/count_tokens", 200, False),
        ("POST", "/v1/models/gemini-9:streamGenerateContent?alt=sse", 200, True),
        ("POST", "/v1/models/gemini-9:batchGenerateContent", 403, False),
        ("DELETE", "/v1/models/model-1", 403, False),
        ("GET", "/v1/files", 403, False),
        ("POST", "/v1/files", 403, False),
        ("POST", "/v1/batches", 403, False),
        ("POST", "/v1/messages/batches", 403, False),
        ("POST", "/v1/fine_tuning/jobs", 403, False),
        ("POST", "/v1/chat/completions/", 403, False),
    ],
)
async def test_the_key_opens_models_and_completions_alone(method: str, path: str, status: int, counts: bool) -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(f"{request.method} {request.url.raw_path.decode()}")
        return httpx.Response(200, json={})

    async with serving(httpx.MockTransport(answer)) as (_, meter, port), asked(port, path, method) as reply:
        assert f" {status} ".encode() in await reply.readline()
        await reply.read()
        assert bool(meter.usage.total) == counts
    assert seen == ([f"{method} {path}"] if status == 200 else [])
