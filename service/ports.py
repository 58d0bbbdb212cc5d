"""The doors between runner, front doors, storage, queue and workers, and the values that pass through them."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Protocol

from evolve.evaluation import Evaluation
from evolve.events import SCHEMA, Event
from evolve.program import Program
from evolve.proposal import Candidate, Individual

DEFAULT_TENANT = "default"


def nobody(owner: str) -> bool:
    """Nobody is known to have ended."""
    del owner
    return False


class Clock(Protocol):
    """Time, passed in."""

    def now(self) -> datetime:
        """The current time, aware, UTC."""

    def monotonic(self) -> float:
        """Seconds that never go back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A problem's folder as one value: a reproducible tar.gz, and the SHA-256 over the sorted paths and contents."""

    hash: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """What a run is created from.

    Attributes:
        config: the run configuration as JSON, complete.
        policies: name, kind, address and model of each policy; never a key.
        source: where the problem's folder lay, for people.
    """

    id: str
    problem_name: str
    bundle: Bundle
    config: Mapping[str, Any]
    policies: Sequence[Mapping[str, Any]]
    seed: int
    integrity: str
    isolation: str
    objectives: Sequence[Mapping[str, Any]]
    known_best: float | None
    source: str
    created_at: datetime
    tenant: str = DEFAULT_TENANT


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """An event in the log of a run: sequence numbers are dense from 1."""

    run_id: str
    sequence: int
    at: datetime
    event: Event

    def as_json(self) -> dict[str, Any]:
        """The event as it is shown, streamed and exported."""
        return {
            "schema": SCHEMA,
            "run_id": self.run_id,
            "sequence": self.sequence,
            "kind": str(self.event.kind),
            "at": self.at.isoformat().replace("+00:00", "Z"),
            **self.event.payload,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Running totals of a run, a fold of its events."""

    proposals: int = 0
    answers: int = 0
    evaluations: int = 0
    valid: int = 0
    failed: int = 0
    duplicates: int = 0
    rejected: int = 0
    tokens_input: int = 0
    tokens_cached: int = 0
    tokens_output: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run as stored. `sequence` is that of its last event."""

    id: str
    tenant: str
    problem_name: str
    bundle_hash: str
    state: str
    desired_state: str
    waiting: Mapping[str, Any] | None
    reason: str
    config: Mapping[str, Any]
    policies: Sequence[Mapping[str, Any]]
    seed: int
    integrity: str
    isolation: str
    objectives: Sequence[Mapping[str, Any]]
    known_best: float | None
    source: str
    best_candidate_id: str | None
    best_fitness: float | None
    seed_fitness: float | None
    counters: Counters
    sequence: int
    active_seconds: float
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentEdge:
    """One edge of the lineage. Role: parent, crossover or inspiration."""

    candidate_id: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRecord:
    """A candidate as stored, without its source text.

    Attributes:
        status: pending, evaluating, evaluated, duplicate or rejected.
        islands: islands whose archive holds it now.
    """

    id: str
    run_id: str
    number: int
    position: int
    island: int
    operator: str
    policy: str
    status: str
    reason: str
    program_id: str | None
    parents: Sequence[ParentEdge]
    outcome: str | None
    fitness: float | None
    scores: Mapping[str, float]
    measures: Mapping[str, float]
    cases: Mapping[str, float]
    spread: Mapping[str, float]
    feedback: str
    seconds: float | None
    isolation: str
    islands: Sequence[int]
    created_at: datetime
    evaluated_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRecord:
    """A proposal as stored: what was asked, what came back, what it cost."""

    id: str
    run_id: str
    number: int
    island: int
    operator: str
    selection: str
    weights: Sequence[float]
    policy: str
    state: str
    reason: str
    prompt: Sequence[Mapping[str, str]]
    completions: Sequence[str]
    finish_reasons: Sequence[str]
    dropped: Sequence[Mapping[str, Any]]
    tokens_input: int
    tokens_cached: int
    tokens_output: int
    seconds: float | None
    created_at: datetime
    answered_at: datetime | None


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

    def renew(self, run_id: str, fence: int, lease_seconds: float) -> str:
        """Extend the lease and return the run's desired state.

        Raises:
            LeaseLostError: another took it.
        """

    def append(self, run_id: str, fence: int, events: Sequence[LoggedEvent]) -> None:
        """Commit events and what they project, all or nothing; durable on return.

        Raises:
            LeaseLostError: the fencing token is no longer the run's.
            StorageError: the disk is full, or the database is away or locked; nothing was committed.
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


class RunReader(Protocol):
    """What the front doors read. Ids may be given by any unambiguous beginning of at least six characters."""

    def runs(self, limit: int = 50, before: str | None = None) -> list[RunRecord]:
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
        """Candidates of a run in order of (proposal number, position)."""

    def best(self, run_id: str, limit: int = 10) -> list[CandidateRecord]:
        """Evaluated candidates of the highest fitness, best first; ties by age."""

    def front(self, run_id: str) -> list[CandidateRecord]:
        """Evaluated candidates whose score vectors no other dominates, by fitness."""

    def ancestors(self, candidate_id: str) -> list[CandidateRecord]:
        """The line of first parents, from the candidate itself to its seed."""

    def children(self, candidate_id: str) -> list[CandidateRecord]:
        """Candidates with this one as parent."""

    def program(self, candidate_id: str) -> Program:
        """Source of a candidate.

        Raises:
            NotFoundError: no such candidate, or it was rejected before it became a program.
        """

    def programs(self, candidate_ids: Sequence[str]) -> dict[str, Program]:
        """Sources of many candidates, by whole id; those that never became a program are left out."""

    def proposal(self, run_id: str, number: int) -> ProposalRecord:
        """One proposal with its prompt and completions.

        Raises:
            NotFoundError: no such proposal.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationTask:
    """A program to score: all a worker is told beside the bundle, which holds the limits."""

    evaluation_id: str
    bundle_hash: str
    program: Program = field(repr=False)
    pool: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """What came of a task."""

    evaluation_id: str
    evaluation: Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A task in a worker's hands: `id` names this submission of it, `delivery` counts how often it was handed out."""

    id: str
    task: EvaluationTask
    delivery: int


class Standing(StrEnum):
    """How a lease stands."""

    HELD = "held"
    CANCELLED = "cancelled"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerBeat:
    """What a worker publishes of itself. `isolation` is the level that its self-test found."""

    worker_id: str
    pool: str
    slots: int
    busy: int
    isolation: str


class EvaluationQueue(Protocol):
    """Evaluations as one submitter sees them. Delivery is at least once; each task submitted has one result."""

    async def submit(self, task: EvaluationTask, bundle: Bundle) -> None:
        """Hand over a task with its problem's folder; while the queue is away it is kept, and sent by `results`."""

    def results(self) -> AsyncIterator[EvaluationResult]:
        """Results of this submitter's tasks as they come, without end; sends again what the queue has lost."""

    async def cancel(self, evaluation_id: str) -> None:
        """Take a task back: waiting, nobody gets it; under way, its lease says so; its result never comes."""

    async def workers(self, pool: str) -> Sequence[WorkerBeat]:
        """Workers of a pool that live.

        Raises:
            UnreachableError: the queue does not answer.
        """


class EvaluationLeases(Protocol):
    """Evaluations as one worker sees them. Every method raises UnreachableError while the queue is away."""

    async def lease(self, timeout_seconds: float) -> Lease | None:
        """The next task: first one whose worker went silent, then the oldest; None when none comes in time."""

    async def renew(self, lease: Lease) -> Standing:
        """Say that the task is being worked at; a lease that is not renewed in time goes to another worker."""

    async def complete(self, lease: Lease, evaluation: Evaluation) -> bool:
        """Give the result; False and nothing done where the lease is not this worker's, or no longer."""

    async def bundle(self, bundle_hash: str) -> Bundle:
        """A problem's folder.

        Raises:
            NotFoundError: the queue does not have it.
        """

    async def beat(self, beat: WorkerBeat) -> None:
        """Publish that this worker lives; it is taken for dead when it falls silent."""

    async def leave(self) -> None:
        """Publish that this worker has ended."""
