"""Jobs that train versions of policies: what front doors ask for, and what a trainer that holds one may do."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from threading import Event
from typing import Any, Protocol

from service.ports.log import nobody

# The states of a job. `desired_state` is RUNNING or CANCELLED.
JOB_QUEUED, JOB_RUNNING, JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED = (
    "queued", "running", "succeeded", "failed", "cancelled",
)  # fmt: skip
JOB_ENDED = frozenset({JOB_SUCCEEDED, JOB_FAILED, JOB_CANCELLED})


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingJob:
    """A job.

    Attributes:
        policy: name of the policy that gets the version.
        request: what was asked for: backend, base, method, seed and further settings.
        runs: ids of the runs that it learns from.
        sequence: number of its newest event.
        progress: newest step and figures.
        checkpoint: from which step a trainer would continue.
        error: why it failed, in a sentence. Empty: it did not.
        version: number of the version that it made. None: none yet.
    """

    id: str
    tenant: str
    policy: str
    request: Mapping[str, Any]
    runs: Sequence[str]
    created_by: str
    created_at: datetime
    state: str = JOB_QUEUED
    desired_state: str = JOB_RUNNING
    sequence: int = 0
    progress: Mapping[str, Any] = field(default_factory=dict)
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    error: str = ""
    version: int | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingEvent:
    """An event of a job."""

    job_id: str
    sequence: int
    kind: str
    at: datetime
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingPermission:
    """A tenant's answer to whether runs may be trained on.

    Attributes:
        run_id: the run. Empty: all runs of the tenant without an answer of their own.
    """

    tenant: str
    run_id: str
    allowed: bool
    by: str
    at: datetime


class TrainingStore(Protocol):
    """Jobs of all tenants, their events, and what may be trained on.

    Methods that name a job of a tenant raise NotFoundError where it has none.
    """

    def add(self, job: TrainingJob) -> None:
        """Store a job, queued."""

    def get(self, tenant: str, job_id: str) -> TrainingJob:
        """A job of a tenant."""

    def jobs(self, tenant: str, before: str = "", limit: int = 50) -> list[TrainingJob]:
        """Jobs of a tenant, newest first."""

    def events(self, job_id: str, after: int = 0, limit: int = 50) -> list[TrainingEvent]:
        """Events of a job in order, behind a sequence number."""

    def cancel(self, tenant: str, job_id: str, at: datetime) -> TrainingJob:
        """End a job. A trainer that holds it stops within seconds. Repeating changes nothing.

        Raises:
            ConflictError: it has succeeded or failed.
        """

    def resume(self, tenant: str, job_id: str, at: datetime) -> TrainingJob:
        """Queue a cancelled or failed job again. It continues from its checkpoint.

        Raises:
            ConflictError: it has succeeded.
        """

    def permit(self, permission: TrainingPermission) -> None:
        """Record an answer."""

    def permissions(self, tenant: str) -> list[TrainingPermission]:
        """The answers that count, that for all runs first."""

    def claim(
        self, owner: str, lease_seconds: float, gone: Callable[[str], bool] = nobody
    ) -> "tuple[TrainingJob, int] | None":
        """Take the oldest job that nobody holds, with its fencing token. None: there is none."""

    def renew(self, job_id: str, fence: int, lease_seconds: float) -> str:
        """Extend a lease, and return the desired state.

        Raises:
            LeaseLostError: another trainer took the job.
        """

    def record(self, job_id: str, fence: int, kind: str, payload: Mapping[str, Any], **changes: Any) -> None:
        """Add an event, and change columns of the job in the same transaction.

        Raises:
            LeaseLostError: another trainer took the job.
        """

    def release(self, job_id: str, fence: int) -> None:
        """Give a lease back, unless another trainer took it."""


class TrainingJobs(Protocol):
    """Jobs as front doors see them. Methods that name a job raise NotFoundError where the tenant has none."""

    def submit(self, tenant: str, request: Mapping[str, Any], by: str) -> TrainingJob:
        """Store a job, queued.

        Raises:
            NotFoundError: the tenant has no such policy, base or run.
            RefusedError: the policy is not its own, or a run may not be trained on.
            UsageError: there is no such back end, or no run fits the filter.
        """

    def get(self, tenant: str, job_id: str) -> TrainingJob:
        """A job."""

    def jobs(self, tenant: str, before: str = "", limit: int = 50) -> list[TrainingJob]:
        """Jobs, newest first."""

    def events(self, tenant: str, job_id: str, after: int = 0, limit: int = 50) -> list[TrainingEvent]:
        """Events of a job in order, behind a sequence number."""

    def cancel(self, tenant: str, job_id: str) -> TrainingJob:
        """End a job.

        Raises:
            ConflictError: it has succeeded or failed.
        """

    def resume(self, tenant: str, job_id: str) -> TrainingJob:
        """Queue a cancelled or failed job again.

        Raises:
            ConflictError: it has succeeded.
        """

    def permit(self, tenant: str, run_id: str, *, allowed: bool, by: str) -> TrainingPermission:
        """Record whether a run, or with an empty id all runs, may be trained on."""

    def permissions(self, tenant: str) -> list[TrainingPermission]:
        """The answers that count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingStep:
    """A step that a back end reports."""

    stage: str
    step: int
    steps: int
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldOutValues:
    """Values of a model on held-out problems, more being better."""

    metric: str
    problems: Sequence[str]
    values: Sequence[float]


class TrainingBackend(Protocol):
    """Trains in a process of its own. The same command in the same folder continues from its newest checkpoint."""

    def command(self, job: TrainingJob, base: Path | None, folder: Path) -> Sequence[str]:
        """The command that trains, or continues.

        Args:
            job: what to train.
            base: folder of the version to start from. None: from scratch.
            folder: where it writes.
        """

    def read(self, line: str) -> TrainingStep | None:
        """A step from a line of the command's output. None: the line tells none."""

    def checkpoint(self, folder: Path) -> Mapping[str, Any]:
        """From where the command would continue. Empty: from the beginning."""

    def model(self, job: TrainingJob, folder: Path) -> Path:
        """The folder of the model, after the command has ended well."""

    def training(self, job: TrainingJob) -> Mapping[str, Any]:
        """What the version says of its training: its problems among it, and as `held_out` which it is evaluated on."""

    def evaluate(self, job: TrainingJob, model: Path, seen: Collection[str], stopped: Event) -> HeldOutValues:
        """Values of a model on problems like those that the job learns from. The same problems for each model.

        Args:
            job: for whose version it is evaluated.
            model: its folder.
            seen: names of problems that a compared version was trained on. None of them is evaluated on.
            stopped: is set when the job is not to go on here. The evaluation then ends with an error.
        """
