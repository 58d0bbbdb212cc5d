"""Evaluations on their way to workers and back."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from evolve.evaluation import Evaluation
from evolve.program import Program
from service.ports.values import Bundle


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
