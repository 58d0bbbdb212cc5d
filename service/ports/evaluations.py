"""Evaluations on their way to workers and back."""

from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from evolve.evaluation import PLAIN, Evaluation, ScoringRequest
from evolve.program import Program
from service.ports.values import Bundle

# A clock below this share of the maximum may be that of a device at rest.
LOCKED_SHARE = 0.25


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


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolBacklog:
    """Tasks of a pool that no worker has taken yet, as a submitter last heard.

    Attributes:
        own: how many of them are this submitter's.
        oldest_seconds: for how long the oldest of all submitters had waited; 0: none waited.
    """

    own: int = 0
    oldest_seconds: float = 0.0


class WorkerState(StrEnum):
    """Whether a worker takes tasks; one that drains finishes what it has, and ends."""

    ACTIVE = "active"
    DRAINING = "draining"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTask:
    """What a worker evaluates. `seconds`: for how long by now."""

    evaluation_id: str
    seconds: float


class ClockLock(StrEnum):
    """Whether the clocks of a device are locked, as far as the clocks that were read tell."""

    LOCKED = "locked"
    UNLOCKED = "unlocked"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceState:
    """A device that evaluations have to themselves, and how it was found to be.

    Attributes:
        name: that of its file, such as `nvidia0`.
        model, driver: empty: no tool of the machine tells.
        clock_mhz: of its multiprocessors, as last read; 0: no tool tells.
        min_reading_mhz, max_reading_mhz: of all clocks that were read.
        max_clock_mhz: what it can be at most; 0: no tool tells.
        readings: how often the clock was read, at rest and after evaluations.
    """

    name: str
    model: str = ""
    driver: str = ""
    clock_mhz: int = 0
    min_reading_mhz: int = 0
    max_reading_mhz: int = 0
    max_clock_mhz: int = 0
    readings: int = 0

    def with_clock(self, clock_mhz: int) -> "DeviceState":
        """The same after another reading of its clock; 0: it told none."""
        if clock_mhz <= 0:
            return self
        lowest = min(self.min_reading_mhz or clock_mhz, clock_mhz)
        highest = max(self.max_reading_mhz, clock_mhz)
        return replace(
            self, clock_mhz=clock_mhz, min_reading_mhz=lowest, max_reading_mhz=highest, readings=self.readings + 1
        )

    @property
    def clocks(self) -> ClockLock:
        """Whether its clocks are locked.

        No driver tells. A locked clock is the same at rest and after work. One that never left a low rate may belong to
        a device that was never at work.
        """
        if self.readings and self.min_reading_mhz != self.max_reading_mhz:
            return ClockLock.UNLOCKED
        at_work = self.min_reading_mhz >= self.max_clock_mhz * LOCKED_SHARE
        return ClockLock.LOCKED if self.readings > 1 and at_work else ClockLock.UNKNOWN

    def __str__(self) -> str:
        driver = f"driver {self.driver}" if self.driver else ""
        about = ", ".join(filter(None, (self.model or self.name, driver)))
        if not self.readings:
            return f"{about}, clocks unknown"
        same = self.min_reading_mhz == self.max_reading_mhz
        clock = f"{self.clock_mhz}" if same else f"{self.min_reading_mhz} to {self.max_reading_mhz}"
        found = {ClockLock.LOCKED: "locked", ClockLock.UNLOCKED: "not locked", ClockLock.UNKNOWN: "not known as locked"}
        most = f" of at most {self.max_clock_mhz}" if self.max_clock_mhz else ""
        times = "once" if self.readings == 1 else f"{self.readings} times"
        return f"{about}, clock {clock} MHz{most}, read {times}: {found[self.clocks]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerHeartbeat:
    """What a worker publishes of itself.

    Attributes:
        isolation: level that its self-test found.
        version: of the program that it is.
        evaluations: how many it has done.
        tasks: what it evaluates; a worker of an earlier version does not say.
        containers: what runs those of problems with an image, such as `podman 5.4.2, rootless`; empty: it takes none.
        devices: of which each evaluation has one to itself; none: its evaluations have no accelerator.
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
    devices: Sequence[DeviceState] = ()
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

    def backlog(self, pool: str) -> PoolBacklog:
        """What waits for a worker of the pool, by what `share` and `submit` last heard, nobody having had it."""

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
