"""The terms under which tasks are handed out."""

from dataclasses import dataclass

from evolve.evaluation import Evaluation, Outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSettings:
    """What every submitter and worker of one queue agrees on.

    Attributes:
        lease_seconds: how long a task stays with a worker that says nothing.
        deliveries: how often a task is handed out before it goes to the dead letters.
        beat_seconds: how long a worker that says nothing counts as living.
        result_seconds: how long results wait for a submitter that does not ask.
        bundle_seconds: how long a problem's folder stays after its last use.
        claim_seconds: how long a submitter that says nothing keeps its share of the slots.
        forget_seconds: how long a consumer without tasks stays in the group that nobody has heard of.
    """

    lease_seconds: float = 6.0
    deliveries: int = 3
    beat_seconds: float = 8.0
    result_seconds: float = 3600.0
    bundle_seconds: float = 86400.0
    claim_seconds: float = 5.0
    forget_seconds: float = 60.0

    @property
    def given_up(self) -> Evaluation:
        """What a task is answered with that goes to the dead letters."""
        reason = f"it was handed out {self.deliveries} times, and each time its worker went silent"
        return Evaluation(outcome=Outcome.LOST, reason=reason)
