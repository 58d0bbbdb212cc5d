"""Answers that stay open: streams and waits; how many there may be, and for how long their callers may have them."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import structlog
from fastapi import FastAPI, Request

from service.api.auth import known_still
from service.api.dependencies import ApiDependencies
from service.api.problem_errors import ApiFault
from service.api.stream import StreamPermit
from service.errors import ServiceError
from service.ports import Caller
from service.schemas.problem_details import Code

RETRY_SECONDS = 5
ASK_SECONDS = 2.0
Known = Callable[[], Awaitable[bool]]

log = structlog.get_logger(__name__)


@dataclass(slots=True)
class _Answer:
    """What was found of a caller lately."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    at: float = float("-inf")
    known: bool = True


class OpenConnections:
    """The answers of this process that are open.

    Attributes:
        leaving: set when the server shuts down, and all of them end.

    Args:
        each: how many one caller may have.
        maximum: how many there may be in all.
        ask_seconds: how often it is asked whether a caller is known still, for all answers of the caller together.
    """

    def __init__(self, each: int, maximum: int, ask_seconds: float = ASK_SECONDS) -> None:
        self._each, self._maximum, self._ask_seconds = each, maximum, ask_seconds
        self._open: Counter[str] = Counter()
        self._answers: dict[str, _Answer] = {}
        self.leaving = asyncio.Event()

    @contextmanager
    def one(self, actor: str) -> Iterator[None]:
        """One answer more, until the end of the block.

        Raises:
            ApiFault: there are as many as there may be.
        """
        if self._open[actor] >= self._each:
            raise _crowded(f"{self._each} streams and waits of this key are open, the most that it may have: close one")
        if self._open.total() >= self._maximum:
            raise _crowded("the service has as many streams and waits open as it may: try again later")
        self._open[actor] += 1
        try:
            yield
        finally:
            self._open[actor] -= 1
            if not self._open[actor]:
                del self._open[actor]
                self._answers.pop(actor, None)

    async def lost(self, actor: str, known: Known) -> None:
        """Wait until a caller is known no more: the key was revoked, the share closed, or its time is over.

        It returns when the server shuts down, too.
        """
        asking = asyncio.create_task(self._unknown(actor, known))
        leaving = asyncio.create_task(self.leaving.wait())
        try:
            await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if asking.done():
                asking.result()
        finally:
            asking.cancel()
            leaving.cancel()

    async def _unknown(self, actor: str, known: Known) -> None:
        while True:
            await asyncio.sleep(self._ask_seconds)
            if not await self._known(self._answers.setdefault(actor, _Answer()), known):
                return

    async def _known(self, answer: _Answer, known: Known) -> bool:
        async with answer.lock:
            if time.monotonic() - answer.at >= self._ask_seconds:
                try:
                    answer.known = await known()
                except ServiceError as error:  # nobody lost a key over it
                    log.warning("stream.away", reason=str(error))
                answer.at = time.monotonic()
            return answer.known


def opened_of(request: Request) -> OpenConnections:
    """What is open in the application."""
    opened = request.app.state.opened
    assert isinstance(opened, OpenConnections)
    return opened


async def end_waits(app: FastAPI) -> None:
    """End every stream and every wait of an application whose server shuts down, and would wait for them."""
    app.state.opened.leaving.set()
    await app.state.watch.leave()


def admission_of(request: Request, parts: ApiDependencies, caller: Caller) -> StreamPermit:
    """On what a stream for a caller is admitted."""
    opened = opened_of(request)
    return StreamPermit(
        enter=lambda: opened.one(caller.actor),
        lost=lambda: opened.lost(caller.actor, lambda: known_still(request, parts)),
    )


def _crowded(detail: str) -> ApiFault:
    return ApiFault(429, Code.RATE_LIMITED, detail, headers={"Retry-After": str(RETRY_SECONDS)})
