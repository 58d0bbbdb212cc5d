"""What policies and embedders need of a server of models, whatever protocol it speaks."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from service.policy.limit import Load
from service.policy.offered import Offered
from service.policy.vectors import Embeddings
from service.policy.wire import Chunk


class ModelServer(Protocol):
    """Speaks to one server; every method raises `evolve.errors.PolicyError`, its text one sentence, without the key."""

    async def close(self) -> None:
        """Close every connection."""

    async def models(self) -> list[Offered] | None:
        """The models that it offers; None where it keeps no list."""

    async def knock(self, model: str) -> None:
        """Find out, at no cost, whether it would be asked in vain for a model that it does not list."""

    async def count_tokens(self, model: str, text: str) -> int | None:
        """Tokens of a text; None where the server has no answer."""

    async def load(self) -> Load | None:
        """How many requests it computes and how many wait; None where it does not tell."""

    def stream(self, body: Mapping[str, Any], tokens: int) -> AsyncGenerator[Chunk, None]:
        """Ask for a chat completion; gives its events as they come.

        Args:
            body: the request, as the OpenAI protocol writes it.
            tokens: most tokens asked for, over all choices.
        """

    async def embed(self, model: str, texts: Sequence[str]) -> Embeddings:
        """Ask for the embeddings of texts."""
