"""Flight: what is under way in the world, proposals at the policy and candidates at the evaluator."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

from evolve.errors import PolicyDenied, PolicyRefused, PolicyUnavailable
from evolve.evaluation import Scoring
from evolve.identity import evaluation_id
from evolve.ordering import Ordering
from evolve.ports import Evaluator, Policy
from evolve.proposal import Answer, Candidate, Completed, Proposal
from evolve.search import Search, Step

DENIED_RETRY_SECONDS = 30.0
NO_LAST_WORD = "the policy ended without a last word"


class Flight:
    """Starts policy calls and evaluations up to their limits, and gathers what they bring for the loop to take.

    It has as many calls going on as suit the policy then, and as many evaluations as the evaluator has slots then, for
    servers fill up and workers come and go; with `calls` and `slots` no more than those.

    Attributes:
        denied: why policy calls cannot go on at present; empty: they can.
        retry_seconds: when the next of them is tried, from when `denied` was set.
        cut: by number, last words of proposals that were not told, those of cancelled calls among them.
    """

    def __init__(self, search: Search | Ordering, policy: Policy, evaluator: Evaluator, calls: int, slots: int) -> None:
        self.denied = ""
        self.retry_seconds = 0.0
        self._search = search
        self._policy = policy
        self._evaluator = evaluator
        self._most_calls = calls
        self._most_slots = slots
        self._proposals: deque[Proposal] = deque()
        self._candidates: deque[Candidate] = deque()
        self._proposing: set[asyncio.Task[None]] = set()
        self._evaluating: set[asyncio.Task[None]] = set()
        self._inbox: deque[Callable[[], Step]] = deque()
        self._arrived = asyncio.Event()
        self._failure: BaseException | None = None
        self._cancelled = False
        self.cut: dict[int, Completed] = {}

    @property
    def _calls(self) -> int:
        calls = self._policy.concurrency
        return min(self._most_calls or calls, calls)

    @property
    def _slots(self) -> int:
        slots = self._evaluator.slots
        return min(self._most_slots or slots, slots)

    @property
    def proposing(self) -> int:
        """Proposals at the policy, or on their way to it."""
        return len(self._proposing) + len(self._proposals)

    @property
    def evaluating(self) -> int:
        """Candidates at the evaluator, or on their way to it."""
        return len(self._evaluating) + len(self._candidates)

    @property
    def waiting(self) -> str:
        """Why what is under way cannot go on at present, at the policy or at the evaluator; empty: it can."""
        return self.denied or (self._evaluator.waiting if self.evaluating else "")

    @property
    def has_room(self) -> bool:
        """Whether another proposal would be put at once, and what it brings told and evaluated soon.

        Each call may be one proposal ahead of what was told: a policy need not wait for the telling of a burst, and a
        policy that is faster than the telling gets no proposals that know nothing of its last thousand answers.
        """
        ahead = len(self._search.state.open) < 2 * self._calls
        return ahead and self.proposing < self._calls and len(self._candidates) <= 2 * self._slots

    def send(self, step: Step) -> None:
        """Put a step's proposals to the policy and its candidates to the evaluator, as soon as there is room."""
        self._proposals.extend(step.proposals)
        self._candidates.extend(step.candidates)
        self._launch()

    async def arrival(self, timeout_seconds: float) -> Step:
        """What arrived first, told to the search; waits for it, or for the timeout.

        One at a time, with a turn of the event loop between: telling takes milliseconds, and in a burst the
        conversations that bring the rest, and a policy that has become free, must not wait for all of it.
        """
        await asyncio.sleep(0)
        if not self._inbox:
            await self.stir(timeout_seconds)
        # Only here: a call that ends before the wait began has made room, and must not be waited out.
        self._arrived.clear()
        self._raise_failure()
        return self._inbox.popleft()() if self._inbox else Step()

    async def stir(self, timeout_seconds: float) -> None:
        """Wait for anything that arrives or ends since the last wait, or for the timeout, and leave it where it is."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._arrived.wait()
        self._arrived.clear()
        self._raise_failure()

    def landed(self) -> list[Step]:
        """Everything that arrived, the earliest first, told to the search."""
        steps = []
        while self._inbox:
            steps.append(self._inbox.popleft()())
        return steps

    def wake(self) -> None:
        """Make `arrival` return at once."""
        self._arrived.set()

    async def cancel(self) -> None:
        """End everything under way; returns when the last process of it is gone."""
        self._cancelled = True
        self._proposals.clear()
        self._candidates.clear()
        tasks = [*self._proposing, *self._evaluating]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._proposing.clear()
        self._evaluating.clear()

    def _launch(self) -> None:
        while self._proposals and len(self._proposing) < self._calls:
            self._start(self._propose(self._proposals.popleft()), self._proposing)
        while self._candidates and len(self._evaluating) < self._slots:
            self._start(self._evaluate(self._candidates.popleft()), self._evaluating)

    def _start(self, work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> None:
        task = asyncio.create_task(work)
        tasks.add(task)
        task.add_done_callback(partial(self._end, tasks))

    def _end(self, tasks: set[asyncio.Task[None]], task: asyncio.Task[None]) -> None:
        """Let go of a finished call, and use its place at once."""
        tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failure = self._failure or error
        self._launch()
        self.wake()

    def _raise_failure(self) -> None:
        """An error that no call may have ends the run."""
        if self._failure is not None:
            raise self._failure

    def _post(self, arrival: Callable[[], Step]) -> None:
        self._inbox.append(arrival)
        self._arrived.set()

    async def _propose(self, proposal: Proposal) -> None:
        number = proposal.number
        while True:
            try:
                await self._converse(proposal)
            except PolicyRefused as error:
                self.denied = ""
                self._post(partial(self._search.fail, number, str(error)))
            except PolicyDenied as error:
                await self._wait(str(error), DENIED_RETRY_SECONDS)
                continue
            except PolicyUnavailable as error:
                await self._wait(str(error), error.retry_after_seconds)
                continue
            return

    async def _converse(self, proposal: Proposal) -> None:
        number, ended = proposal.number, False
        async with contextlib.aclosing(self._policy.propose(proposal)) as replies:
            async for reply in replies:
                self.denied = ""
                if isinstance(reply, Answer):
                    self._post(partial(self._search.answer, number, reply))
                else:
                    ended = True
                    self.cut[number] = reply
                    if not self._cancelled:
                        self._post(partial(self._complete, number, reply))
        if not ended:
            self._post(partial(self._search.fail, number, NO_LAST_WORD))

    def _complete(self, number: int, completed: Completed) -> Step:
        self.cut.pop(number, None)
        return self._search.complete(number, completed)

    async def _wait(self, reason: str, seconds: float) -> None:
        self.denied, self.retry_seconds = reason, seconds
        self._arrived.set()
        await asyncio.sleep(seconds)

    async def _evaluate(self, candidate: Candidate) -> None:
        scoring = Scoring(bar=candidate.bar)
        evaluation = await self._evaluator.evaluate(candidate.program, evaluation_id(candidate.id, 1), scoring)
        self._post(partial(self._search.tell, candidate.id, evaluation))
