"""Checks that anybody may ask for: however many ask, one is made at a time, and its outcome counts for a moment."""

import asyncio
import time
from collections.abc import Awaitable, Callable

Check = Callable[[], Awaitable[None]]

KEPT_SECONDS = 1.0


class CachedCheck:
    """A check whose outcome is kept.

    Args:
        check: raises what is wrong.
        now: a clock that never goes back, in seconds.
    """

    def __init__(self, check: Check, now: Callable[[], float] = time.monotonic) -> None:
        self._check, self._now = check, now
        self._made: asyncio.Task[Exception | None] | None = None
        self._until = 0.0

    async def __call__(self) -> None:
        """Check, unless somebody does or just did.

        Raises:
            Exception: what the check raised.
        """
        if self._made is None or (self._made.done() and self._now() >= self._until):
            self._made = asyncio.create_task(self._make())
        error = await asyncio.shield(self._made)  # who gives up waiting ends it for nobody else
        if error is not None:
            raise error

    async def aclose(self) -> None:
        """Wait for what is being checked, before that which it checks is closed."""
        if self._made is not None:
            await asyncio.wait([self._made])

    async def _make(self) -> Exception | None:
        try:
            await self._check()
        except Exception as error:  # noqa: BLE001 - raised to all who ask
            return error
        finally:
            self._until = self._now() + KEPT_SECONDS
        return None
