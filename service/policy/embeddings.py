"""The embedder behind an OpenAI-compatible server, vLLM first: programs out, vectors back."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

from evolve.errors import PolicyDenied, PolicyError, PolicyRefused
from evolve.program import Program
from evolve.prompt.text import shown
from evolve.proposal import Charge, Usage
from evolve.similarity.vectors import EmbeddedPrograms, Vector
from service.policy.connection import ServerConnection
from service.policy.embedding_protocol import Embeddings
from service.policy.request_options import sendable
from service.policy.served_models import ServedModel, choose, unlisted
from service.policy.tokens import estimate_tokens

TEXTS_AT_ONCE = 32  # what servers take that were told nothing else
_WORD = "x"


class OpenAIEmbedder:
    """Embeds programs through a server, see `evolve.ports.Embedder`.

    Args:
        connection: to the server, with settings of the role `embedder`. Its check finds the model.
        language: of the programs, as in the problem.
    """

    def __init__(self, connection: ServerConnection[str], *, language: str) -> None:
        self.settings = connection.settings
        self.connection = connection
        self._language = language
        self._room = asyncio.Condition()
        self._busy = 0
        self._length = 0
        self._unpaid = Usage()

    @property
    def name(self) -> str:
        """The policy's name in records and statistics."""
        return self.settings.name

    def health(self) -> dict[str, Any]:
        """The health of its server: the state of the breaker, and the last view of its queue."""
        return self.connection.health()

    async def close(self) -> None:
        """Close every connection to the server."""
        await self.connection.close()

    async def check(self) -> str:
        """Ask the server for the embedding of a word before the first request. Returns the model.

        Raises:
            PolicyUnavailable: it cannot be reached or fails.
            PolicyDenied: it is not such a server, refuses the key, does not offer the model, or does not embed.
        """
        server = self.connection.server
        offered = await server.models()
        model = choose(self.settings, offered)
        try:
            found = await self._try(model, offered)
        except PolicyRefused as error:
            raise PolicyDenied(f"{error} (is {model} a model that embeds?)") from error
        if not found.length:
            raise PolicyDenied(
                f"{self.settings.place} returns a zero or infinite vector for a word: name another model than {model}"
            )
        self._unpaid += found.usage or Usage(input=estimate_tokens(_WORD))
        self._measure(found.length)
        await self.connection.server_load.look()
        self.connection.found = model
        return model

    async def embed(self, programs: Sequence[Program]) -> EmbeddedPrograms:
        """The vectors of programs. None for a program that the server refuses, or a vector without direction.

        Raises:
            PolicyUnavailable: the server may answer later.
            PolicyDenied: it refuses the key, or is another server now.
        """
        started = self.connection.monotonic()
        texts = [sendable(shown(program, self._language)) for program in programs]
        vectors: list[Vector | None] = []
        async with self._seat():
            model = await self.connection.known(self.check)
            paid, self._unpaid = [self._unpaid], Usage()
            try:
                for start in range(0, len(texts), TEXTS_AT_ONCE):
                    vectors += await self._vectors(model, texts[start : start + TEXTS_AT_ONCE], paid)
            except BaseException:
                self._unpaid = sum(paid, self._unpaid)  # the next call tells of it
                raise
        usage = sum(paid, Usage())
        seconds = self.connection.monotonic() - started
        charge = Charge(
            policy=self.name, purpose="embedding", usage=usage, cost=self.settings.cost(usage), seconds=seconds
        )
        return EmbeddedPrograms(vectors=tuple(vectors), charge=charge)

    @asynccontextmanager
    async def _seat(self) -> AsyncIterator[None]:
        """A place among the calls at once that suit the server at present."""
        async with self._room:
            await self._room.wait_for(lambda: self._busy < self.connection.server_load.calls)
            self._busy += 1
        try:
            yield
        finally:
            self._busy -= 1
            async with self._room:
                self._room.notify_all()

    async def _vectors(self, model: str, texts: Sequence[str], paid: list[Usage]) -> list[Vector | None]:
        """The vectors of texts. A server refuses several together, so a refused text is found by halving."""
        try:
            found = await self._request(model, texts)
        except PolicyRefused:
            if len(texts) == 1:
                return [None]
            half = len(texts) // 2
            first = await self._vectors(model, texts[:half], paid)
            return first + await self._vectors(model, texts[half:], paid)
        paid.append(found.usage or Usage(input=sum(map(estimate_tokens, texts))))
        return list(found.vectors)

    async def _request(self, model: str, texts: Sequence[str]) -> Embeddings:
        attempt = 0
        while True:
            attempt += 1
            self.connection.calls.admit()
            try:
                with self.connection.calls.call(model):
                    found = await self.connection.server.embed(model, texts)
                    self._measure(found.length)
                    return found
            except PolicyError as error:
                await self.connection.wait(error, attempt)

    async def _try(self, model: str, offered: Sequence[ServedModel] | None) -> Embeddings:
        if model in [entry.name for entry in offered or ()]:
            return await self.connection.server.embed(model, [_WORD])
        with unlisted(self.settings, model, offered):
            return await self.connection.server.embed(model, [_WORD])

    def _measure(self, length: int) -> None:
        """Refuse vectors that cannot be compared with those of before."""
        if length and self._length not in (0, length):
            raise PolicyDenied(
                f"{self.settings.place} embeds in {length} numbers, and before in {self._length}:"
                " serve the previous model, or resume the run again"
            )
        self._length = length or self._length
