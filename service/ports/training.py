"""Jobs that train versions of policies: what front doors ask for, and what a trainer that holds one may do."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
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
        self, owner: str, lease_seconds: float, backends: Collection[str], gone: Callable[[str], bool] = nobody
    ) -> "tuple[TrainingJob, int] | None":
        """Take the oldest job of these back ends that nobody holds, with its fencing token. None: there is none.

        A tenant with a quota of jobs at once gets no more than these.
        """

    def pass_over(self, backends: Collection[str], reasons: Mapping[str, str]) -> None:
        """Tell queued jobs of other back ends once that this trainer does not take them.

        Args:
            backends: that the trainer has.
            reasons: why it has not the others, by name, in a sentence each.
        """

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

    def active(self, tenant: str) -> int:
        """How many jobs of a tenant have not ended."""

    def seconds(self, tenant: str, since: datetime) -> float:
        """How long trainers have worked for a tenant since then, by the events of its jobs."""


class TrainingJobs(Protocol):
    """Jobs as front doors see them. Methods that name a job raise NotFoundError where the tenant has none."""

    def submit(self, tenant: str, request: Mapping[str, Any], by: str) -> TrainingJob:
        """Store a job, queued.

        Raises:
            NotFoundError: the tenant has no such policy, base or run.
            RefusedError: the policy is not its own, or a run may not be trained on.
            ConflictError: the name of a new policy is taken by the installation.
            UsageError: there is no such back end, it does not have a setting, or no run fits the filter.
            QuotaError: the tenant has used up a quota of training.
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
            QuotaError: the tenant has used up a quota of training.
        """

    def permit(self, tenant: str, run_id: str, *, allowed: bool, by: str) -> TrainingPermission:
        """Record whether a run, or with an empty id all runs, may be trained on."""

    def permissions(self, tenant: str) -> list[TrainingPermission]:
        """The answers that count."""
