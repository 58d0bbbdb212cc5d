"""The advisor of a run: before an author writes, it proposes ideas for the parent, one for each answer.

Source: PACEvolve++ (arXiv 2605.07039), where a small model that is trained proposes, and a larger one writes.
"""

from dataclasses import replace

import numpy as np

from evolve.prompt import read_ideas
from evolve.proposal import Proposal
from service.policy.advised import AdvisingModel

_STREAM = 2  # apart from the author's own sampling, and the critic's


class Advisor(AdvisingModel):
    """Proposes ideas as a set in a single completion, see `AdvisingModel`."""

    role, purpose, spoken = "advisor", "ideas", "request for ideas"

    def asked(self, proposal: Proposal) -> Proposal:
        """The proposal for a single text, with as many ideas in it as answers are asked of one chain."""
        seed = int(np.random.default_rng([proposal.seed, _STREAM]).integers(2**31))
        return replace(proposal, samples=1, answers=_count(proposal), limit=_count(proposal), seed=seed)

    def shown(self, proposal: Proposal, text: str) -> Proposal:
        """The proposal with the ideas."""
        return replace(proposal, ideas=read_ideas(text, _count(proposal)))


def _count(proposal: Proposal) -> int:
    """How many ideas: those that an author can still realise."""
    return max(1, min(proposal.answers, proposal.limit))
