"""A policy, checked: its server, what that accepts, and how much of what it writes can be used."""

import tempfile
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from evolve.ports import AdaptedPolicy, AdaptivePolicy, Evaluator, Policy, ServedPolicy
from evolve.problem import Problem
from evolve.search.format_yield import FormatYield, measure_format_yield
from service.errors import UsageError
from service.policy_settings.forms import open_forms
from service.policy_settings.kind_traits import WITHOUT_MODEL, traits_of
from service.policy_settings.recommendation import best_yield, next_form, sized
from service.policy_settings.settings import AGENT, PolicySettings
from service.ports import EvaluatorFactory, EvaluatorRequest, ModelDescription
from service.problems.init import init_problem
from service.timestamps import SystemClock
from service.usecases.plan import PolicyFactory, RunOrder, RunPlan, plan_new

SLOTS = 2
LIMIT_SECONDS = 90.0  # for each form
# Tried where no answer at the default of 1 is of use: small models write nonsense there.
LOW_TEMPERATURE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyReport:
    """What was found out about a policy.

    Attributes:
        settings: as it was tried.
        model: that answers; empty: it has no name of its own.
        context_tokens: of the model.
        tells_context: whether the server told it, rather than the settings.
        counts_tokens: whether the server counts tokens of a text.
        streams: whether replies came in pieces.
        adapted: how requests are written differently from now on, and why.
        yields: what each form brought, in the order tried.
    """

    settings: PolicySettings
    model: str = ""
    context_tokens: int = 0
    tells_context: bool = False
    counts_tokens: bool = False
    streams: bool = False
    adapted: tuple[AdaptedPolicy, ...] = ()
    yields: tuple[FormatYield, ...] = ()

    @property
    def usable(self) -> bool:
        """Whether a run with this policy would have children."""
        return any(found.valid for found in self.yields)

    @property
    def best(self) -> FormatYield | None:
        """The form that brought most for its tokens; None: nothing was tried."""
        return best_yield(self.yields) if self.yields else None


async def check_policies(
    order: RunOrder,
    policies: PolicyFactory,
    evaluators: EvaluatorFactory,
    trying: Callable[[PolicySettings, str], None],
) -> list[PolicyReport]:
    """Check each author among the policies of an order: up to three proposals each.

    Where none of the answers is of use at the default temperature, they are made again at a lower one.

    Args:
        order: names the policies; without a problem a small one of our own is used.
        policies: opens them.
        evaluators: score the answers.
        trying: called with the policy and the form before each proposal.

    Raises:
        PolicyUnavailable, PolicyDenied: a server cannot be reached, refuses the key or does not know the model.
        UsageError: no model is named.
        InvalidProblemError, ProblemError, RefusedError: the problem cannot be used.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = order.problem
        if folder is None:
            folder = Path(place) / "sample"
            init_problem(folder, "policy check")
        plan = plan_new(order, folder, SystemClock().now())
    authors = [policy for policy in plan.policies if policy.role == "author"]
    if all(author.kind in WITHOUT_MODEL for author in authors):
        spoken = traits_of(authors[0].kind).spoken
        raise UsageError(f"{spoken} asks no model: name one with --policy, such as http://localhost:8000/v1")
    request = EvaluatorRequest(problem=plan.problem, bundle=plan.bundle, source=plan.source, slots=SLOTS)
    async with evaluators.open(request) as opened:
        models = [author for author in authors if author.kind not in WITHOUT_MODEL]
        return [await _check_author(policies, plan, author, opened.evaluator, trying) for author in models]


async def _check_author(
    policies: PolicyFactory,
    plan: RunPlan,
    author: PolicySettings,
    evaluator: Evaluator,
    trying: Callable[[PolicySettings, str], None],
) -> PolicyReport:
    report = await _check(policies, plan, author, evaluator, trying)
    if report.usable or "temperature" in author.model_fields_set or author.kind in {"bundled", AGENT}:
        return report
    cooler = author.model_copy(update={"temperature": LOW_TEMPERATURE})
    again = await _check(policies, plan, cooler, evaluator, trying)
    return again if again.usable else report


async def _check(
    policies: PolicyFactory,
    plan: RunPlan,
    author: PolicySettings,
    evaluator: Evaluator,
    trying: Callable[[PolicySettings, str], None],
) -> PolicyReport:
    async with AsyncExitStack() as stack:
        asked = await stack.enter_async_context(policies.open(replace(plan, policies=(author,))))
        policy = asked.members[0].policy
        report, heard = _described(author, asked.models.get(policy.name)), _heard(policy)
        yields = await _yields(plan.problem, author, policy, evaluator, trying)
        requests = sum(found.completed.attempts for found in yields if found.completed)
        adapted = tuple(policy.notices()) if isinstance(policy, ServedPolicy) else ()
        return replace(report, adapted=adapted, yields=yields, streams=_heard(policy) - heard > 2 * requests > 0)


def _described(author: PolicySettings, found: ModelDescription | None) -> PolicyReport:
    if found is None:
        return PolicyReport(settings=author, model=author.model, context_tokens=author.context_tokens)
    return PolicyReport(
        settings=author,
        model=found.model,
        context_tokens=found.context_tokens,
        tells_context=found.tells_context,
        counts_tokens=found.counts_tokens,
    )


def _heard(policy: Policy) -> int:
    return policy.heard if isinstance(policy, ServedPolicy) else 0


async def _yields(
    problem: Problem,
    author: PolicySettings,
    policy: Policy,
    evaluator: Evaluator,
    trying: Callable[[PolicySettings, str], None],
) -> tuple[FormatYield, ...]:
    tried: list[FormatYield] = []
    forms = policy.forms if isinstance(policy, AdaptivePolicy) else open_forms(author)
    while (form := next_form(forms, tried)) is not None:
        trying(author, f"{form.edits}, {form.answers} in a completion, temperature {author.temperature:g}")
        measured = await measure_format_yield(
            problem, policy, sized(form), evaluator, seed=len(tried), limit_seconds=LIMIT_SECONDS
        )
        tried.append(measured)
    return tuple(tried)


def all_usable(reports: Sequence[PolicyReport]) -> bool:
    """Whether a run could use each of the policies."""
    return all(report.usable for report in reports)
