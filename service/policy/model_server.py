"""What policies and embedders need of a server of models, whatever protocol it speaks."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from service.policy.concurrency_controller import ConcurrencyLoad
from service.policy.embedding_protocol import Embeddings
from service.policy.openai_protocol import StreamChunk
from service.policy.served_models import ServedModel


class ModelServer(Protocol):
    """Speaks to one server; every method raises `evolve.errors.PolicyError`, its text one sentence, without the key."""

    async def close(self) -> None:
        """Close every connection."""

    async def models(self) -> list[ServedModel] | None:
        """The models that it offers; None where it keeps no list."""

    async def knock(self, model: str) -> None:
        """Find out, at no cost, whether it would be asked in vain for a model that it does not list."""

    async def count_tokens(self, model: str, text: str) -> int | None:
        """Tokens of a text; None where the server has no answer."""

    async def load(self) -> ConcurrencyLoad | None:
        """How many requests it computes and how many wait; None where it does not tell."""

    def stream(self, body: Mapping[str, Any], tokens: int) -> AsyncGenerator[StreamChunk, None]:
        """Ask for a chat completion; gives its events as they come.

        Args:
            body: the request, as the OpenAI protocol writes it.
            tokens: most tokens asked for, over all choices.
        """

    async def embed(self, model: str, texts: Sequence[str]) -> Embeddings:
        """Ask for the embeddings of texts."""
