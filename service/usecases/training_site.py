"""Training jobs where they are: in a database, whose owner this process is, or with a service."""

from collections.abc import Callable
from typing import Protocol

from service.ports import DEFAULT_TENANT, TrainingJobs, TrainingStore
from service.projections.training import event_reply, job_reply, permission_reply
from service.schemas.training import TrainingEvent, TrainingJob, TrainingJobCreate, TrainingPermission
from service.usecases.policy_site import COMMAND_LINE

PAGE = 200


class TrainingSite(Protocol):
    """The training jobs of one place. Methods that name a job raise NotFoundError where there is none."""

    def submit(self, body: TrainingJobCreate) -> TrainingJob:
        """Queue a job."""

    def jobs(self, limit: int) -> list[TrainingJob]:
        """Jobs, newest first."""

    def get(self, job_id: str) -> TrainingJob:
        """A job."""

    def events(self, job_id: str, after: int) -> list[TrainingEvent]:
        """All events of a job behind a sequence number."""

    def cancel(self, job_id: str) -> TrainingJob:
        """End a job."""

    def resume(self, job_id: str) -> TrainingJob:
        """Queue a cancelled or failed job again."""

    def permit(self, run_id: str | None, *, allowed: bool) -> TrainingPermission:
        """Record whether a run, or all of them, may be trained on."""

    def permissions(self) -> list[TrainingPermission]:
        """The answers that count."""


class StoredTrainingSite:
    """The jobs of a database, of the tenant `default`.

    Args:
        store: where jobs are.
        jobs: makes what changes them, once something is changed: who reads them needs no back ends.
    """

    def __init__(self, store: TrainingStore, jobs: Callable[[], TrainingJobs]) -> None:
        self._store, self._jobs = store, jobs

    def submit(self, body: TrainingJobCreate) -> TrainingJob:
        """Queue a job."""
        return job_reply(self._jobs().submit(DEFAULT_TENANT, body.model_dump(mode="json"), COMMAND_LINE))

    def jobs(self, limit: int) -> list[TrainingJob]:
        """Jobs, newest first."""
        return [job_reply(job) for job in self._store.jobs(DEFAULT_TENANT, limit=limit)]

    def get(self, job_id: str) -> TrainingJob:
        """A job."""
        return job_reply(self._store.get(DEFAULT_TENANT, job_id))

    def events(self, job_id: str, after: int) -> list[TrainingEvent]:
        """All events of a job behind a sequence number."""
        found: list[TrainingEvent] = []
        job = self._store.get(DEFAULT_TENANT, job_id)
        while page := self._store.events(job.id, found[-1].sequence if found else after, PAGE):
            found += map(event_reply, page)
        return found

    def cancel(self, job_id: str) -> TrainingJob:
        """End a job."""
        return job_reply(self._jobs().cancel(DEFAULT_TENANT, job_id))

    def resume(self, job_id: str) -> TrainingJob:
        """Queue a cancelled or failed job again."""
        return job_reply(self._jobs().resume(DEFAULT_TENANT, job_id))

    def permit(self, run_id: str | None, *, allowed: bool) -> TrainingPermission:
        """Record whether a run, or all of them, may be trained on."""
        return permission_reply(self._jobs().permit(DEFAULT_TENANT, run_id or "", allowed=allowed, by=COMMAND_LINE))

    def permissions(self) -> list[TrainingPermission]:
        """The answers that count."""
        return [permission_reply(answer) for answer in self._store.permissions(DEFAULT_TENANT)]
