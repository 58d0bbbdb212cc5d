"""Ensemble: the policies of a run, and which of them answers a proposal."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from evolve.configuration import BudgetConfig, RunConfig
from evolve.credit.policy_credit import ANSWERS, MONEY, TOKENS, PolicyCredit
from evolve.errors import ConfigurationError
from evolve.money import shared_currency
from evolve.ports import AdaptivePolicy, Policy, PromptedPolicy, TuningPolicy
from evolve.reply_form import ReplyForm, allowed_forms
from evolve.search.learning import Learning
from evolve.selection import briefly

_STREAM = 1  # apart from that of the plan of the same proposal


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRequest:
    """How a search asks a policy: its name, m answers in each of n chains.

    Attributes:
        weight: how often it is asked, in proportion to those of the other policies of the run.
        currency: of the policy's price; empty: it costs nothing; None: what it costs is not known.
        forms: that it may be asked in; empty: it has a way of its own, with these m and n.
        escalate_after: evaluations without a better best after which it is drawn; 0: it always is.
        tunes: whether it tunes numbers.
        writes_prompts: whether it reads the prompts of a pool, and writes some.
    """

    policy: str
    answers: int = 1
    samples: int = 1
    weight: float = 1.0
    currency: str | None = None
    forms: tuple[ReplyForm, ...] = ()
    escalate_after: int = 0
    tunes: bool = False
    writes_prompts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EnsembleMember:
    """One of the policies of a run; `weight`, `currency` and `escalate_after` are as in `PolicyRequest`."""

    policy: Policy
    weight: float = 1.0
    currency: str | None = None
    escalate_after: int = 0

    @property
    def policy_request(self) -> PolicyRequest:
        """How a search asks it."""
        policy = self.policy
        return PolicyRequest(
            policy=policy.name,
            answers=policy.answers,
            samples=policy.samples,
            weight=self.weight,
            currency=self.currency,
            forms=tuple(policy.forms) if isinstance(policy, AdaptivePolicy) else (),
            escalate_after=self.escalate_after,
            tunes=isinstance(policy, TuningPolicy) and policy.tunes,
            writes_prompts=isinstance(policy, PromptedPolicy) and policy.writes_prompts,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnPolicy:
    """The policy of a proposal.

    Attributes:
        rationale: what decided where there were several: the probability, or the parts of the bound.
    """

    policy_request: PolicyRequest
    rationale: Mapping[str, float | None] = field(default_factory=dict)


class Ensemble:
    """Chooses the policy of each proposal.

    Attributes:
        forms: in how many forms each policy may be asked, by name.
        currency: that of their prices together; empty: they cost nothing; None: what they cost is not known.

    Args:
        policy_requests: how each is asked.
        config: of the run.
        policy_credit: what they bring and cost, kept up by whoever folds the events.
        changed: weights by name that hold in place of their own, kept up likewise; 0: the policy is not asked.
        learning: tells the versions of a policy that the run trained, kept up likewise. They are asked as that is.

    Raises:
        ConfigurationError: there is none, two have one name, or their prices are in different currencies.
    """

    def __init__(
        self,
        policy_requests: Sequence[PolicyRequest],
        config: RunConfig,
        policy_credit: PolicyCredit,
        changed: Mapping[str, float] = MappingProxyType({}),
        learning: Learning | None = None,
    ) -> None:
        names = [policy_request.policy for policy_request in policy_requests]
        if not names:
            raise ConfigurationError("a run needs a policy: name one")
        for name in names:
            if names.count(name) > 1:
                raise ConfigurationError(f"two policies of the run are called {name}: give each its own name")
        self.currency = shared_currency(policy_request.currency for policy_request in policy_requests)
        self._askings = [
            replace(policy_request, forms=allowed_forms(policy_request.forms, config.answers, config.samples))
            for policy_request in policy_requests
        ]
        self.forms = {policy_request.policy: len(policy_request.forms) for policy_request in self._askings}
        self._seed = config.seed
        self._changed = changed
        self._learning = learning
        adaptive = config.policy_choice == "adaptive" or config.learning.every > 0
        self._policy_credit = policy_credit if adaptive else None
        self._counted = _counted(config.budget, priced=bool(self.currency))

    @property
    def weights(self) -> dict[str, float]:
        """How often each policy is asked, in proportion, by name."""
        return {one.policy: self._changed.get(one.policy, one.weight) for one in self._requests}

    @property
    def _requests(self) -> list[PolicyRequest]:
        """Those of the run, and of the versions that it trained."""
        if self._learning is None or not self._learning.asked:
            return self._askings
        started = {one.policy: one for one in self._askings}
        return [*self._askings, *(replace(started[one.start], policy=one.policy) for one in self._learning.asked)]

    def draw(self, number: int, away: Collection[str] = (), since_best: int = 0) -> DrawnPolicy | None:
        """The policy of the proposal `number`; the same for the same number, state and policies that are away.

        By weight it is drawn; an adaptive choice draws nothing, and follows from what was told.

        Args:
            number: of the proposal.
            away: names of those that are not to be drawn; None is drawn where these are all.
            since_best: evaluations since the best of the run was found. One that is to be drawn only after more of
                them is left out, unless nobody else is present.
        """
        weighed = self.weights
        there = [one for one in self._requests if one.policy not in away and weighed[one.policy] > 0]
        present = [policy_request for policy_request in there if since_best >= policy_request.escalate_after] or there
        if len(present) < 2:
            return DrawnPolicy(policy_request=present[0]) if present else None
        weights = [weighed[policy_request.policy] for policy_request in present]
        if self._policy_credit is not None:
            names = [policy_request.policy for policy_request in present]
            place, rationale = self._policy_credit.best_buy(names, weights, self._counted)
            return DrawnPolicy(policy_request=present[place], rationale=briefly(rationale))
        rng = np.random.default_rng([self._seed, number, _STREAM])
        shares = np.array(weights) / math.fsum(weights)
        place = int(rng.choice(len(present), p=shares))
        return DrawnPolicy(policy_request=present[place], rationale=briefly({"probability": float(shares[place])}))


def _counted(budget: BudgetConfig, *, priced: bool) -> list[str]:
    """What a proposal costs an adaptive choice: what the budget limits, and money where policies have prices."""
    limited = budget.evaluations is not None or budget.answers is not None
    counted = [ANSWERS] if limited else []
    if priced:
        return [*counted, MONEY]
    return [*counted, TOKENS] if budget.tokens is not None or not limited else counted
