"""The common options of requests to all models: limits of the reply, and text without control tokens."""

from dataclasses import replace
from typing import Protocol

from evolve.prompt.control_tokens import guard
from evolve.proposal import Prompt, Proposal
from service.policy.openai_protocol import clean
from service.policy.tokens import Count


class PromptBuilder(Protocol):
    """Builds the prompt of a proposal for a policy's format, within a number of tokens, as pure code."""

    def __call__(self, proposal: Proposal, *, count: Count, context_tokens: int) -> Prompt:
        """Build it. `count` returns the tokens of a text, and `context_tokens` is the limit of the whole.

        Raises:
            PolicyRefused: the parent does not fit.
        """


def fitted(proposal: Proposal, temperature: float) -> Proposal:
    """The proposal with no more chains and answers than may come back."""
    answers = max(1, min(proposal.answers, proposal.limit))
    chains = min(proposal.samples, -(-proposal.limit // answers))
    # Without temperature every chain would be the same, and vLLM refuses to write more than one.
    return replace(proposal, answers=answers, samples=max(1, chains) if temperature else 1)


def sendable(text: str) -> str:
    """Text that JSON carries, and without control tokens. Feedback may hold halves of characters."""
    return guard(clean(text))
