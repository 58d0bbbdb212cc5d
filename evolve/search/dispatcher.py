"""Dispatcher: what is under way in the world, proposals at the policies and candidates at the evaluator."""

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from evolve.configuration import ConcurrencyConfig
from evolve.errors import PolicyDenied, PolicyError, PolicyRefused, PolicyUnavailable
from evolve.evaluation import ScoringRequest
from evolve.events import Event
from evolve.identity import evaluation_id
from evolve.policy_events import PolicyAdapted, PolicyBecameUnavailable, PolicyRecovered
from evolve.ports import NO_TRACER, Embedder, Evaluator, SearchTracer
from evolve.proposal import Answer, Candidate, CompletedReply, Individual, Proposal
from evolve.search.deterministic_schedule import DeterministicSchedule
from evolve.search.embedding import DeliveryQueue, Embedding
from evolve.search.ensemble import EnsembleMember
from evolve.search.members_on_demand import show
from evolve.search.policy_queue import DENIED_RETRY_SECONDS, PolicyQueue
from evolve.search.search import Search, SearchStep
from evolve.search.unloaded import unloaded_in

NO_LAST_WORD = "the policy ended without a last word"

Load = Callable[[Sequence[str]], Awaitable[Sequence[Individual]]]


class Dispatcher:
    """Starts policy calls and evaluations up to their limits, and gathers what they bring for the loop to take.

    It has as many calls going on as suit each policy then, and as many evaluations as the evaluator has slots then, for
    servers fill up and workers come and go; with a limit of the configuration no more than that.

    A policy that cannot be asked is waited for. Where others can be, and no order is kept, its proposals are given up,
    it gets none for a while, and then one to try it.

    Args:
        search: what the results are told to.
        members: the policies.
        evaluator: scores the candidates.
        write: is given the events of every step, in order.
        embedder: embeds what answers make before they are told; None: nothing is compared by embeddings.
        tracer: records proposals and evaluations.
        load: brings individuals with their programs by their ids, for proposals of a search that was resumed on demand.

    Attributes:
        cut: by number, last words of proposals that were not told, those of cancelled calls among them.
    """

    def __init__(
        self,
        search: Search | DeterministicSchedule,
        members: Sequence[EnsembleMember],
        evaluator: Evaluator,
        write: Callable[[Sequence[Event]], None],
        embedder: Embedder | None = None,
        tracer: SearchTracer = NO_TRACER,
        load: Load | None = None,
    ) -> None:
        self._search, self._load = search, load
        self._tracer = tracer
        self._policy_queues = {member.policy.name: PolicyQueue(member.policy, self._limits) for member in members}
        self._embedding = Embedding(embedder, search.answer_filter, self.wake) if embedder else None
        self._evaluator = evaluator
        self._write = write
        self._away: set[str] = set()
        self._candidates: deque[Candidate] = deque()
        self._evaluating: set[asyncio.Task[None]] = set()
        self._inbox: deque[Callable[[], SearchStep]] = deque()
        self._arrived = asyncio.Event()
        self._failure: BaseException | None = None
        self._cancelled = False
        self.cut: dict[int, CompletedReply] = {}

    def add(self, member: EnsembleMember) -> None:
        """Take in a further policy, which the search may ask from now on. One that is there stays as it is."""
        self._policy_queues.setdefault(member.policy.name, PolicyQueue(member.policy, self._limits))

    def remove(self, name: str) -> None:
        """Forget a policy that the search does not ask any more, and that owes no answer."""
        self._policy_queues.pop(name, None)
        self._away.discard(name)

    @property
    def away(self) -> frozenset[str]:
        """Names of those of several policies that could not be asked of late, as `news` told."""
        return frozenset(self._away)

    @property
    def _slots(self) -> int:
        slots = self._evaluator.slots
        return min(self._limits().evaluations or slots, slots)

    def _limits(self) -> ConcurrencyConfig:
        """How much goes on at once, as people last wanted it."""
        return self._search.state.config.concurrency

    @property
    def proposing(self) -> int:
        """Proposals at the policies, or on their way to them."""
        return sum(policy_queue.proposing for policy_queue in self._policy_queues.values())

    @property
    def evaluating(self) -> int:
        """Candidates at the evaluator, or on their way to it."""
        return len(self._evaluating) + len(self._candidates)

    @property
    def waiting(self) -> str:
        """Why what is under way cannot go on at present, at the policies or at the evaluator; empty: it can."""
        return self.denied or (self._evaluator.waiting if self.evaluating else "")

    @property
    def denied(self) -> str:
        """Why policy calls cannot go on at present; empty: they can, to one of them at least where no order is kept."""
        reasons = [policy_queue.denied for policy_queue in self._policy_queues.values()]
        stands = any(reasons) if self._ordered else all(reasons)
        reasons = [*(reasons if stands else ()), self._embedding.denied if self._embedding else ""]
        return "; ".join(dict.fromkeys(filter(None, reasons)))

    @property
    def last_denied(self) -> str:
        """Why the last calls of the policies did not get through; empty: some did."""
        reasons = [policy_queue.last_denied for policy_queue in self._policy_queues.values()]
        return "; ".join(dict.fromkeys(reasons)) if all(reasons) else ""

    @property
    def retry_seconds(self) -> float:
        """When the next call is tried, from when it was denied."""
        asked = [*self._policy_queues.values(), *([self._embedding] if self._embedding else ())]
        return min((one.retry_seconds for one in asked if one.denied), default=0.0)

    def news(self) -> list[Event]:
        """What policies learnt of their servers since this was asked last, and which of several went away or came back.

        Of a single one that is away `waiting` tells all.
        """
        events = [
            Event(PolicyAdapted(**asdict(notice)))
            for policy_queue in self._policy_queues.values()
            for notice in policy_queue.notices()
        ]
        for name, policy_queue in self._policy_queues.items() if len(self._policy_queues) > 1 else ():
            if policy_queue.denied and name not in self._away:
                self._away.add(name)
                events.append(Event(PolicyBecameUnavailable(policy=name, reason=policy_queue.denied)))
            elif not policy_queue.denied and name in self._away:
                self._away.discard(name)
                events.append(Event(PolicyRecovered(policy=name)))
        return events

    def ask(self, elapsed_seconds: float) -> None:
        """Ask the search for what is due, as far as there is room for it."""
        if isinstance(self._search, DeterministicSchedule):
            self.take(self._search.ask(elapsed_seconds))
            return
        several = len(self._policy_queues) > 1
        while self._has_room:
            away = {name for name, policy_queue in self._policy_queues.items() if policy_queue.away and several}
            busy = {name for name, policy_queue in self._policy_queues.items() if policy_queue.full}
            step = self._search.ask(elapsed_seconds, away=away, busy=busy)
            if not step.proposals:
                return
            self.take(step)

    def take(self, step: SearchStep) -> None:
        """Write a step's events, and send what follows into the world as soon as there is room."""
        self._write(step.events)
        self._candidates.extend(step.candidates)
        for proposal in step.proposals:
            self._policy_queues[proposal.policy].waiting.append(proposal)
        self._launch()

    @property
    def _ordered(self) -> bool:
        return isinstance(self._search, DeterministicSchedule)

    @property
    def _has_room(self) -> bool:
        """Whether what another proposal brings would be told and evaluated soon.

        Each call may be one proposal ahead of what was told: a policy need not wait for the telling of a burst, and a
        policy that is faster than the telling gets no proposals that know nothing of its last thousand answers.
        """
        calls = sum(policy_queue.maximum for policy_queue in self._policy_queues.values())
        return len(self._search.state.open) < 2 * calls and len(self._candidates) <= 2 * self._slots

    async def arrival(self, timeout_seconds: float) -> SearchStep:
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
        return self._inbox.popleft()() if self._inbox else SearchStep()

    async def stir(self, timeout_seconds: float) -> None:
        """Wait for anything that arrives or ends since the last wait, or for the timeout, and leave it where it is."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await self._arrived.wait()
        self._arrived.clear()
        self._raise_failure()

    def landed(self) -> list[SearchStep]:
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
        self._candidates.clear()
        started = [self._evaluating, *(policy_queue.calls for policy_queue in self._policy_queues.values())]
        for policy_queue in self._policy_queues.values():
            policy_queue.waiting.clear()
        tasks = [task for some in started for task in some]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for some in started:
            some.clear()

    def _launch(self) -> None:
        blind = self._embedding is not None and self._embedding.denied  # what comes now could not be told
        for policy_queue in self._policy_queues.values():
            while policy_queue.waiting and len(policy_queue.calls) < policy_queue.maximum and not blind:
                self._start(self._propose(policy_queue, policy_queue.waiting.popleft()), policy_queue.calls)
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

    def _post(self, arrival: Callable[[], SearchStep]) -> None:
        self._inbox.append(arrival)
        self._arrived.set()

    async def _propose(self, policy_queue: PolicyQueue, proposal: Proposal) -> None:
        if self._load is not None and (unloaded := unloaded_in(proposal)):
            loaded = {one.candidate_id: one for one in await self._load(unloaded)}
            proposal = show(self._search.state, proposal, loaded)
        with self._tracer.proposal(proposal):
            await self._have_answered(policy_queue, proposal)

    async def _have_answered(self, policy_queue: PolicyQueue, proposal: Proposal) -> None:
        number = proposal.number
        telling = DeliveryQueue(number, self._embedding, partial(self._hand_on, number))
        while True:
            try:
                await self._converse(policy_queue, proposal, telling)
            except PolicyRefused as error:
                policy_queue.admit()
                self._post(partial(self._fail, number, str(error)))
                return
            except PolicyDenied as error:
                reason, seconds = str(error), DENIED_RETRY_SECONDS
            except PolicyUnavailable as error:
                reason, seconds = str(error), error.retry_after_seconds
            else:
                return
            given_up = self._give_up(policy_queue, proposal, reason)
            self.wake()
            await policy_queue.rest(reason, seconds)
            if given_up:
                return

    def _give_up(self, policy_queue: PolicyQueue, proposal: Proposal, reason: str) -> bool:
        """Close a proposal that its policy cannot be asked now, if another can be and no order is kept."""
        others = [other for other in self._policy_queues.values() if other is not policy_queue and not other.denied]
        if not others or isinstance(self._search, DeterministicSchedule):
            return False
        self._post(partial(self._forgo, self._search, proposal.number, reason))
        return True

    async def _converse(self, policy_queue: PolicyQueue, proposal: Proposal, telling: DeliveryQueue) -> None:
        number, last = proposal.number, None
        try:
            await telling.begin()
            async with contextlib.aclosing(policy_queue.policy.propose(proposal)) as replies:
                async for reply in replies:
                    if isinstance(reply, Answer):
                        policy_queue.admit()
                        telling.add(reply)
                    else:
                        last = reply
            policy_queue.admit()
            await telling.finish()
        except PolicyError:
            await telling.finish()
            raise
        finally:
            await telling.drop()
            word = telling.charged(last)
            if word is not None:
                self.cut[number] = word
        if last is None:
            self._post(partial(self._fail, number, NO_LAST_WORD))
        elif word is not None and not self._cancelled:
            self._post(partial(self._complete, number, word))

    def _hand_on(self, number: int, answer: Answer) -> None:
        self._post(partial(self._search.answer, number, answer))

    def _complete(self, number: int, completed: CompletedReply) -> SearchStep:
        self.cut.pop(number, None)
        return self._search.complete(number, completed)

    def _fail(self, number: int, reason: str) -> SearchStep:
        return self._search.fail(number, reason, self.cut.pop(number, None))

    def _forgo(self, search: Search, number: int, reason: str) -> SearchStep:
        return search.forgo(number, reason, self.cut.pop(number, None))

    async def _evaluate(self, candidate: Candidate) -> None:
        scoring = ScoringRequest(early_stop_threshold=candidate.early_stop_threshold)
        with self._tracer.evaluation(candidate) as ended:
            evaluation = await self._evaluator.evaluate(candidate.program, evaluation_id(candidate.id, 1), scoring)
            ended(evaluation)
        self._post(partial(self._search.tell, candidate.id, evaluation))
