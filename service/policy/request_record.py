"""The usage of one request to a model server."""

import math

from evolve.proposal import Usage
from service.policy.openai_protocol import StreamChunk
from service.policy.tokens import CHARACTERS_PER_TOKEN


class RequestRecord:
    """The usage of a request: the server's own count, or an estimate from the sent and written text.

    Args:
        prompt_tokens: of the prompt, counted or estimated.
    """

    def __init__(self, prompt_tokens: int) -> None:
        self._prompt_tokens = prompt_tokens
        self._told: Usage | None = None
        self._characters: dict[int, int] = {}
        self._begun = False

    def take(self, chunk: StreamChunk) -> None:
        """Take in an event of its stream."""
        self._begun = True
        self._told = chunk.usage or self._told
        for delta in chunk.deltas:
            written = self._characters.get(delta.choice, 0)
            self._characters[delta.choice] = written + len(delta.text) + len(delta.reasoning)

    @property
    def choices(self) -> int:
        """Choices of which anything came."""
        return len(self._characters)

    @property
    def usage(self) -> Usage:
        """Its tokens. Zero if no reply started."""
        if self._told is not None or not self._begun:
            return self._told or Usage()
        written = sum(math.ceil(characters / CHARACTERS_PER_TOKEN) for characters in self._characters.values())
        return Usage(input=self._prompt_tokens, output=written)
