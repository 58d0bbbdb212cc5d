"""Server-sent events: what is sent, how long, and what happens when nobody reads."""

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any

import structlog
from fastapi.responses import Response
from fastapi.sse import format_sse_event
from starlette.types import Receive, Scope, Send

from service.jsonlines import as_line

log = structlog.get_logger(__name__)

RETRY_MILLISECONDS = 2000
PING_SECONDS = 15.0
LIFETIME_SECONDS = 600.0
READ_SECONDS = 30.0
AWAY_SECONDS = 1.0
MEDIA_TYPE = "text/event-stream"
PING = b": ping\n\n"
Chunks = AsyncGenerator[bytes, None]


def told(kind: str, value: Mapping[str, Any], identity: str | None = None) -> bytes:
    """One event as it is sent."""
    return format_sse_event(data_str=as_line(value), event=kind, id=identity)


def begun() -> bytes:
    """What a stream begins with: how long to wait before coming back."""
    return format_sse_event(retry=RETRY_MILLISECONDS)


class Lifetime:
    """How long a connection goes on: a client that comes back finds the process that has room."""

    def __init__(self, seconds: float = LIFETIME_SECONDS, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._until = now, now() + seconds

    @property
    def over(self) -> bool:
        """Whether it is time to end."""
        return self._now() >= self._until

    @property
    def pause_seconds(self) -> float:
        """How long to wait for something new before saying that the connection lives."""
        return max(0.0, min(PING_SECONDS, self._until - self._now()))


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPermit:
    """On what a stream is let in, and goes on.

    Attributes:
        enter: takes a place for as long as the block lasts; it raises where there is none.
        lost: returns when the stream must end, for its caller may read no longer.
    """

    enter: Callable[[], AbstractContextManager[None]]
    lost: Callable[[], Awaitable[object]]


class EventStream(Response):
    """A stream of events that ends when its reader hangs up, or does not read what was sent for a while.

    A stream of its own: on a hang-up nothing is raised, nothing is logged, and no task is left.

    Args:
        chunks: what is sent; it is closed at the end, however that comes about.
        permit: None: it has a place, and may go on.
        read_seconds: how long a reader may take to make room for the next chunk.
    """

    media_type = MEDIA_TYPE

    def __init__(
        self, chunks: Chunks, permit: StreamPermit | None = None, *, read_seconds: float = READ_SECONDS
    ) -> None:
        self._chunks, self._read_seconds = chunks, read_seconds
        self._permit = permit or StreamPermit(enter=nullcontext, lost=asyncio.Event().wait)
        self.status_code, self.background = 200, None
        self.init_headers({"Cache-Control": "no-store", "X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until there is nothing left to send, or nobody to send it to."""
        del scope
        with self._permit.enter():
            await self._tell(receive, send)

    async def _tell(self, receive: Receive, send: Send) -> None:
        works = self._send(send), _left(receive), self._permit.lost()
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
            await self._chunks.aclose()
        for result in results:
            if isinstance(result, Exception):
                raise result
        sent, left, lost = (not isinstance(result, BaseException) for result in results)
        if lost and not sent and not left:
            with suppress(TimeoutError):
                await self._end(send)

    async def _send(self, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        async for chunk in self._chunks:
            try:
                async with asyncio.timeout(self._read_seconds):
                    await send({"type": "http.response.body", "body": chunk, "more_body": True})
            except TimeoutError:
                log.info("stream.dropped", reason="the client does not read")
                return
        await self._end(send)

    async def _end(self, send: Send) -> None:
        async with asyncio.timeout(self._read_seconds):
            await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _left(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
