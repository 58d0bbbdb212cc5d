"""Where the one writer of a run writes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from evolve.proposal import Candidate, Individual
from service.ports.values import Bundle, LoggedEvent, NewRun


def nobody(owner: str) -> bool:
    """Nobody is known to have ended."""
    del owner
    return False


class RunLog(Protocol):
    """Where the one writer of a run writes: events, and in the same transaction the rows that they project."""

    def create(self, run: NewRun) -> None:
        """Store a run and its problem, with the event `run.created`.

        Raises:
            ConflictError: a run of this id exists.
        """

    def take(self, run_id: str, owner: str, lease_seconds: float, gone: Callable[[str], bool] = nobody) -> int:
        """Take the run's lease and return a fencing token, higher than every earlier one.

        Args:
            gone: whether an owner is known to have ended, so that its lease need not be waited for.

        Raises:
            NotFoundError: no such run.
            ConflictError: somebody else holds the lease.
        """

    def release(self, run_id: str, fence: int) -> None:
        """Give the lease back; harmless when it was lost."""

    def renew(self, run_id: str, fence: int, lease_seconds: float, health: Mapping[str, Any] | None = None) -> str:
        """Extend the lease, note how the policies' servers fare, and return the run's desired state.

        Args:
            run_id: the run.
            fence: the token of the lease.
            lease_seconds: from now.
            health: by policy, numbers and words that are told as `PolicyHealth`; None: nothing is known of a server.

        Raises:
            LeaseLostError: another took it.
        """

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        """Commit events and what they project, all or nothing; durable on return.

        What was committed just before and comes again, since nobody heard so, is left alone.

        Raises:
            LeaseLostError: the fencing token is no longer the run's.
            StorageAwayError: the database does not answer, or is busy: whether it was committed is not known.
            StorageError: the disk is full; nothing was committed.
        """

    def events(self, run_id: str, after: int = 0, limit: int | None = None) -> Iterator[LoggedEvent]:
        """Events of a run in order, from the one after `after`."""

    def candidates(self, run_id: str, candidate_ids: Sequence[str]) -> list[Candidate]:
        """Candidates with their programs, in the order asked for."""

    def individuals(self, run_id: str, candidate_ids: Sequence[str]) -> list[Individual]:
        """Candidates with programs and latest evaluations, in the order asked for.

        A rejected candidate has no program and is left out.
        """

    def bundle(self, run_id: str) -> Bundle:
        """The problem's folder as it was when the run was created."""
