"""An advised policy: its author gets, with each proposal, what another model says of the parent."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import ClassVar

from evolve.answers.reasoning import ReasoningFilter
from evolve.errors import PolicyDenied, PolicyError, PolicyRefused, PolicyUnavailable
from evolve.money import FREE, shared_currency
from evolve.ports import AdaptedPolicy, AdaptivePolicy, Policy, PromptedPolicy, ServedPolicy
from evolve.proposal import Charge, CompletedReply, Proposal, Reply
from evolve.reply_form import ReplyForm
from evolve.search.ensemble import EnsembleMember

# A model that refuses so often in a row, or so often before it wrote anything, is taken to refuse always.
REFUSALS_IN_A_ROW = 20
REFUSALS_AT_FIRST = 5
MAX_KEPT = 1024  # pieces of advice whose authors could not be asked, and may never be for them


class AdvisingModel(ABC):
    """Says something of parents to all authors of a run, within the concurrency of its policy.

    Args:
        policy: writes a single answer to its prompt, its whole completion.
        currency: of its price, as in `EnsembleMember`.

    Attributes:
        role: as policies name it.
        purpose: of its charges.
        spoken: one piece of its advice, as a sentence names it.
    """

    role: ClassVar[str]
    purpose: ClassVar[str]
    spoken: ClassVar[str]

    def __init__(self, policy: Policy, currency: str | None = None) -> None:
        self.currency = currency
        self._policy = policy
        self._calls = 0
        self._refused = 0
        self._advised = False
        self._ended = asyncio.Event()

    @property
    def name(self) -> str:
        """Its name in records and statistics."""
        return self._policy.name

    def notices(self) -> Sequence[AdaptedPolicy]:
        """The changes of its server's requests since the last call."""
        return self._policy.notices() if isinstance(self._policy, ServedPolicy) else ()

    @abstractmethod
    def asked(self, proposal: Proposal) -> Proposal:
        """A proposal as it is put to this model: for a single text, with a seed of its own."""

    @abstractmethod
    def shown(self, proposal: Proposal, text: str) -> Proposal:
        """A proposal with what this model wrote, for its author; empty: it wrote nothing."""

    async def advise(self, proposal: Proposal, charges: list[Charge]) -> str:
        """What the model says of the proposal's parent. Empty if it refuses.

        Args:
            proposal: whose parent.
            charges: receives the cost, also of a cancelled call.

        Raises:
            PolicyUnavailable, PolicyDenied: it cannot be asked at present. The text names it.
            PolicyRefused: it always refuses, as far as known.
        """
        written = ""
        try:
            async with self._room(), aclosing(self._policy.propose(self.asked(proposal))) as replies:
                async for reply in replies:
                    if isinstance(reply, CompletedReply):
                        charges.append(self._charge(reply))
                        written = reply.completions[0] if reply.completions else ""
        except PolicyRefused as error:
            return self._refuse(error)
        except (PolicyUnavailable, PolicyDenied) as error:
            raise named(self.name, error, self.role) from error
        reasoning = ReasoningFilter()
        advice = (reasoning.feed(written) + reasoning.close()).strip()
        if not advice:
            return self._refuse(PolicyRefused("it wrote nothing"))
        self._refused, self._advised = 0, True
        return advice

    def _refuse(self, error: PolicyRefused) -> str:
        """Handle missing advice. A run without any must not pass for a run with it."""
        self._refused += 1
        if self._refused >= (REFUSALS_IN_A_ROW if self._advised else REFUSALS_AT_FIRST):
            raise PolicyRefused(f"the {self.role} {self.name} refuses every {self.spoken}: {error}") from error
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
            purpose=self.purpose,
            usage=completed.usage,
            cost=completed.cost,
            seconds=completed.seconds,
        )


@dataclass(slots=True)
class _Advice:
    """What a model said of a proposal's parent (None: not asked yet), and its payment."""

    text: str | None = None
    charges: list[Charge] = field(default_factory=list)


class AdvisedPolicy:
    """An author with a model that advises it, as a single policy, see `evolve.ports.Policy`.

    Advice is requested once. It is kept while its author cannot be asked.
    """

    def __init__(self, author: Policy, model: AdvisingModel) -> None:
        self._author, self._model = author, model
        self._kept: dict[str, _Advice] = {}

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
        """Proposals it answers at once with profit, those that wait for advice among them."""
        return self._author.concurrency

    @property
    def heard(self) -> int:
        """Grows with every event from the author's server."""
        return self._author.heard if isinstance(self._author, ServedPolicy) else 0

    def notices(self) -> Sequence[AdaptedPolicy]:
        """The changes of the author's and the other model's requests since the last call."""
        own = self._author.notices() if isinstance(self._author, ServedPolicy) else ()
        return (*own, *self._model.notices())

    async def propose(self, proposal: Proposal) -> AsyncGenerator[Reply, None]:
        """Get advice about the parent, and answer the proposal with it in the prompt.

        Without advice, the author answers alone, unless the other model always refuses.

        Raises:
            PolicyError: no answer came from that model or from the author.
        """
        advice, ended = self._kept.pop(proposal.id, None) or _Advice(), False
        try:
            if advice.text is None and proposal.prompt_trials:
                advice.text = ""  # a prompt is written of the pool alone
            if advice.text is None:
                advice.text = await self._model.advise(proposal, advice.charges)
            async with aclosing(self._author.propose(self._model.shown(proposal, advice.text))) as replies:
                async for reply in replies:
                    if isinstance(reply, CompletedReply):
                        ended = True
                        yield replace(reply, charges=(*advice.charges, *reply.charges))
                    else:
                        yield reply
        except (PolicyError, asyncio.CancelledError) as error:
            if isinstance(error, PolicyUnavailable | PolicyDenied):
                self._keep(proposal, advice)
            if advice.charges and not ended:
                yield CompletedReply(completions=(), cost=FREE, charges=tuple(advice.charges))
            raise

    def _keep(self, proposal: Proposal, advice: _Advice) -> None:
        self._kept[proposal.id] = advice
        while len(self._kept) > MAX_KEPT:
            del self._kept[next(iter(self._kept))]


def advised(member: EnsembleMember, *models: AdvisingModel | None) -> EnsembleMember:
    """A member of a run with models that advise it: the last is asked first. Unchanged if there are none.

    Raises:
        ConfigurationError: their prices have different currencies.
    """
    for model in models:
        if model is not None:
            currency = shared_currency((member.currency, model.currency))
            member = replace(member, policy=AdvisedPolicy(member.policy, model), currency=currency)
    return member


def model_of(role: str, models: Sequence[AdvisingModel]) -> str:
    """The name of the model that has a role; empty: none has."""
    return next((model.name for model in models if model.role == role), "")


def named(name: str, error: PolicyUnavailable | PolicyDenied, role: str) -> PolicyUnavailable | PolicyDenied:
    """The error of a policy that is not an author, with its name."""
    text = f"the {role} {name} cannot be asked: {error}"
    if isinstance(error, PolicyUnavailable):
        return PolicyUnavailable(text, error.retry_after_seconds)
    return PolicyDenied(text)
