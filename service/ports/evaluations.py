"""Evaluations on their way to workers and back."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from evolve.evaluation import PLAIN, Evaluation, ScoringRequest
from evolve.program import Program
from service.ports.values import Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationTask:
    """A program to score: all a worker is told beside the bundle, which holds the limits.

    Attributes:
        traceparent: the span of the submitter, as a W3C header. Empty: no trace is sent.
    """

    evaluation_id: str
    bundle_hash: str
    program: Program = field(repr=False)
    pool: str
    scoring: ScoringRequest = PLAIN
    traceparent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationResult:
    """What came of a task."""

    evaluation_id: str
    evaluation: Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseName:
    """What tells a lease from all others: `id` names a submission of a task, `delivery` how often it was handed out."""

    id: str
    delivery: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease(LeaseName):
    """A task in a worker's hands. `waited_seconds`: since its submission, by the queue's own clock."""

    task: EvaluationTask
    waited_seconds: float = 0.0


class LeaseState(StrEnum):
    """How a lease stands."""

    HELD = "held"
    CANCELLED = "cancelled"
    LOST = "lost"


class WorkerState(StrEnum):
    """Whether a worker takes tasks; one that drains finishes what it has, and ends."""

    ACTIVE = "active"
    DRAINING = "draining"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTask:
    """What a worker evaluates. `seconds`: for how long by now."""

    evaluation_id: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHeartbeat:
    """What a worker publishes of itself.

    Attributes:
        isolation: level that its self-test found.
        version: of the program that it is.
        evaluations: how many it has done.
        tasks: what it evaluates; a worker of an earlier version does not say.
        containers: what runs those of problems with an image, such as `podman 5.4.2, rootless`; empty: it takes none.
        seen_at: when it was heard, by the queue's own clock; None where it speaks of itself.
    """

    worker_id: str
    pool: str
    slots: int
    busy: int
    isolation: str
    version: str
    started_at: datetime
    state: WorkerState = WorkerState.ACTIVE
    evaluations: int = 0
    tasks: Sequence[RunningTask] = ()
    containers: str = ""
    seen_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEvaluationRecord:
    """An evaluation that a worker did, or is about to do.

    Attributes:
        outcome: empty: it is not done.
        ended_at: when it was stored.
    """

    tenant: str
    run_id: str
    candidate_id: str
    attempt: int
    worker: str = ""
    outcome: str = ""
    seconds: float = 0.0
    ended_at: datetime | None = None


class EvaluationRecords(Protocol):
    """Evaluations of all tenants, for those who watch over the workers."""

    def done(self, since: datetime, limit: int) -> Sequence[WorkerEvaluationRecord]:
        """Those that workers ended since a time, the latest first."""

    def wanted(self, evaluation_ids: Collection[str]) -> Mapping[str, WorkerEvaluationRecord]:
        """Those of some ids that are to be done, by id; others are left out."""


class EvaluationQueue(Protocol):
    """Evaluations as one submitter sees them. Delivery is at least once; each task submitted has one result."""

    async def submit(self, task: EvaluationTask, bundle: Bundle) -> None:
        """Hand over a task with its problem's folder; while the queue is away it is kept, and sent by `results`."""

    def results(self) -> AsyncIterator[EvaluationResult]:
        """Results of this submitter's tasks as they come, without end; sends again what the queue has lost."""

    async def cancel(self, evaluation_id: str) -> None:
        """Take a task back: waiting, nobody gets it; under way, its lease says so; its result never comes."""

    async def share(self, pool: str, wants: int) -> int:
        """Say how many evaluations this submitter has to be done at once, and learn how many slots are fairly its own.

        The slots of the active workers are shared max-min fairly among all submitters that have work: who wants less
        than an equal part leaves the rest to the others. What this one wants bounds the others' parts, not its own; it
        is to be said again within `Terms.claim_seconds`, and 0 gives everything to the others.

        Returns:
            At least 1; 0 where no worker takes tasks of the pool.

        Raises:
            UnreachableError: the queue does not answer.
        """

    async def aclose(self) -> None:
        """Take back what has no result yet, and give up the share."""


class Workers(Protocol):
    """The workers of all pools, for those who watch over them. Every method raises UnreachableError."""

    async def workers(self) -> Sequence[WorkerHeartbeat]:
        """Workers that live, by pool and id."""

    async def drain(self, worker_id: str) -> None:
        """Have a worker finish what it has and end; it hears of it with its next beat, repeating changes nothing.

        Raises:
            NotFoundError: no such worker lives.
        """

    async def depths(self) -> Mapping[str, int]:
        """How many tasks wait for a worker, by pool."""

    async def wants(self) -> Mapping[str, int]:
        """How many slots the submitters with work could use now, by pool: who uses up its share could use more."""

    async def waits(self) -> Mapping[str, float]:
        """For how many seconds the oldest task has waited that no worker ever had, by pool; not where none waits."""


class EvaluationLeases(Protocol):
    """Evaluations as one worker sees them. Every method raises UnreachableError while the queue is away."""

    async def lease(self, timeout_seconds: float) -> Lease | None:
        """The next task: first one whose worker went silent, then the oldest; None when none comes in time."""

    async def renew(self, lease: LeaseName) -> LeaseState:
        """Say that the task is being worked at; a lease that is not renewed in time goes to another worker."""

    async def complete(self, lease: LeaseName, evaluation: Evaluation) -> bool:
        """Give the result; False and nothing done where the lease is not this worker's, or no longer."""

    async def release(self, lease: LeaseName) -> bool:
        """Return a task undone: its submitter sends it and its problem again; False where the lease is not held."""

    async def bundle(self, bundle_hash: str) -> Bundle:
        """A problem's folder.

        Raises:
            MissingBundleError: the queue does not have it; `release` makes the submitter send it again.
        """

    async def heartbeat(self, heartbeat: WorkerHeartbeat) -> bool:
        """Publish that this worker lives; whether it was told to drain. Who falls silent is taken for dead."""

    async def leave(self) -> None:
        """Publish that this worker has ended."""
