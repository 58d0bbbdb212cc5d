"""The dispatcher: makes the deliveries that are due, each to an address that was checked for this very attempt."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import httpx
import structlog
from prometheus_client import Counter

from service.errors import NotFoundError, ServiceError
from service.net import Resolve
from service.net.retry import read_retry_after
from service.net.transport import AddressRefused, PinnedTransport
from service.ports import Clock, Delivery, Webhook, Webhooks
from service.webhooks.schedule import MAX_DELAY, next_try
from service.webhooks.sign import sign

TRY_SECONDS = 15.0
MAX_BODY_BYTES = 20_000
AT_ONCE = 16
IDLE_SECONDS = 1.0
AWAY_SECONDS = 5.0
_HOLD_SECONDS = 60.0
_MAX_READ_BYTES = 1024
_READ_SECONDS = 1.0
_GONE = 410

_HEADERS = {"User-Agent": "evolve-webhooks", "Content-Type": "application/json", "Accept-Encoding": "identity"}

ATTEMPTS = Counter("evolve_webhook_attempts", "Tries to deliver, by the state that the message has then", ["state"])

_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Outcome:
    """How an attempt went; `status` is None where nobody answered."""

    status: int | None = None
    error: str = ""
    asked_seconds: float = 0.0
    hopeless: bool = False


class WebhookDispatcher:
    """Sends what webhooks shall hear, and stores how that went. Any number of them may be at work on one database.

    A message may come twice, where a dispatcher ends between sending and storing: its id is the same.

    Args:
        webhooks: where webhooks and deliveries are.
        clock: the time.
        draw: gives chance in [0, 1), for the spread of tries.
        private: whether webhooks may lead to private addresses.
        resolve: gives the addresses of a host; the system's when None.
        connect: how an address is reached; over the network when None. Closed by `close`.
        sleep: waits for seconds.
        try_seconds: how long a receiver has for its answer.
        at_once: messages on their way at a time.
    """

    def __init__(
        self,
        webhooks: Webhooks,
        clock: Clock,
        *,
        draw: Callable[[], float],
        private: bool = False,
        resolve: Resolve | None = None,
        connect: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        try_seconds: float = TRY_SECONDS,
        at_once: int = AT_ONCE,
    ) -> None:
        self._webhooks, self._clock, self._draw, self._sleep = webhooks, clock, draw, sleep
        self._try_seconds, self._at_once = try_seconds, at_once
        self._transport = PinnedTransport(private=private, resolve=resolve, connect=connect)

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.aclose()

    async def run(self) -> None:
        """Make deliveries as they fall due, until cancelled; a database that is away is waited for."""
        going: set[asyncio.Task[None]] = set()
        try:
            while True:
                wait = await self._start(going)
                nap = asyncio.ensure_future(self._sleep(wait))
                # With all hands full there is nothing to ask for until one of them is free.
                awaited = {nap, *going} if len(going) == self._at_once else {nap}
                await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
                nap.cancel()
                for task in [task for task in going if task.done()]:
                    going.discard(task)
                    if error := task.exception():
                        # One message that breaks its sender must not keep the others; it falls due again.
                        _log.error("webhook.broke", exc_info=error)
        finally:
            for task in going:
                task.cancel()
            await asyncio.gather(*going, return_exceptions=True)

    async def deliver_due(self) -> int:
        """Make the deliveries that are due, as many as go at once; how many were tried.

        Raises:
            StorageError: the database cannot say what is due.
        """
        due = await self._due(self._at_once)
        await asyncio.gather(*(self._deliver(webhook, delivery) for webhook, delivery in due))
        return len(due)

    async def _start(self, going: set[asyncio.Task[None]]) -> float:
        """Start what is due and there is room for; how long to wait until asking again."""
        room = self._at_once - len(going)
        try:
            due = await self._due(room) if room else []
        except ServiceError as error:
            _log.warning("webhooks.away", reason=str(error))
            return AWAY_SECONDS
        going |= {asyncio.create_task(self._deliver(webhook, delivery)) for webhook, delivery in due}
        return 0.0 if room and len(due) == room else IDLE_SECONDS

    async def _due(self, limit: int) -> Sequence[tuple[Webhook, Delivery]]:
        hold = _HOLD_SECONDS + self._try_seconds
        return await asyncio.to_thread(self._webhooks.due, self._clock.now(), hold, limit)

    async def _deliver(self, webhook: Webhook, delivery: Delivery) -> None:
        outcome = await self._try(webhook, delivery)
        done = self._concluded(delivery, outcome)
        ATTEMPTS.labels(done.state).inc()
        _log.info("webhook.tried", webhook_id=webhook.id, delivery_id=delivery.id, state=done.state, status=done.status)
        try:
            if outcome.status == _GONE:
                await asyncio.to_thread(self._disable, webhook)
            await asyncio.to_thread(self._webhooks.attempted, done)
        except ServiceError as error:
            # It is held for a while and then due again: better twice than never.
            _log.warning("webhook.not_stored", delivery_id=delivery.id, reason=str(error))

    async def _try(self, webhook: Webhook, delivery: Delivery) -> _Outcome:
        body = json.dumps(delivery.payload, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
        if len(body) >= MAX_BODY_BYTES:
            return _Outcome(error=f"the message is larger than {MAX_BODY_BYTES} bytes", hopeless=True)
        try:
            headers = sign(webhook.secrets, delivery.id, self._clock.now(), body)
            async with asyncio.timeout(self._try_seconds):
                return await self._post(webhook.url, headers, body)
        except TimeoutError:
            return _Outcome(error=f"it did not answer within {self._try_seconds:g} seconds")
        except AddressRefused as error:
            return _Outcome(error=str(error))
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return _Outcome(error=f"it cannot be reached ({type(error).__name__})")
        except ServiceError as error:
            return _Outcome(error=str(error), hopeless=True)

    async def _post(self, url: str, headers: Mapping[str, str], body: bytes) -> _Outcome:
        # Without a client: there shall be no redirects, no cookies and no proxy.
        request = httpx.Request("POST", url, content=body, headers={**_HEADERS, **headers})
        response = await self._transport.handle_async_request(request)
        try:
            await _glance(response)
        finally:
            await response.aclose()
        status = response.status_code
        if 200 <= status < 300:
            return _Outcome(status=status)
        if 300 <= status < 400:
            return _Outcome(status=status, error=f"it answers {status}, and redirects are not followed")
        return _Outcome(status=status, error=f"it answers {status}", asked_seconds=self._asked(response))

    def _asked(self, response: httpx.Response) -> float:
        return read_retry_after(response.headers.get("Retry-After"), self._clock.now, MAX_DELAY.total_seconds())

    def _concluded(self, delivery: Delivery, outcome: _Outcome) -> Delivery:
        attempts = delivery.attempts + 1
        changed: dict[str, Any] = {"attempts": attempts, "status": outcome.status, "error": outcome.error}
        if not outcome.error:
            return replace(delivery, state="delivered", next_at=None, **changed)
        again = None
        if outcome.status != _GONE and not outcome.hopeless:
            again = next_try(attempts, self._clock.now(), self._draw(), outcome.asked_seconds)
        return replace(delivery, state="pending" if again else "failed", next_at=again, **changed)

    def _disable(self, webhook: Webhook) -> None:
        def how(current: Webhook) -> Webhook:
            # It may have been changed since it was due.
            gone = f"the receiver answers {_GONE} Gone" if current.url == webhook.url else current.disabled
            return replace(current, disabled=gone)

        with suppress(NotFoundError):  # removed, it is disabled enough
            self._webhooks.change(webhook.tenant, webhook.id, how)


async def _glance(response: httpx.Response) -> None:
    """Read the beginning of the body, so that a receiver can finish what it says; nothing of it is kept."""
    read = 0
    with suppress(TimeoutError, httpx.HTTPError):
        async with asyncio.timeout(_READ_SECONDS):
            async for block in response.aiter_raw():
                read += len(block)
                if read >= _MAX_READ_BYTES:
                    return
