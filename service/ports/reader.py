"""What the front doors read."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from evolve.program import Program
from evolve.statistics.voting import VoteTable
from evolve.views.candidate_view import CandidateView
from service.ports.values import (
    CandidateRecord,
    EvaluationRecord,
    FrontMember,
    LoggedEvent,
    MembershipRecord,
    OutcomeCount,
    PolicyHealth,
    ProposalRecord,
    RunRecord,
    ScoredCandidate,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which runs; empty: all.

    Attributes:
        problem, created_by: by a name.
        labels: those that have all of these pairs.
        created_after: those created then or later.
        created_before: those created earlier.
    """

    states: tuple[str, ...] = ()
    problem: str = ""
    batch_id: str = ""
    created_by: str = ""
    labels: Mapping[str, str] = field(default_factory=dict, hash=False)
    created_after: datetime | None = None
    created_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFilter:
    """Which candidates of a run; empty: all.

    Attributes:
        status: pending, evaluating, evaluated, duplicate or rejected.
        reasons: why they failed, each as `outcomes` tells it; None: whatever the reason.
    """

    status: str = ""
    outcome: str = ""
    island: int | None = None
    operator: str = ""
    policy: str = ""
    proposal_number: int | None = None
    reasons: tuple[str, ...] | None = None


# (time of creation, id) of a run: its place in a list, which stays where it is when the run is removed.
RunKey = tuple[datetime, str]
# (proposal number, position) of a candidate; in a ranking behind its fitness.
CandidateKey = tuple[int, int] | tuple[float, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Candidates that hold a text, of those that were looked through.

    Attributes:
        reached: how far that was; None: there are none further on.
    """

    candidates: Sequence[CandidateRecord]
    reached: CandidateKey | None


ALL_RUNS = RunFilter()
ALL_CANDIDATES = CandidateFilter()


class ResultReader(Protocol):
    """What the results of runs are shown from, where they lie here and where they lie with a service.

    Ids may be given by any unambiguous beginning of at least six characters.
    """

    def runs(self, limit: int = 50, *, only: RunFilter = ALL_RUNS) -> list[RunRecord]:
        """Runs, newest first."""

    def run(self, run_id: str) -> RunRecord:
        """One run.

        Raises:
            NotFoundError: no such run.
        """

    def candidate(self, candidate_id: str) -> CandidateRecord:
        """One candidate.

        Raises:
            NotFoundError: no such candidate.
        """

    def candidates(self, run_id: str, after: tuple[int, int] = (-1, -1), limit: int = 50) -> list[CandidateRecord]:
        """Candidates of a run in order of (proposal number, position), some at least until there are no more."""

    def best(self, run_id: str, limit: int = 10) -> list[CandidateRecord]:
        """Evaluated candidates of the highest fitness, best first; ties by age."""

    def ancestors(self, candidate_id: str) -> list[CandidateRecord]:
        """The line of first parents, from the candidate itself to its seed."""

    def program(self, candidate_id: str) -> Program:
        """Source of a candidate.

        Raises:
            NotFoundError: no such candidate, or it was rejected before it became a program.
        """

    def view(self, candidate_id: str) -> CandidateView | None:
        """What a candidate looks like, as its evaluator drew it; None: it drew nothing.

        Raises:
            NotFoundError: no such candidate.
        """

    def proposal(self, run_id: str, number: int) -> ProposalRecord:
        """One proposal with its prompt and completions.

        Raises:
            NotFoundError: no such proposal.
        """

    def proposal_named(self, proposal_id: str) -> ProposalRecord:
        """One proposal by its id, with its prompt and completions.

        Raises:
            NotFoundError: no such proposal.
        """


class RunReader(ResultReader, Protocol):
    """What the front doors read, of one tenant or of all.

    Ids may be given by any unambiguous beginning of at least six characters. What another tenant has is not there.
    """

    def runs(
        self, limit: int = 50, after: RunKey | None = None, only: RunFilter = ALL_RUNS, *, oldest_first: bool = False
    ) -> list[RunRecord]:
        """Runs by the time of their creation, newest first or oldest first, from the one behind `after`."""

    def count_runs(self, only: RunFilter = ALL_RUNS) -> int:
        """How many there are."""

    def candidates(
        self,
        run_id: str,
        after: tuple[int, int] = (-1, -1),
        limit: int = 50,
        only: CandidateFilter = ALL_CANDIDATES,
    ) -> list[CandidateRecord]:
        """Candidates of a run in order of (proposal number, position)."""

    def count_candidates(self, run_id: str, only: CandidateFilter = ALL_CANDIDATES) -> int:
        """How many there are."""

    def best(
        self,
        run_id: str,
        limit: int = 10,
        after: tuple[float, int, int] | None = None,
        only: CandidateFilter = ALL_CANDIDATES,
    ) -> list[CandidateRecord]:
        """Evaluated candidates of the highest fitness, best first; ties by age.

        Args:
            run_id: the run.
            limit: how many at most.
            after: (fitness, proposal number, position) of the last one seen.
            only: which.
        """

    def search(
        self,
        run_id: str,
        text: str,
        limit: int = 50,
        after: CandidateKey | None = None,
        only: CandidateFilter = ALL_CANDIDATES,
        *,
        ranked: bool = False,
    ) -> SearchResult:
        """Candidates of a run with a text in their sources, letters of either case; by age, or ranked as `best` is.

        One call looks through some thousands of programs at most, and may find none although there are some further on.

        Args:
            run_id: the run.
            text: as it stands in a file.
            limit: how many at most.
            after: what the call before reached.
            only: among which.
            ranked: whether those that have a fitness are searched, the fittest first.
        """

    def named(self, candidate_ids: Sequence[str]) -> list[CandidateRecord]:
        """Candidates by their whole ids, in that order; those that are not there are left out."""

    def front(self, run_id: str) -> list[FrontMember]:
        """Evaluated candidates whose reward vectors no other dominates, the fittest first; ties by age."""

    def poll(self, run_id: str) -> VoteTable:
        """What the candidates of a run answer, counted; a repeated program votes as often as it came."""

    def outcomes(self, run_id: str) -> list[OutcomeCount]:
        """How the answers of a run ended, counted by outcome and reason; evaluations that were cancelled left out."""

    def children(
        self, candidate_id: str, after: tuple[int, int] = (-1, -1), limit: int | None = None
    ) -> list[CandidateRecord]:
        """Candidates with this one as parent, in order of (proposal number, position), from the one after `after`."""

    def programs(self, candidate_ids: Sequence[str]) -> dict[str, Program]:
        """Sources of many candidates, by whole id; those that never became a program are left out."""

    def proposals(
        self, run_id: str, after: int = -1, limit: int = 50, state: str = "", *, texts: bool = False
    ) -> list[ProposalRecord]:
        """Proposals of a run in order of their numbers; prompts and completions only where texts are wanted.

        `state` empty: in any; `unreadable`: those with parts of completions in which no answer was read.
        """

    def finish_reasons(self, run_id: str, after: int = -1, limit: int = 50) -> list[tuple[int, Sequence[str]]]:
        """Why the completions of each proposal of a run ended, with its number, in order of the numbers."""

    def proposal_numbers(self, candidate_ids: Sequence[str]) -> Mapping[str, int]:
        """The number of the proposal of each candidate, by whole id; those that are not there are left out."""

    def evaluations(self, candidate_id: str) -> list[EvaluationRecord]:
        """All attempts at scoring a candidate, the first one first."""

    def memberships(self, run_id: str, island: int | None = None) -> list[MembershipRecord]:
        """Who is in the archives of a run now, by island, the fittest first."""

    def descendants(self, candidate_id: str, limit: int = 1000) -> list[CandidateRecord]:
        """Candidates that descend from this one over parents and crossover, itself left out, in order of age."""

    def path(self, ancestor_id: str, candidate_id: str) -> list[CandidateRecord]:
        """A shortest line over parents and crossover from one candidate down to another; empty: there is none."""

    def scored(self, run_id: str, after: int = 0) -> Iterator[ScoredCandidate]:
        """Evaluated candidates in the order in which they were first scored, behind the event of sequence `after`.

        That order never changes: a candidate that is evaluated again keeps its place and shows its latest result.

        Raises:
            NotFoundError: no such run; at once, not with the first candidate.
        """

    def events(
        self, run_id: str, after: int = 0, limit: int | None = None, kinds: Sequence[str] = ()
    ) -> Iterator[LoggedEvent]:
        """Events of a run in order, from the one after `after`; `kinds` empty: of every kind.

        Raises:
            NotFoundError: no such run; at once, not with the first event.
        """

    def sequences(self, run_ids: Sequence[str]) -> Mapping[str, tuple[int, str]]:
        """The last sequence and the state of each run, by whole id, in one statement; deleted runs are missing."""

    def policy_health(self) -> Sequence[PolicyHealth]:
        """How the servers of policies of running runs fare, as their runners saw them last."""

    def active(self) -> Mapping[str, int]:
        """Runs that have not ended, by whole id, with their last sequences."""


class Readers(Protocol):
    """Readers by tenant."""

    def of(self, tenant: str, run_id: str = "") -> RunReader:
        """A reader to whom the runs of other tenants are not there; with a run's id, nor any other run."""
