"""What a run will cost, before it starts: calls, tokens, money and time, as far as they can be known."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from service.policy_settings.kind_traits import WITHOUT_MODEL
from service.policy_settings.price_table import find_model
from service.policy_settings.settings import PolicySettings
from service.usecases.plan import RunPlan

DEFAULT_EVALUATIONS = 200
# Of a prompt: the instructions, and the parent with two inspirations; of an answer: a program and some words on it.
INSTRUCTION_TOKENS, PROGRAMS_IN_PROMPT, ANSWER_TOKENS = 800, 3, 200
CHARACTERS_OF_A_TOKEN = 4
FREE_KINDS = frozenset({*WITHOUT_MODEL, "bundled"})
# Above any of these a person is asked first.
MAX_SECONDS, MAX_TOKENS, MAX_MONEY = 3600.0, 1_000_000, Decimal(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CostEstimate:
    """What a run will cost.

    Attributes:
        calls: of models; 0: the policy needs none.
        tokens: of their prompts and answers.
        money: None: a price is not known.
        seconds: of the evaluations.
    """

    evaluations: int
    calls: int
    tokens: int
    money: Decimal | None
    currency: str
    seconds: float

    @property
    def large(self) -> bool:
        """Whether a person should agree first."""
        return self.seconds > MAX_SECONDS or self.tokens > MAX_TOKENS or (self.money or Decimal(0)) > MAX_MONEY


def estimate_cost(plan: RunPlan, seconds: float) -> CostEstimate:
    """Estimate a run.

    Args:
        plan: the run.
        seconds: that one evaluation of the seed takes.
    """
    evaluations = plan.config.budget.evaluations or DEFAULT_EVALUATIONS
    cores = len(os.sched_getaffinity(0))
    slots = min(plan.config.concurrency.evaluations or cores, cores)
    spec = plan.problem.evaluator
    whole = seconds * (spec.warmups + spec.repeats) * math.ceil(evaluations / slots)
    limit = plan.config.budget.wall_seconds
    models = [policy for policy in plan.policies if policy.kind not in FREE_KINDS]
    size = max(sum(len(text) for _, text in seed.files) for seed in plan.problem.seeds) // CHARACTERS_OF_A_TOKEN
    calls, tokens, money = _model_cost(models, evaluations, len(plan.policies), size)
    currencies = {policy.price.currency for policy in models if policy.price}
    return CostEstimate(
        evaluations=evaluations,
        calls=calls,
        tokens=tokens,
        money=money,
        currency=next(iter(currencies), "USD"),
        seconds=min(whole, limit) if limit else whole,
    )


def _model_cost(
    models: Sequence[PolicySettings], evaluations: int, policies: int, size: int
) -> tuple[int, int, Decimal | None]:
    calls, tokens = 0, 0
    money: Decimal | None = Decimal(0)
    for policy in models:
        own = math.ceil(evaluations / max(1, policies) / max(1, policy.answers * policy.samples))
        given = own * (INSTRUCTION_TOKENS + PROGRAMS_IN_PROMPT * size)
        written = own * policy.answers * policy.samples * (size + ANSWER_TOKENS)
        calls, tokens = calls + own, tokens + given + written
        price = policy.price or find_model(policy.model or "").price
        known = None if price is None else (given * Decimal(str(price.input)) + written * Decimal(str(price.output)))
        money = None if money is None or known is None else money + known / 1_000_000
    return calls, tokens, money
