"""The critic of a run: it reviews each parent before an author writes."""

from dataclasses import replace

import numpy as np

from evolve.proposal import Proposal
from service.policy.advised import AdvisingModel

_STREAM = 1  # apart from the author's own sampling


class Critic(AdvisingModel):
    """Reviews parents, see `AdvisingModel`."""

    role, purpose, spoken = "critic", "review", "review"

    def asked(self, proposal: Proposal) -> Proposal:
        """The proposal for a single text."""
        seed = int(np.random.default_rng([proposal.seed, _STREAM]).integers(2**31))
        return replace(proposal, answers=1, samples=1, limit=1, seed=seed)

    def shown(self, proposal: Proposal, text: str) -> Proposal:
        """The proposal with the review."""
        return replace(proposal, review=text)
