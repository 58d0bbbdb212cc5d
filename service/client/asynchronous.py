"""The client for programs with an event loop."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import httpx

from service.client.address import options
from service.client.call import Call
from service.client.client import PATIENCE_SECONDS
from service.client.events import FollowedStream, StreamEvent, run_events
from service.client.transport import Outcome, Transport
from service.net.retry import Backoff
from service.schemas.types import Page

Answer = TypeVar("Answer")
OfPage = TypeVar("OfPage", bound=Page)


class AsyncClient(AbstractAsyncContextManager["AsyncClient"]):
    """A service, spoken to over HTTP from an event loop; otherwise what `Client` is, which has the words on it.

    In the place of a key there may be another way of showing who asks.
    """

    def __init__(
        self,
        server: str,
        key: str | httpx.Auth,
        *,
        allow_http: bool = False,
        backoff: Backoff | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._http = httpx.AsyncClient(**options(server, key, allow_http=allow_http), transport=transport)
        self.server = str(self._http.base_url).rstrip("/")
        self._wire = Transport(self._http, self.server, backoff or Backoff())

    def __repr__(self) -> str:
        return f"AsyncClient({self.server!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def send(self, call: Call[Answer]) -> Answer:
        """Make a call; raises what `Client.send` raises."""
        exchange, outcome = self._wire.exchange(call), cast(Outcome, None)
        try:
            while True:
                step = exchange.send(outcome)
                outcome = None
                if isinstance(step, float):
                    await asyncio.sleep(step)
                else:
                    outcome = await self._try(step)
        except StopIteration as end:
            return cast(Answer, end.value)

    async def pages(self, call: Call[OfPage]) -> AsyncIterator[OfPage]:
        """All pages of a list, one after the other."""
        page = await self.send(call)
        yield page
        while page.next_cursor:
            page = await self.send(call.at(page.next_cursor))
            yield page

    async def stream(
        self,
        run_id: str,
        after: int = 0,
        kinds: Sequence[str] = (),
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        notice: Callable[[Exception], None] | None = None,
    ) -> AsyncIterator[Mapping[str, Any]]:
        """Events of a run as they happen, as `Client.stream` gives them."""
        following = FollowedStream(
            self._wire,
            run_events(run_id),
            str(after) if after else "",
            kinds,
            patience_seconds=patience_seconds,
            notice=notice,
        )
        async for told in self._follow(following):
            yield told.value

    def stream_all(self, position: str = "", kinds: Sequence[str] = ()) -> AsyncIterator[StreamEvent]:
        """Events of all runs that the key may read, as `Client.stream_all` gives them."""
        return self._follow(
            FollowedStream(self._wire, "/v1/events", position, kinds, patience_seconds=PATIENCE_SECONDS)
        )

    async def _follow(self, following: FollowedStream) -> AsyncIterator[StreamEvent]:
        while not following.ended:
            outcome: Outcome = None
            try:
                answer = await self._http.send(following.request(), stream=True)
                try:
                    if answer.is_success:
                        async for line in answer.aiter_lines():
                            if (told := following.take(line)) is not None:
                                yield told
                    else:
                        await answer.aread()
                        outcome = answer
                finally:
                    await answer.aclose()
            except httpx.RequestError as error:
                outcome = error
            if not following.ended:
                await asyncio.sleep(following.broken(outcome))

    async def _try(self, request: httpx.Request) -> Outcome:
        try:
            return await self._http.send(request)
        except httpx.RequestError as error:
            return error
