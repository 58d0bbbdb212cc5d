"""The embedder behind an OpenAI-compatible server, vLLM first: programs out, vectors back."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import numpy as np
from pydantic import SecretStr

from evolve.errors import PolicyDenied, PolicyError, PolicyRefused, PolicyUnavailable
from evolve.program import Program
from evolve.prompt.text import shown
from evolve.proposal import Charge, Usage
from evolve.vectors import Embedded, Vector
from service.net.retry import Backoff
from service.policy.asking import sendable
from service.policy.breaker import Breaker
from service.policy.calls import Calls
from service.policy.offered import choose
from service.policy.pressure import LOOK_SECONDS, Pressure
from service.policy.server import Server
from service.policy.settings import PolicySettings
from service.policy.tokens import estimate_tokens
from service.policy.vectors import Embeddings

LEAST_WAIT_SECONDS = 1.0
TEXTS_AT_ONCE = 32  # what servers take that were told nothing else
_WORD = "x"


class OpenAIEmbedder:
    """Embeds programs through a server; see `evolve.ports.Embedder`.

    Args:
        settings: of the role `embedder`.
        language: of the programs, as the problem names it.
        key: the key of the server, if it wants one.
        rng: spreads the waits between attempts.
        backoff: how often and how soon a request is repeated.
        breaker: leaves a failing server alone; one of its own when None.
        monotonic: seconds that never go back.
        sleep: waits for seconds.
        look_seconds: between two looks at what waits at the server.
        transport: another way to the server than a network connection.
    """

    def __init__(
        self,
        settings: PolicySettings,
        *,
        language: str,
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
        self._language = language
        self._rng = rng
        self._backoff = backoff or Backoff()
        self._breaker = breaker or Breaker(monotonic)
        self._monotonic = monotonic
        self._sleep = sleep
        self._server = Server(settings, key, monotonic=monotonic, transport=transport)
        self._pressure = Pressure(
            self._server.load, settings.concurrency, look_seconds=look_seconds, monotonic=monotonic
        )
        self._calls = Calls(str(settings.base_url), self._breaker, self._pressure, monotonic)
        self._room = asyncio.Condition()
        self._busy = 0
        self._model = ""
        self._finding = asyncio.Lock()
        self._length = 0
        self._unpaid = Usage()

    @property
    def name(self) -> str:
        """The policy's name in records and statistics."""
        return self.settings.name

    def health(self) -> dict[str, Any]:
        """How its server fares: what the breaker holds of it, and what was seen of its queue."""
        breaker = {"breaker": str(self._breaker.state), "retry_seconds": max(0.0, self._breaker.wait_seconds)}
        return breaker | self._pressure.health()

    async def close(self) -> None:
        """Close every connection to the server."""
        await self._pressure.close()
        await self._server.close()

    async def check(self) -> None:
        """Ask the server for the embedding of a word, before anything is asked of it.

        Raises:
            PolicyUnavailable: it cannot be reached or fails.
            PolicyDenied: it is no such server, refuses the key, does not offer the model, or does not embed.
        """
        model = choose(self.settings, await self._server.models())
        try:
            found = await self._server.embed(model, [_WORD])
        except PolicyRefused as error:
            raise PolicyDenied(f"{error} (is {model} a model that embeds?)") from error
        if not found.length:
            raise PolicyDenied(
                f"the policy server {self.settings.base_url} embeds a word as a vector that is zero or not finite: name"
                f" another model than {model}"
            )
        self._unpaid += found.usage or Usage(input=estimate_tokens(_WORD))
        self._measure(found.length)
        await self._pressure.look()
        self._model = model

    async def embed(self, programs: Sequence[Program]) -> Embedded:
        """The vectors of programs; None for one that the server refuses, or that it sees as no direction.

        Raises:
            PolicyUnavailable: the server may answer later.
            PolicyDenied: it refuses the key, or is another one by now.
        """
        started = self._monotonic()
        texts = [sendable(shown(program, self._language)) for program in programs]
        vectors: list[Vector | None] = []
        async with self._seat():
            await self._find()
            paid, self._unpaid = [self._unpaid], Usage()
            try:
                for start in range(0, len(texts), TEXTS_AT_ONCE):
                    vectors += await self._vectors(texts[start : start + TEXTS_AT_ONCE], paid)
            except BaseException:
                self._unpaid = sum(paid, self._unpaid)  # the next call tells of it
                raise
        usage = sum(paid, Usage())
        seconds = self._monotonic() - started
        charge = Charge(
            policy=self.name, purpose="embedding", usage=usage, cost=self.settings.cost(usage), seconds=seconds
        )
        return Embedded(vectors=tuple(vectors), charge=charge)

    @asynccontextmanager
    async def _seat(self) -> AsyncIterator[None]:
        """A place among the calls at once that suit the server at present."""
        async with self._room:
            await self._room.wait_for(lambda: self._busy < self._pressure.calls)
            self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            async with self._room:
                self._room.notify_all()

    async def _find(self) -> None:
        async with self._finding:
            if self._model:
                return
            self._calls.admit()
            try:
                with self._calls.heard():
                    await self.check()
            except PolicyUnavailable as error:
                raise self._later(error) from error

    async def _vectors(self, texts: Sequence[str], paid: list[Usage]) -> list[Vector | None]:
        """The vectors of texts. Of several a server refuses all together: what it refuses is found by halving."""
        try:
            found = await self._request(texts)
        except PolicyRefused:
            if len(texts) == 1:
                return [None]
            half = len(texts) // 2
            return [*await self._vectors(texts[:half], paid), *await self._vectors(texts[half:], paid)]
        paid.append(found.usage or Usage(input=sum(map(estimate_tokens, texts))))
        return list(found.vectors)

    async def _request(self, texts: Sequence[str]) -> Embeddings:
        attempt = 0
        while True:
            attempt += 1
            self._calls.admit()
            try:
                with self._calls.call(self._model):
                    found = await self._server.embed(self._model, texts)
                    self._measure(found.length)
                    return found
            except PolicyError as error:
                await self._wait(error, attempt)

    def _measure(self, length: int) -> None:
        """Refuse vectors that cannot be compared with those of before."""
        if length and self._length not in (0, length):
            raise PolicyDenied(
                f"the policy server {self.settings.base_url} embeds in {length} numbers, and before in {self._length}:"
                " serve the model of before, or resume the run anew"
            )
        self._length = length or self._length

    async def _wait(self, error: PolicyError, attempt: int) -> None:
        """Wait until the next attempt, or hand the error on with the time after which asking again is worth it."""
        if isinstance(error, PolicyDenied):
            self._model = ""  # the server may be another one by now
        if not isinstance(error, PolicyUnavailable):
            raise error
        seconds = self._backoff.wait(attempt, error.retry_after_seconds, self._rng)
        if seconds is None or self._breaker.wait_seconds:
            self._model = ""
            raise self._later(error) from error
        await self._sleep(seconds)

    def _later(self, error: PolicyUnavailable) -> PolicyUnavailable:
        seconds = max(error.retry_after_seconds, self._breaker.wait_seconds, LEAST_WAIT_SECONDS)
        return PolicyUnavailable(str(error), seconds)
