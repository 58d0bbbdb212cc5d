"""The client that waits for each answer."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import httpx

from service.client.address import options
from service.client.call import Call
from service.client.events import FollowedStream, StreamEvent, run_events
from service.client.transport import Outcome, Transport
from service.net.retry import Backoff
from service.schemas.types import Page

Answer = TypeVar("Answer")
OfPage = TypeVar("OfPage", bound=Page)
PATIENCE_SECONDS = 120.0


class Client(AbstractContextManager["Client"]):
    """A service, spoken to over HTTP.

    What may be asked again is, after failures of the connection and answers that say so (429, 502, 503, 504), for as
    long as `backoff` says; a POST carries an Idempotency-Key for that, so that it has its effect once. Redirects are
    errors. Answers may hold more than is known here.

    Args:
        server: address of the service.
        key: an API key, or the token of a share; it is never shown.
        allow_http: whether the key may go in the clear to another machine than this one.
        backoff: how often and how soon a call is repeated.
        transport: instead of the network.

    Raises:
        UsageError: the address or the key cannot be used.
    """

    def __init__(
        self,
        server: str,
        key: str,
        *,
        allow_http: bool = False,
        backoff: Backoff | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self._http = httpx.Client(**options(server, key, allow_http=allow_http), transport=transport)
        self.server = str(self._http.base_url).rstrip("/")
        self._wire = Transport(self._http, self.server, backoff or Backoff())

    def __repr__(self) -> str:
        return f"Client({self.server!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def send(self, call: Call[Answer]) -> Answer:
        """Make a call.

        Raises:
            UsageError, ConfigurationError: the call's words are off.
            NotFoundError: no such thing.
            ConflictError, StaleError, KeyReusedError: the state of the thing does not allow it.
            RefusedError, QuotaError: the key does not allow it, or the tenant has used up what it may.
            InvalidProblemError: a problem cannot be searched on; with every complaint.
            UnreachableError: the service does not answer, or not in a way that can be read.
        """
        exchange, outcome = self._wire.exchange(call), cast(Outcome, None)
        try:
            while True:
                step = exchange.send(outcome)
                outcome = None
                if isinstance(step, float):
                    time.sleep(step)
                else:
                    outcome = self._try(step)
        except StopIteration as end:
            return cast(Answer, end.value)

    def pages(self, call: Call[OfPage]) -> Iterator[OfPage]:
        """All pages of a list, one after the other."""
        page = self.send(call)
        yield page
        while page.next_cursor:
            page = self.send(call.at(page.next_cursor))
            yield page

    def lines(self, call: Call[bytes]) -> Iterator[str]:
        """The lines of a long answer as they come, each with its end; it is not repeated once it has begun."""
        try:
            with self._http.stream(call.method, call.path, params=call.params, headers=call.headers) as answer:
                if not answer.is_success:
                    answer.read()
                    raise self._wire.judge(answer)[0]
                rest = ""
                for text in answer.iter_text():
                    *whole, rest = (rest + text).split("\n")
                    yield from (f"{line}\n" for line in whole)
                if rest:
                    yield rest
        except httpx.RequestError as error:
            raise self._wire.judge(error)[0] from error

    def stream(
        self,
        run_id: str,
        after: int = 0,
        kinds: Sequence[str] = (),
        *,
        patience_seconds: float = PATIENCE_SECONDS,
        notice: Callable[[Exception], None] | None = None,
    ) -> Iterator[Mapping[str, Any]]:
        """Events of a run as they happen, from the one after `after` until its end; none is left out or comes twice.

        Args:
            run_id: the run.
            after: sequence number of the last event that is known.
            kinds: of events; empty: every kind.
            patience_seconds: how long the service may be away at a stretch.
            notice: is called with the error whenever the stream breaks and is taken up again.

        Raises:
            NotFoundError, RefusedError: no such run, or the key does not allow it.
            UnreachableError: the service is away for longer than that.
        """
        following = FollowedStream(
            self._wire,
            run_events(run_id),
            str(after) if after else "",
            kinds,
            patience_seconds=patience_seconds,
            notice=notice,
        )
        return (told.value for told in self._follow(following))

    def stream_all(self, position: str = "", kinds: Sequence[str] = ()) -> Iterator[StreamEvent]:
        """Events of all runs that the key may read, from a position or from now on, without end.

        The `id` of each is the position behind it.
        """
        return self._follow(
            FollowedStream(self._wire, "/v1/events", position, kinds, patience_seconds=PATIENCE_SECONDS)
        )

    def _follow(self, following: FollowedStream) -> Iterator[StreamEvent]:
        while not following.ended:
            outcome: Outcome = None
            try:
                answer = self._http.send(following.request(), stream=True)
                try:
                    if answer.is_success:
                        yield from filter(None, map(following.take, answer.iter_lines()))
                    else:
                        answer.read()
                        outcome = answer
                finally:
                    answer.close()
            except httpx.RequestError as error:
                outcome = error
            if not following.ended:
                time.sleep(following.broken(outcome))

    def _try(self, request: httpx.Request) -> Outcome:
        try:
            return self._http.send(request)
        except httpx.RequestError as error:
            return error
