"""The analyst of a run: a policy behind a server that writes insights from the facts of the record."""

from collections.abc import Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field

from evolve.answers.reasoning import ReasoningFilter
from evolve.errors import PolicyRefused
from evolve.ports import Policy
from evolve.problem import Problem
from evolve.prompt import AnalystRequest, build_insights_prompt
from evolve.proposal import Charge, CompletedReply, Prompt, Proposal
from evolve.search.insights import MAX_INSIGHTS_CHARACTERS, PURPOSE
from service.policy.tokens import estimate_tokens


@dataclass(slots=True)
class AnalystPrompts:
    """Builds the prompts of an analyst, of one request at a time."""

    problem: Problem
    templates: Mapping[str, str]
    request: AnalystRequest = field(default_factory=lambda: AnalystRequest(facts=""))

    def __call__(
        self, proposal: Proposal, *, count: Callable[[str], int] = estimate_tokens, context_tokens: int
    ) -> Prompt:
        """The prompt of the request; the proposal adds nothing to it."""
        del proposal
        return build_insights_prompt(self.problem, self.templates, self.request, context_tokens, count)


class ServedAnalyst:
    """Writes insights, see `service.ports.Analyst`.

    Args:
        policy: writes a single text, its whole completion.
        prompts: build its prompts.
    """

    def __init__(self, policy: Policy, prompts: AnalystPrompts) -> None:
        self._policy, self._prompts = policy, prompts

    @property
    def name(self) -> str:
        """Its name in records and statistics."""
        return self._policy.name

    async def write(self, request: AnalystRequest, proposal: Proposal, charges: list[Charge]) -> str:
        """The insights as the analyst wrote them, bounded and in plain characters.

        Args:
            request: what it is told.
            proposal: seeds its sampling.
            charges: receives the cost, also of a call that failed.

        Raises:
            PolicyError: it wrote nothing.
        """
        self._prompts.request, written = request, ""
        async with aclosing(self._policy.propose(proposal)) as replies:
            async for reply in replies:
                if isinstance(reply, CompletedReply):
                    charges.append(self._charge(reply))
                    written = reply.completions[0] if reply.completions else ""
        reasoning = ReasoningFilter()
        text = _bounded(reasoning.feed(written) + reasoning.close())
        if not text:
            raise PolicyRefused("it wrote nothing")
        return text

    def _charge(self, completed: CompletedReply) -> Charge:
        return Charge(
            policy=self.name, purpose=PURPOSE, usage=completed.usage, cost=completed.cost, seconds=completed.seconds
        )


def _bounded(text: str) -> str:
    """Text of a model without control and format characters, and no longer than insights may be."""
    plain = "".join(sign if sign.isprintable() or sign == "\n" else " " for sign in text[: 4 * MAX_INSIGHTS_CHARACTERS])
    return "\n".join(line.rstrip() for line in plain.splitlines()).strip()[:MAX_INSIGHTS_CHARACTERS]
