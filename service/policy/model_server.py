"""The interface of model servers for policies and embedders, with any protocol."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Protocol

from service.policy.concurrency_controller import ConcurrencyLoad
from service.policy.embedding_protocol import Embeddings
from service.policy.openai_protocol import StreamChunk
from service.policy.served_models import ServedModel

NO_HEADERS: Mapping[str, str] = MappingProxyType({})


class ModelServer(Protocol):
    """Speaks to a server. Every method raises `evolve.errors.PolicyError` with a sentence, without the key."""

    async def close(self) -> None:
        """Close every connection."""

    async def models(self) -> list[ServedModel] | None:
        """The offered models. None if it has no list."""

    async def knock(self, model: str) -> None:
        """Find out, at no cost, whether it would be asked in vain for a model that it does not list."""

    async def count_tokens(self, model: str, text: str) -> int | None:
        """Number of tokens of a text. None if the server does not answer."""

    async def load(self) -> ConcurrencyLoad | None:
        """Numbers of requests in progress and waiting. None if it does not report."""

    def stream(
        self, body: Mapping[str, Any], tokens: int, headers: Mapping[str, str] = NO_HEADERS
    ) -> AsyncGenerator[StreamChunk, None]:
        """Ask for a chat completion. Returns its events as they come.

        Args:
            body: the request in the OpenAI protocol.
            tokens: maximum requested tokens, over all choices.
            headers: more headers of the request.
        """

    async def embed(self, model: str, texts: Sequence[str]) -> Embeddings:
        """Ask for the embeddings of texts."""
