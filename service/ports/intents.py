"""Intent: what people want of a run, written by front doors; and the claims by which runners take runs up."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from evolve.change_events import RequestedChange
from service.ports.log import nobody
from service.ports.values import RunRecord

RUNNING, PAUSED, CANCELLED = "running", "paused", "cancelled"
ENDED = frozenset({"succeeded", "failed", "cancelled"})
AT_WORK = frozenset({"running", "pausing", "cancelling"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """What people want of a run.

    Attributes:
        desired_state: running, paused or cancelled.
        budget: keys of the budget with the values that they shall have.
        changes: those that no search has made yet, the oldest first.
        by: who wanted it last.
    """

    desired_state: str = RUNNING
    budget: Mapping[str, Any] = field(default_factory=dict)
    changes: tuple[RequestedChange, ...] = ()
    by: str = ""


class RunIntents(Protocol):
    """What front doors write of one tenant's runs: intent, never state. Ids are whole ones."""

    def want(self, run_id: str, desired_state: str, by: str) -> RunRecord:
        """Want a run running, paused or cancelled; wanting the same again changes nothing.

        A run that no runner has begun is cancelled or paused by the next runner all the same: only runners write state.
        A run that its own process paused is a runner's only when somebody, by name, wants it.

        Raises:
            NotFoundError: no such run.
            ConflictError: it has ended, or is being cancelled, which nobody takes back; the text names its state. One
                that has failed may be wanted running, and is continued.
        """

    def extend(self, run_id: str, budget: Mapping[str, Any], by: str) -> RunRecord:
        """Want keys of the budget to have new values. A run that has succeeded or failed is continued with them.

        Then it is queued, and the next runner goes on with all that it had found.

        Raises:
            NotFoundError: no such run.
            ConflictError: it was cancelled, would end at once with that budget, or has used more than a new limit; the
                text says what to do.
        """

    def change(self, run_id: str, change: RequestedChange) -> RunRecord:
        """Want a change made by the search.

        Raises:
            NotFoundError: no such run.
            ConflictError: it has ended, or is being cancelled, or too many changes wait already.
        """

    def changes(self, run_id: str) -> Sequence[RequestedChange]:
        """The changes that wait for the search, the oldest first.

        Raises:
            NotFoundError: no such run.
        """

    def label(self, run_id: str, labels: Mapping[str, str], revision: int | None) -> RunRecord:
        """Replace a run's labels.

        Args:
            run_id: the run.
            labels: at most 16 pairs.
            revision: the row version that the caller saw; None: whichever.

        Raises:
            NotFoundError: no such run.
            StaleError: the run's row was changed since.
        """

    def delete_batch(self, batch_id: str) -> None:
        """Let the runs of a batch, by whole id, be there for nobody from now on, all of them or none.

        Raises:
            ConflictError: one of them is at work, or a runner holds it for a moment.
        """

    def delete(self, run_id: str) -> None:
        """Let a run that is not at work be there for nobody from now on; `Deletions` removes what is its own.

        Programs and texts stay for others.

        Raises:
            NotFoundError: no such run.
            ConflictError: it is at work, or a runner holds it for a moment.
        """

    def reevaluate(self, run_id: str, candidate_ids: Sequence[str], by: str, at: datetime) -> int:
        """Want candidates evaluated once more; how many were not wanted already.

        Raises:
            NotFoundError: the run has no such candidate, or it never was a program.
            ConflictError: the run is at work: candidates of paused and ended runs are evaluated again.
        """


class Deletions(Protocol):
    """Removing what is left of deleted runs, in transactions short enough for others to go on beside them."""

    def advance(self) -> bool:
        """Remove some rows more; whether there may be others."""

    def remove(self, run_id: str) -> None:
        """Remove everything that is left of one deleted run. Nothing where another process is at it."""


class RunClaims(Protocol):
    """Runs that wait for a runner, and what is wanted of those it has."""

    def claim(
        self, owner: str, lease_seconds: float, holding: Sequence[str], gone: Callable[[str], bool] = nobody
    ) -> RunRecord | None:
        """Find the oldest run that should be driven and is not, whoever's tenant; None: there is none.

        It should be when it is queued or at work and its lease is free, lapsed or of an owner that is gone; when it is
        paused and wanted running or cancelled by somebody; or when candidates of it wait to be evaluated again. The
        lease is not taken: driving takes it, and where two runners find the same run one of them is refused.

        Args:
            owner: who asks.
            lease_seconds: how long a lease lasts.
            holding: runs that the owner drives already.
            gone: whether an owner is known to have ended.
        """

    def wanted(self, run_ids: Sequence[str]) -> Mapping[str, Intent]:
        """What is wanted of each; a run that was deleted is missing."""

    def reevaluations(self, run_id: str) -> list[str]:
        """Candidates of a run that wait to be evaluated again, in the order they were wanted."""

    def reevaluated(self, run_id: str, candidate_ids: Sequence[str]) -> None:
        """They were."""
