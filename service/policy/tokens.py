"""Numbers of tokens: by the server's own tokenizer if it offers one, else by an estimate."""

import asyncio
import math
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import partial

from evolve.errors import PolicyRefused
from evolve.identity import digest
from evolve.proposal import Prompt

CHARACTERS_PER_TOKEN = 3.5
Count = Callable[[str], int]

_KEPT = 8192
_ROUNDS = 4
_AT_ONCE = 8
_MAX_A_ROUND = 256


def estimate_tokens(text: str) -> int:
    """An estimate that suits code in the tokenizers of today: a token for each 3.5 characters, rounded up."""
    return math.ceil(len(text) / CHARACTERS_PER_TOKEN)


class TokenCounter:
    """Counts for prompts that pure code builds. Unknown counts are asked from the server between two builds.

    Args:
        ask: asks the server for the count of a text, None if it returns none. None: there is no tokenizer.
    """

    def __init__(self, ask: Callable[[str], Awaitable[int | None]] | None) -> None:
        self._ask = ask
        self._known: OrderedDict[str, int] = OrderedDict()
        self._gate = asyncio.Semaphore(_AT_ONCE)

    async def fit(self, build: Callable[[Count], Prompt]) -> Prompt:
        """Build a prompt with counts by the server, by the estimate where the server does not say in time.

        Raises:
            PolicyRefused: by the counts that there are, the prompt does not fit.
        """
        if self._ask is None:
            return build(estimate_tokens)
        for _ in range(_ROUNDS):
            missing: dict[str, str] = {}
            try:
                prompt = build(partial(self._count, missing))
            except PolicyRefused:
                # An estimate must not be what refuses a prompt that fits.
                if not missing or not await self._fetch(missing):
                    raise
                continue
            if not missing or not await self._fetch(missing):
                return prompt
        return build(partial(self._count, {}))

    def _count(self, missing: dict[str, str], text: str) -> int:
        if not text:
            return 0
        key = digest(text)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        missing[key] = text
        return estimate_tokens(text)

    async def _fetch(self, missing: dict[str, str]) -> bool:
        """Ask for what is missing; whether anything was learnt."""
        wanted = list(missing.items())[:_MAX_A_ROUND]
        async with asyncio.TaskGroup() as group:
            tasks = [(key, group.create_task(self._one(text))) for key, text in wanted]
        learnt = {key: count for key, task in tasks if (count := task.result()) is not None}
        self._known.update(learnt)
        while len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return bool(learnt)

    async def _one(self, text: str) -> int | None:
        assert self._ask is not None
        async with self._gate:
            return await self._ask(text)
