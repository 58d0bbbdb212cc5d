"""Embedding: each answer is told to the search when the vectors are there that its program is compared by."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from evolve.configuration import RunConfig
from evolve.errors import ConfigurationError, PolicyDenied, PolicyUnavailable
from evolve.money import FREE
from evolve.ports import Embedder
from evolve.program import Program
from evolve.proposal import Answer, Charge, CompletedReply, Usage
from evolve.search.candidate_filter import AnswerFilter
from evolve.search.policy_queue import DENIED_RETRY_SECONDS
from evolve.search.strategies import island_count

AT_ONCE = 64


def check_embedder(config: RunConfig, embedder: str | None) -> None:
    """Refuse a comparison by embeddings without an embedder, and an embedder whom nobody asks.

    Args:
        config: of the run.
        embedder: its name; None: the run has none.

    Raises:
        ConfigurationError: one is there without the other.
    """
    wanted = any(config.on_island(number).novelty.kind == "embedding" for number in range(island_count(config)))
    if wanted and embedder is None:
        raise ConfigurationError(
            "novelty.kind = 'embedding' needs an embedder: name a policy with role = \"embedder\" in the policy file"
        )
    if embedder is not None and not wanted:
        raise ConfigurationError(
            f'the policy {embedder} is an embedder, and nothing asks for embeddings: set novelty.kind = "embedding",'
            " or leave it out"
        )


class Embedding:
    """Asks an embedder for what a search compares programs by, and waits while it is away.

    Args:
        embedder: who is asked.
        answer_filter: who is handed the vectors.
        wake: called when `denied` has changed.

    Attributes:
        denied: why the last call did not get through; empty: calls do, as far as is known.
        retry_seconds: when the next is tried, from when `denied` was set.
    """

    def __init__(self, embedder: Embedder, answer_filter: AnswerFilter, wake: Callable[[], None]) -> None:
        self._embedder = embedder
        self._answer_filter = answer_filter
        self._wake = wake
        self._settling = asyncio.Lock()
        self._settled = False
        self.denied = ""
        self.retry_seconds = 0.0

    async def settle(self, charges: list[Charge]) -> None:
        """Embed, once, what the archives held when this sitting of the run began, and what was on its way to them.

        Whatever comes into an archive later was an answer before, and embedded as one.

        Args:
            charges: what is paid is added to them.
        """
        async with self._settling:
            while not self._settled:
                owed = self._answer_filter.owed()[:AT_ONCE]
                await self._embed(0, owed, charges)
                self._settled = not owed

    async def look(self, number: int, answers: Sequence[Answer], charges: list[Charge]) -> None:
        """Embed the programs that answers to a proposal make; `charges` is as `settle` takes it."""
        programs = [self._answer_filter.wanted(number, answer) for answer in answers]
        await self._embed(number, [program for program in programs if program is not None], charges)

    async def _embed(self, number: int, programs: Sequence[Program], charges: list[Charge]) -> None:
        while programs:
            try:
                embedded = await self._embedder.embed(programs)
            except PolicyDenied as error:
                await self._rest(str(error), DENIED_RETRY_SECONDS)
            except PolicyUnavailable as error:
                await self._rest(str(error), error.retry_after_seconds)
            else:
                if self.denied:
                    self.denied = ""
                    self._wake()
                charges.append(embedded.charge)
                self._answer_filter.see(number, programs, embedded.vectors)
                return

    async def _rest(self, reason: str, seconds: float) -> None:
        self.denied, self.retry_seconds = f"the embedder {self._embedder.name} cannot be asked: {reason}", seconds
        self._wake()
        await asyncio.sleep(seconds)


class DeliveryQueue:
    """Hands on the answers to one proposal, in the order in which they came, as soon as each can be compared.

    Args:
        number: of the proposal.
        embedding: whom each has to wait for; None: for nobody.
        tell: takes an answer.
    """

    def __init__(self, number: int, embedding: Embedding | None, tell: Callable[[Answer], None]) -> None:
        self._number = number
        self._embedding = embedding
        self._tell = tell
        self._answers: list[Answer] = []
        self._charges: list[Charge] = []
        self._work: asyncio.Task[None] | None = None

    async def begin(self) -> None:
        """Wait until what the answers will be compared with is there."""
        if self._embedding is not None:
            await self._embedding.settle(self._charges)

    def add(self, answer: Answer) -> None:
        """Take an answer that came."""
        if self._embedding is None:
            self._tell(answer)
            return
        self._answers.append(answer)
        if self._work is not None and self._work.done():
            self._work.result()  # an error of it must not be lost
            self._work = None
        if self._work is None:
            self._work = asyncio.create_task(self._work_off(self._embedding))

    async def finish(self) -> None:
        """Wait until all answers that came were handed on."""
        if self._work is not None:
            await self._work

    async def drop(self) -> None:
        """Let go of answers that were not handed on; returns when no call is under way."""
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)

    def charged(self, completed: CompletedReply | None) -> CompletedReply | None:
        """The last word on the proposal, with what was paid for its answers' vectors."""
        if not self._charges:
            return completed
        completed = completed or CompletedReply(completions=(), cost=FREE)
        return replace(completed, charges=(*completed.charges, _joined(self._charges)))

    async def _work_off(self, embedding: Embedding) -> None:
        while self._answers:
            answers, self._answers = self._answers, []
            await embedding.look(self._number, answers, self._charges)
            for answer in answers:
                self._tell(answer)


def _joined(charges: Sequence[Charge]) -> Charge:
    """What was paid to one embedder, as one charge."""
    first, cost = charges[0], charges[0].cost
    for charge in charges[1:]:
        cost = None if cost is None or charge.cost is None else cost + charge.cost
    usage = sum((charge.usage for charge in charges), Usage())
    return replace(first, usage=usage, cost=cost, seconds=sum(charge.seconds for charge in charges))
