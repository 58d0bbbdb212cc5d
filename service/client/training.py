"""The training jobs of a service, behind the protocol that those of a database have."""

from service.client import Client, calls
from service.schemas.training import (
    TrainingEvent,
    TrainingEventPage,
    TrainingJob,
    TrainingJobCreate,
    TrainingPermission,
    TrainingPermissionSet,
)

PAGE = 200


class RemoteTrainingSite:
    """The training jobs of a service."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def submit(self, body: TrainingJobCreate) -> TrainingJob:
        """Queue a job."""
        return self._client.send(calls.create_training_job(body))

    def jobs(self, limit: int) -> list[TrainingJob]:
        """Jobs, newest first."""
        found: list[TrainingJob] = []
        for page in self._client.pages(calls.list_training_jobs(limit=min(limit, PAGE))):
            found += page.items
            if len(found) >= limit:
                break
        return found[:limit]

    def get(self, job_id: str) -> TrainingJob:
        """A job."""
        return self._client.send(calls.get_training_job(job_id))

    def events(self, job_id: str, after: int) -> list[TrainingEvent]:
        """All events of a job behind a sequence number."""
        found: list[TrainingEvent] = []
        while True:
            last = found[-1].sequence if found else after
            content = self._client.send(calls.list_training_events(job_id, after=last, limit=PAGE))
            page = TrainingEventPage.model_validate_json(content)
            found += page.items
            if page.next_cursor is None:
                return found

    def cancel(self, job_id: str) -> TrainingJob:
        """End a job."""
        return self._client.send(calls.cancel_training_job(job_id))

    def resume(self, job_id: str) -> TrainingJob:
        """Queue a cancelled or failed job again."""
        return self._client.send(calls.resume_training_job(job_id))

    def permit(self, run_id: str | None, *, allowed: bool) -> TrainingPermission:
        """Record whether a run, or all of them, may be trained on."""
        return self._client.send(calls.set_training_permission(TrainingPermissionSet(run_id=run_id, allowed=allowed)))

    def permissions(self) -> list[TrainingPermission]:
        """The answers that count."""
        return self._client.send(calls.list_training_permissions()).items
