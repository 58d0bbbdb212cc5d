"""Calls of the tag training. `scripts.openapi` writes them."""

from service.client.call import Call, chosen, place
from service.schemas.flywheels import FlywheelList, FlywheelRoundList
from service.schemas.training import (
    TrainingJob,
    TrainingJobCreate,
    TrainingJobPage,
    TrainingPermission,
    TrainingPermissionList,
    TrainingPermissionSet,
)


def list_flywheels() -> Call[FlywheelList]:
    """List the flywheels of the newest 1,000 batches, by name."""
    return Call(method="GET", path="/v1/flywheels", answer=FlywheelList)


def get_flywheel(flywheel: str) -> Call[FlywheelRoundList]:
    """Read the rounds of a flywheel, with the share of problems solved and the decisions of the evaluation gate."""
    return Call(method="GET", path=place("/v1/flywheels/{}", flywheel), answer=FlywheelRoundList)


def create_training_job(body: TrainingJobCreate) -> Call[TrainingJob]:
    """Train a version of a policy. A trainer takes the job, and its runs must be allowed for training."""
    return Call(method="POST", path="/v1/training-jobs", body=body, answer=TrainingJob)


def list_training_jobs(*, limit: int | None = None) -> Call[TrainingJobPage]:
    """List training jobs, newest first."""
    return Call(method="GET", path="/v1/training-jobs", params=chosen(limit=limit), answer=TrainingJobPage)


def get_training_job(job_id: str) -> Call[TrainingJob]:
    """Read a training job."""
    return Call(method="GET", path=place("/v1/training-jobs/{}", job_id), answer=TrainingJob)


def cancel_training_job(job_id: str) -> Call[TrainingJob]:
    """End a training job. Its trainer stops within seconds."""
    return Call(method="POST", path=place("/v1/training-jobs/{}/cancel", job_id), answer=TrainingJob)


def resume_training_job(job_id: str) -> Call[TrainingJob]:
    """Queue a cancelled or failed training job again. It continues from its newest checkpoint."""
    return Call(method="POST", path=place("/v1/training-jobs/{}/resume", job_id), answer=TrainingJob)


def list_training_events(job_id: str, *, after: int | None = None, limit: int | None = None) -> Call[bytes]:
    """List the events of a training job in order, or follow them as a stream (`Accept: text/event-stream`)."""
    return Call(
        method="GET",
        path=place("/v1/training-jobs/{}/events", job_id),
        params=chosen(after=after, limit=limit),
        answer=bytes,
    )


def set_training_permission(body: TrainingPermissionSet) -> Call[TrainingPermission]:
    """Allow or forbid that a run, or all of your runs, are trained on. Each answer is recorded."""
    return Call(method="PUT", path="/v1/training-permissions", body=body, answer=TrainingPermission)


def list_training_permissions() -> Call[TrainingPermissionList]:
    """List what may be trained on. Without an answer, nothing may."""
    return Call(method="GET", path="/v1/training-permissions", answer=TrainingPermissionList)
