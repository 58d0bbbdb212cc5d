"""Format yield: how much of what a policy writes in one reply form can be used, measured on a single proposal."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from evolve.configuration import ConcurrencyConfig, RunConfig
from evolve.errors import PolicyRefused, ProblemError
from evolve.evaluation import Outcome
from evolve.event_types import CandidateCreated, CandidateDuplicate, CandidateRejected
from evolve.ports import Evaluator, Policy
from evolve.problem import Problem
from evolve.proposal import Candidate, CompletedReply, Proposal, Usage
from evolve.reply_form import ReplyForm
from evolve.search.ensemble import PolicyRequest
from evolve.search.form_credit import cost
from evolve.search.search import Search, SearchStep

DUPLICATE = "the program repeats its parent or another answer"


@dataclass(slots=True, kw_only=True)
class FormatYield:
    """What one proposal in one form brought.

    Attributes:
        form: in which the policy was asked.
        asked: answers asked for.
        parsed: answers that made a program.
        new: of these, programs that differ from their parent and from each other.
        valid: of these, programs that the evaluator scored.
        losses: why the other answers were lost, with how often.
        completed: the policy's last word; None where it refused.
        refusal: why the policy refused; empty: it answered.
    """

    form: ReplyForm
    asked: int
    parsed: int = 0
    new: int = 0
    valid: int = 0
    losses: Counter[str] = field(default_factory=Counter)
    completed: CompletedReply | None = None
    refusal: str = ""

    @property
    def tokens(self) -> Mapping[str, int]:
        """Tokens of the prompt, of these cached, and of what was written."""
        usage = self.completed.usage if self.completed else None
        if usage is None:
            return {"input": 0, "cached": 0, "output": 0}
        return {"input": usage.input, "cached": usage.cached, "output": usage.output}

    @property
    def valid_per_kilotoken(self) -> float:
        """Valid new programs for 1,000 output tokens; an input token that no cache held counts as a quarter of one."""
        return 1000 * self.valid / max(1.0, cost(self.completed.usage if self.completed else Usage()))


async def measure_format_yield(
    problem: Problem,
    policy: Policy,
    form: ReplyForm,
    evaluator: Evaluator,
    *,
    seed: int = 0,
    limit_seconds: float | None = None,
) -> FormatYield:
    """Ask a policy for one proposal about a problem's seed, and evaluate what it answers.

    Args:
        problem: whose seed is shown.
        policy: to ask.
        form: to ask in.
        evaluator: scores seed and answers.
        seed: of the proposal.
        limit_seconds: the policy is cut off then; what it wrote by then counts.

    Raises:
        PolicyUnavailable, PolicyDenied: the policy cannot be asked.
        ProblemError: no seed can be scored.
    """
    config = RunConfig(seed=seed, islands=1, concurrency=ConcurrencyConfig(policy=1))
    policy_request = PolicyRequest(policy=policy.name, answers=form.answers, samples=form.samples, forms=(form,))
    search = Search("run_policy_check", problem, config, policy_request)
    for candidate in search.start().candidates:
        search.tell(candidate.id, await evaluator.evaluate(candidate.program, candidate.id))
    proposals = search.ask().proposals
    if not proposals:
        reason = search.state.latest.evaluation.reason if search.state.latest else "there is no seed"
        raise ProblemError(f"no seed of the problem {problem.name} can be scored: {reason}")
    found = FormatYield(form=proposals[0].form or form, asked=proposals[0].limit)
    children = await _answers(search, policy, proposals[0], found, limit_seconds)
    evaluations = await asyncio.gather(*(evaluator.evaluate(child.program, child.id) for child in children))
    for evaluation in evaluations:
        if evaluation.outcome is Outcome.OK:
            found.valid += 1
        else:
            found.losses[evaluation.reason or str(evaluation.outcome)] += 1
    return found


async def _answers(
    search: Search, policy: Policy, proposal: Proposal, found: FormatYield, limit_seconds: float | None
) -> list[Candidate]:
    children: list[Candidate] = []
    try:
        async with asyncio.timeout(limit_seconds), aclosing(policy.propose(proposal)) as replies:
            async for reply in replies:
                if isinstance(reply, CompletedReply):
                    found.completed = reply
                    found.losses.update(drop.reason for drop in reply.dropped)
                else:
                    step = search.answer(proposal.number, reply)
                    _count(step, found)
                    children += step.candidates
    except PolicyRefused as error:
        found.refusal = str(error)
    except TimeoutError:
        found.losses[f"the completion had not ended after {limit_seconds:g} seconds"] += 1
    return children


def _count(step: SearchStep, found: FormatYield) -> None:
    for event in step.events:
        match event.data:
            case CandidateCreated():
                found.parsed += 1
            case CandidateDuplicate():
                found.losses[DUPLICATE] += 1
            case CandidateRejected(reason=reason):
                found.losses[reason] += 1
    found.new += len(step.candidates)
