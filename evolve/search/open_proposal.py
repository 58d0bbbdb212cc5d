"""A proposal that awaits its policy, as the state of a search holds it."""

from collections import Counter
from dataclasses import dataclass, field

from evolve.event_types import ProposalCreated
from evolve.proposal import Proposal


@dataclass(slots=True, kw_only=True)
class OpenProposal:
    """A proposal that awaits its policy.

    Attributes:
        created: its event.
        proposal: None while a replay has not rebuilt it.
        taken: positions whose answers were taken.
        fresh: answers that became candidates to evaluate.
        recovered: how many answers made a program though they were not written as asked, by kind.
    """

    created: ProposalCreated
    proposal: Proposal | None = None
    taken: set[int] = field(default_factory=set)
    fresh: int = 0
    recovered: Counter[str] = field(default_factory=Counter)

    @property
    def outstanding(self) -> int:
        """Answers it may still bring."""
        return max(0, self.created.limit - len(self.taken))
