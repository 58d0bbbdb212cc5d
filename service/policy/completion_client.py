"""Asks the policy of any kind for completions to a prompt of one's own, with the retries and limits of a run."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

from evolve.credit.operators import MUTATE
from evolve.errors import PolicyRefused
from evolve.evaluation import Evaluation, Outcome
from evolve.extensions import Extensions
from evolve.policies import open_policy
from evolve.ports import Policy
from evolve.problem import EvaluatorSpec, Problem
from evolve.program import Program
from evolve.prompt.control_tokens import restore
from evolve.proposal import CompletedReply, Individual, Message, Prompt, Proposal
from service.policy.access import PolicyAccess
from service.policy.kinds import ServicePolicyContext
from service.policy.tokens import estimate_tokens
from service.policy_settings.settings import PolicySettings

_PROGRAM = Program.of({"answer.txt": ""})
_PROBLEM = Problem(name="completions", language="text", seeds=(_PROGRAM,), evaluator=EvaluatorSpec(text=True))
_PARENT = Individual(candidate_id="", program=_PROGRAM, evaluation=Evaluation(outcome=Outcome.OK), measures={})


class CompletionClient:
    """Completes prompts with a policy, as many at once as the policy answers with profit.

    Args:
        policy: checked.
    """

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._in_flight = 0
        self._free = asyncio.Condition()

    async def complete(self, prompt: str, count: int, seed: int) -> CompletedReply:
        """Ask for so many completions of a prompt. Reasoning stands before their text, in `<think>` tags.

        Raises:
            PolicyError: none came, after the repetitions that a run makes too.
        """
        proposal = Proposal(
            id=f"completion-{seed}", number=1, island=0, operator=MUTATE, parent=_PARENT, request=prompt, samples=count,
            limit=count, seed=seed,
        )  # fmt: skip
        async with self._free:
            await self._free.wait_for(lambda: self._in_flight < self._policy.concurrency)
            self._in_flight += 1
        try:
            return await self._last_reply(proposal)
        finally:
            async with self._free:
                self._in_flight -= 1
                self._free.notify_all()

    async def _last_reply(self, proposal: Proposal) -> CompletedReply:
        found: CompletedReply | None = None
        async with aclosing(self._policy.propose(proposal)) as replies:
            async for reply in replies:
                if isinstance(reply, CompletedReply):
                    found = reply
        if found is None:
            raise PolicyRefused(f"{self._policy.name} ended without a reply.")
        thoughts = found.reasoning or ("",) * len(found.completions)
        texts = zip(thoughts, map(restore, found.completions), strict=True)
        return replace(
            found, completions=tuple(f"<think>{said}</think>\n{text}" if said else text for said, text in texts)
        )


@asynccontextmanager
async def open_completions(settings: PolicySettings) -> AsyncIterator[CompletionClient]:
    """A client of a policy of the user's own, which is asked first whether it can answer.

    Args:
        settings: of the policy. Those of its answers do not act: a completion is a single text.

    Raises:
        PolicyUnavailable, PolicyDenied: it cannot be reached, refuses the key, or does not offer the model.
        UsageError: the key that is named is not there.
    """
    single = settings.model_copy(update={"format": "single", "answers": 1, "edits": "rewrite"})
    access = PolicyAccess(policy=single, key=single.read_key())
    context = ServicePolicyContext(
        name=single.name,
        problem=_PROBLEM,
        settings=single.describe(),
        build_prompt=_as_asked(single.context_tokens),
        key=None if access.key is None else access.key.get_secret_value(),
        cost=single.cost,
        policy=single,
    )
    policy: Any = open_policy(single.kind, context, Extensions())
    try:
        if hasattr(policy, "check"):
            await policy.check()
        yield CompletionClient(policy)
    finally:
        if hasattr(policy, "close"):
            await policy.close()


def _as_asked(context: int) -> Callable[..., Prompt]:
    """Builds the prompt that a proposal carries, word for word."""

    def build(
        proposal: Proposal, *, count: Callable[[str], int] = estimate_tokens, context_tokens: int = context
    ) -> Prompt:
        tokens = count(proposal.request)
        if tokens > context_tokens:
            raise PolicyRefused(f"The prompt has {tokens} tokens, and the model has room for {context_tokens}.")
        return Prompt(messages=(Message(role="user", parts=(proposal.request,)),), tokens=tokens)

    return build
