"""A connection: a server with its circuit breaker and concurrency controller, and the results of its check.

Chats and embeddings share the rules. Calls to a failing server pause, a request that may succeed later is repeated, and
a server that was away is checked again.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Generic, TypeVar

import httpx
import numpy as np
from pydantic import SecretStr

from evolve.errors import PolicyDenied, PolicyError, PolicyUnavailable
from service.net.retry import Backoff
from service.policy.activity import ActivityMeter
from service.policy.adapter import RequestAdapter
from service.policy.breaker import Breaker
from service.policy.calls import Calls
from service.policy.litellm_server import LiteLLMServer
from service.policy.model_server import ModelServer
from service.policy.server import Server
from service.policy.server_load import LOOK_SECONDS, ServerLoad
from service.policy_settings.settings import PolicySettings

MIN_WAIT_SECONDS = 1.0
_Found = TypeVar("_Found")


class ServerConnection(Generic[_Found]):
    """The connection to a server.

    Args:
        settings: of a policy of kind `openai` or `litellm`.
        key: the key of the server, if it needs one.
        rng: spreads the waits between attempts. Answers do not depend on it.
        backoff: number and waits of repeated requests.
        breaker: pauses calls to a failing server. None: a new breaker.
        monotonic: seconds that never go back.
        sleep: waits for seconds.
        look_seconds: time between two checks of the server's queue.
        transport: replaces the network connection.

    Attributes:
        server: speaks to it.
        pressure: chooses the number of concurrent calls.
        calls: admits calls.
        activity: counts the server's data.
        adapter: the form of requests, for all calls.
        heard: number of stream events so far.
        found: result of the last check of the server. None: not checked, or it may be another server now.
    """

    def __init__(
        self,
        settings: PolicySettings,
        *,
        key: SecretStr | None = None,
        rng: np.random.Generator,
        backoff: Backoff | None = None,
        breaker: Breaker | None = None,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        look_seconds: float = LOOK_SECONDS,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.settings = settings
        self.monotonic = monotonic
        self.server = _server(settings, key, monotonic, transport)
        self._breaker = breaker or Breaker(monotonic)
        self.server_load = ServerLoad(
            self.server.load, settings.concurrency, look_seconds=look_seconds, monotonic=monotonic
        )
        self.calls = Calls(self._breaker, self.server_load, monotonic)
        self.activity = ActivityMeter()
        self.adapter = RequestAdapter(settings.name)
        self.heard = 0
        self.found: _Found | None = None
        self._finding = asyncio.Lock()
        self._rng = rng
        self._backoff = backoff or Backoff()
        self._sleep = sleep

    def health(self) -> dict[str, Any]:
        """The health of the server: the state of the breaker, and the last view of its queue."""
        breaker = {"breaker": str(self._breaker.state), "retry_seconds": max(0.0, self._breaker.wait_seconds)}
        return breaker | self.server_load.health()

    async def close(self) -> None:
        """Close every connection to the server."""
        await self.server_load.close()
        await self.server.close()

    async def known(self, look: Callable[[], Awaitable[_Found]]) -> _Found:
        """The result of the server's check. Without a result, one caller checks and the others wait.

        Args:
            look: checks the server, and stores the result in `found`.

        Raises:
            PolicyError: as from `look`. If a later try may succeed, with the time to wait.
        """
        async with self._finding:
            if self.found is not None:
                return self.found
            self.calls.admit()
            try:
                with self.calls.heard():
                    return await look()
            except PolicyUnavailable as error:
                raise self._later(error) from error

    async def wait(self, error: PolicyError, attempt: int) -> None:
        """Wait until the next attempt, or hand the error on with the time after which asking again is worth it.

        Args:
            error: why the last attempt brought nothing.
            attempt: its number, from 1.
        """
        if isinstance(error, PolicyDenied):
            self.found = None  # the server may be another one by now: look again before the next call
        if not isinstance(error, PolicyUnavailable):
            raise error
        seconds = self._backoff.wait(attempt, error.retry_after_seconds, self._rng)
        if seconds is None or self._breaker.wait_seconds:
            self.found = None  # a server that was away for so long may come back as another
            raise self._later(error) from error
        await self._sleep(seconds)

    def _later(self, error: PolicyUnavailable) -> PolicyUnavailable:
        """The same failure, with the time after which asking again is worth it."""
        seconds = max(error.retry_after_seconds, self._breaker.wait_seconds, MIN_WAIT_SECONDS)
        return PolicyUnavailable(str(error), seconds)


def _server(
    settings: PolicySettings,
    key: SecretStr | None,
    monotonic: Callable[[], float],
    transport: httpx.AsyncBaseTransport | None,
) -> ModelServer:
    if settings.kind == "litellm":
        return LiteLLMServer(settings, key, monotonic=monotonic)
    return Server(settings, key, monotonic=monotonic, transport=transport)
