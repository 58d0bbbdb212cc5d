"""A reviewed policy: its author gets, with each proposal, a critic's review of the parent."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from evolve.answers.reasoning import ReasoningFilter
from evolve.errors import PolicyDenied, PolicyError, PolicyRefused, PolicyUnavailable
from evolve.money import FREE, shared_currency
from evolve.ports import AdaptedPolicy, AdaptivePolicy, Policy, PromptedPolicy, ServedPolicy
from evolve.proposal import Charge, CompletedReply, Proposal, Reply
from evolve.reply_form import ReplyForm
from evolve.search.ensemble import EnsembleMember

PURPOSE = "review"
# A critic that refuses so often in a row, or so often before it wrote anything, is taken to refuse always.
REFUSALS_IN_A_ROW = 20
REFUSALS_AT_FIRST = 5
MAX_KEPT = 1024  # reviews whose authors could not be asked, and may never be for them
_STREAM = 1  # apart from the author's own sampling


class Critic:
    """Reviews parents for all authors of a run, within the concurrency of its policy.

    Args:
        policy: writes a single answer to the prompt of a review, its whole completion.
        currency: of its price, as in `EnsembleMember`.
    """

    def __init__(self, policy: Policy, currency: str | None = None) -> None:
        self.currency = currency
        self._policy = policy
        self._calls = 0
        self._refused = 0
        self._reviewed = False
        self._ended = asyncio.Event()

    @property
    def name(self) -> str:
        """Its name in records and statistics."""
        return self._policy.name

    def notices(self) -> Sequence[AdaptedPolicy]:
        """The changes of its server's requests since the last call."""
        return self._policy.notices() if isinstance(self._policy, ServedPolicy) else ()

    async def review(self, proposal: Proposal, charges: list[Charge]) -> str:
        """The review of the proposal's parent. Empty if the critic refuses.

        Args:
            proposal: whose parent.
            charges: receives the cost, also of a cancelled call.

        Raises:
            PolicyUnavailable, PolicyDenied: it cannot be asked at present. The text names it.
            PolicyRefused: it always refuses, as far as known.
        """
        written = ""
        try:
            async with self._room(), aclosing(self._policy.propose(_asked(proposal))) as replies:
                async for reply in replies:
                    if isinstance(reply, CompletedReply):
                        charges.append(self._charge(reply))
                        written = reply.completions[0] if reply.completions else ""
        except PolicyRefused as error:
            return self._refuse(error)
        except (PolicyUnavailable, PolicyDenied) as error:
            raise named(self.name, error) from error
        reasoning = ReasoningFilter()
        review = (reasoning.feed(written) + reasoning.close()).strip()
        if not review:
            return self._refuse(PolicyRefused("it wrote nothing"))
        self._refused, self._reviewed = 0, True
        return review

    def _refuse(self, error: PolicyRefused) -> str:
        """Handle a missing review. A run without any review must not pass for a run with a critic."""
        self._refused += 1
        if self._refused >= (REFUSALS_IN_A_ROW if self._reviewed else REFUSALS_AT_FIRST):
            raise PolicyRefused(f"the critic {self.name} refuses every review: {error}") from error
        return ""

    @asynccontextmanager
    async def _room(self) -> AsyncIterator[None]:
        while self._calls >= self._policy.concurrency:
            self._ended.clear()
            await self._ended.wait()
        self._calls += 1
        try:
            yield
        finally:
            self._calls -= 1
            self._ended.set()

    def _charge(self, completed: CompletedReply) -> Charge:
        return Charge(
            policy=self.name,
            purpose=PURPOSE,
            usage=completed.usage,
            cost=completed.cost,
            seconds=completed.seconds,
        )


@dataclass(slots=True)
class _Review:
    """A critic's review of a proposal's parent (None: not yet), and its payment."""

    text: str | None = None
    charges: list[Charge] = field(default_factory=list)


class ReviewedPolicy:
    """An author with a critic, as a single policy, see `evolve.ports.Policy`.

    A review is requested once. It is kept while its author cannot be asked.
    """

    def __init__(self, author: Policy, critic: Critic) -> None:
        self._author, self._critic = author, critic
        self._kept: dict[str, _Review] = {}

    @property
    def name(self) -> str:
        """The author's name."""
        return self._author.name

    @property
    def answers(self) -> int:
        """m: answers per chain."""
        return self._author.answers

    @property
    def samples(self) -> int:
        """n: chains per proposal."""
        return self._author.samples

    @property
    def forms(self) -> Sequence[ReplyForm]:
        """The forms that the author may be asked in."""
        return self._author.forms if isinstance(self._author, AdaptivePolicy) else ()

    @property
    def writes_prompts(self) -> bool:
        """Whether the author does."""
        return isinstance(self._author, PromptedPolicy) and self._author.writes_prompts

    @property
    def concurrency(self) -> int:
        """Proposals it answers at once with profit, those that are being reviewed among them."""
        return self._author.concurrency

    @property
    def heard(self) -> int:
        """Grows with every event from the author's server."""
        return self._author.heard if isinstance(self._author, ServedPolicy) else 0

    def notices(self) -> Sequence[AdaptedPolicy]:
        """The changes of the author's and the critic's requests since the last call."""
        own = self._author.notices() if isinstance(self._author, ServedPolicy) else ()
        return (*own, *self._critic.notices())

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Get a review of the parent, and answer the proposal with the review in the prompt.

        Without a review, the author answers alone, unless the critic always refuses.

        Raises:
            PolicyError: no answer came from the critic or from the author.
        """
        review, ended = self._kept.pop(proposal.id, None) or _Review(), False
        try:
            if review.text is None and proposal.prompt_trials:
                review.text = ""  # a prompt is written of the pool alone
            if review.text is None:
                review.text = await self._critic.review(proposal, review.charges)
            async with aclosing(self._author.propose(replace(proposal, review=review.text))) as replies:
                async for reply in replies:
                    if isinstance(reply, CompletedReply):
                        ended = True
                        yield replace(reply, charges=(*review.charges, *reply.charges))
                    else:
                        yield reply
        except (PolicyError, asyncio.CancelledError) as error:
            if isinstance(error, PolicyUnavailable | PolicyDenied):
                self._keep(proposal, review)
            if review.charges and not ended:
                yield CompletedReply(completions=(), cost=FREE, charges=tuple(review.charges))
            raise

    def _keep(self, proposal: Proposal, review: _Review) -> None:
        self._kept[proposal.id] = review
        while len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]


def reviewed(member: EnsembleMember, critic: Critic | None) -> EnsembleMember:
    """A member of a run with a critic. Unchanged if there is none.

    Raises:
        ConfigurationError: their prices have different currencies.
    """
    if critic is None:
        return member
    currency = shared_currency((member.currency, critic.currency))
    return replace(member, policy=ReviewedPolicy(member.policy, critic), currency=currency)


def named(name: str, error: PolicyUnavailable | PolicyDenied, role: str = "critic") -> PolicyUnavailable | PolicyDenied:
    """The error of a policy that is not an author, with its name."""
    text = f"the {role} {name} cannot be asked: {error}"
    if isinstance(error, PolicyUnavailable):
        return PolicyUnavailable(text, error.retry_after_seconds)
    return PolicyDenied(text)


def _asked(proposal: Proposal) -> Proposal:
    """A proposal for a critic: for a single text, with a seed of its own."""
    seed = int(np.random.default_rng([proposal.seed, _STREAM]).integers(2**31))
    return replace(proposal, answers=1, samples=1, limit=1, seed=seed)
