"""Training jobs as every front door shows them."""

from collections.abc import Mapping
from typing import Any

from service.ports import JOB_QUEUED, TrainingEvent, TrainingJob, TrainingPermission
from service.schemas import training as wire


def job_reply(job: TrainingJob) -> wire.TrainingJob:
    """A job."""
    return wire.TrainingJob.model_validate(
        {
            "id": job.id,
            "policy": job.policy,
            "state": job.state,
            "desired_state": job.desired_state,
            "request": {name: value for name, value in job.request.items() if name != "texts"},
            "runs": list(job.runs),
            "progress": dict(job.progress) or None,
            "checkpoint": dict(job.checkpoint) or None,
            "error": job.error,
            "waiting_for": waiting_for(job.state, job.request),
            "version": job.version,
            "sequence": job.sequence,
            "created_by": job.created_by,
            "created_at": job.created_at,
            "started_at": job.started_at,
            "finished_at": job.finished_at,
        }
    )


def waiting_for(state: str, request: Mapping[str, Any]) -> str:
    """What a queued job waits for. Empty: it is not queued."""
    return f"a trainer with the back end {request.get('backend', 'maze')}" if state == JOB_QUEUED else ""


def asked_settings(request: Mapping[str, Any]) -> dict[str, str]:
    """The settings of a job that are not empty, as people read them, by name."""
    found = {}
    for name, value in sorted(request.items()):
        if isinstance(value, bool):
            found[name] = "yes" if value else ""
        elif isinstance(value, list):
            found[name] = ", ".join(map(str, value))
        elif isinstance(value, Mapping):
            found[name] = ", ".join(f"{key}={part}" for key, part in value.items())
        elif isinstance(value, float):
            found[name] = f"{value:g}" if value else ""
        else:
            found[name] = "" if value is None else str(value)
    return {name: shown for name, shown in found.items() if shown}


def event_reply(event: TrainingEvent) -> wire.TrainingEvent:
    """An event of a job."""
    return wire.TrainingEvent(sequence=event.sequence, kind=event.kind, at=event.at, payload=dict(event.payload))


def permission_reply(answer: TrainingPermission) -> wire.TrainingPermission:
    """An answer to whether runs may be trained on."""
    return wire.TrainingPermission(run_id=answer.run_id or None, allowed=answer.allowed, by=answer.by, at=answer.at)
