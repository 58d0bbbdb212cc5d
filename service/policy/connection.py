"""A connection: a server with what watches over it, and what was found out about it, for whoever asks it for something.

Chats and embeddings are asked for in the same manner: a failing server is left alone, a request that may succeed later
is sent again, and a server that was away is looked at anew.
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
    """The way to one server.

    Args:
        settings: of a policy of kind `openai` or `litellm`.
        key: the key of the server, if it wants one.
        rng: spreads the waits between attempts; answers do not depend on it.
        backoff: how often and how soon a request is repeated.
        breaker: leaves a failing server alone; one of its own when None.
        monotonic: seconds that never go back.
        sleep: waits for seconds.
        look_seconds: between two looks at what waits at the server.
        transport: another way to the server than a network connection.

    Attributes:
        server: speaks to it.
        pressure: how many calls at once suit it.
        calls: lets calls out.
        activity: counts what the server sends.
        adapter: how requests are written, for all calls alike.
        heard: events of streams that came so far.
        found: what the last look at the server found; None: nobody looked, or it may be another one by now.
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
        """How the server fares: what the breaker holds of it, and what was seen of its queue."""
        breaker = {"breaker": str(self._breaker.state), "retry_seconds": max(0.0, self._breaker.wait_seconds)}
        return breaker | self.server_load.health()

    async def close(self) -> None:
        """Close every connection to the server."""
        await self.server_load.close()
        await self.server.close()

    async def known(self, look: Callable[[], Awaitable[_Found]]) -> _Found:
        """What was found out about the server; where nothing was, one looks and the others wait for it.

        Args:
            look: looks at the server, and keeps in `found` what it found.

        Raises:
            PolicyError: as `look` does; where it may succeed later, with the time after which it is worth it.
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
