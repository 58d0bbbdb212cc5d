"""When a run submits its next task: as far as its share of the slots and the backlog of the pool allow."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from service.ports import PoolBacklog
from service.queue.fairness import may_submit


class SubmissionGate:
    """Lets the tasks of one run into the queue, in turn; the others wait here, where they are in nobody's way.

    Attributes:
        share: of the slots of the pool that are the run's own.
    """

    def __init__(self, backlog: Callable[[], PoolBacklog]) -> None:
        """Make it.

        Args:
            backlog: of the run's pool, with all tasks that were submitted until then.
        """
        self.share = 0
        self._backlog = backlog
        self._turns: deque[asyncio.Future[None]] = deque()
        self._admitted = self._not_submitted = 0
        self._finished = 0  # since the share was told last

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Wait for a turn; within it, the task is submitted at once and has its result at the end."""
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._turns.append(turn)
        self.admit()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it had its turn in the same moment
                self._not_submitted -= 1
                self._admitted -= 1
                self.admit()
            raise
        self._not_submitted -= 1
        try:
            yield
            self._finished += 1
        finally:
            self._admitted -= 1
            self.admit()

    def follow(self, share: int) -> None:
        """Take in a share and the backlog that was told with it."""
        self.share, self._finished = share, 0
        self.admit()

    def admit(self) -> None:
        """Give their turns to as many as may submit now."""
        while self._turns:
            if self._turns[0].cancelled():
                self._turns.popleft()
            elif self._may_submit():
                self._admitted += 1
                self._not_submitted += 1
                self._turns.popleft().set_result(None)
            else:
                return

    def _may_submit(self) -> bool:
        backlog = self._backlog()
        # A task that ended freed a slot, which takes one that waits: it may be replaced before that is heard of.
        waiting = backlog.own + self._not_submitted - self._finished
        return may_submit(self.share, self._admitted, waiting, backlog.oldest_seconds)
