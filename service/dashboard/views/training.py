"""Training jobs, "how far is it, and is it learning?": all of them, and one with its curves and its end."""

from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, Call, calls
from service.dashboard.pages import PageRoute, go_to, may, render
from service.dashboard.session import Api
from service.dashboard.training_curves import HEIGHT, WIDTH, stage_curves
from service.errors import NotFoundError
from service.ports import JOB_CANCELLED, JOB_ENDED
from service.projections.training import asked_settings
from service.schemas.training import TrainingEvent, TrainingEventPage, TrainingJob

SHOWN, PAGE, MAX_EVENTS = 50, 200, 2000
ACTIONS = {"cancel": calls.cancel_training_job, "resume": calls.resume_training_job}
WAITING = "training.waiting"
router = APIRouter(prefix="/training", route_class=PageRoute, include_in_schema=False)
JobId = Annotated[str, Path(max_length=100)]


@router.get("")
async def show_jobs(request: Request, api: Api, cursor: Annotated[str, Query(max_length=2000)] = "") -> Response:
    """Show training jobs, newest first."""
    call = calls.list_training_jobs(limit=SHOWN)
    page = await api.send(call.at(cursor) if cursor else call)
    return render(request, "training_jobs.html", jobs=page.items, following=page.next_cursor)


@router.get("/{job_id}")
async def show_job(request: Request, job_id: JobId, api: Api) -> Response:
    """Show a training job: its curves, its settings, and its version."""
    return render(request, "training_job.html", **await _standing(request, api, job_id))


@router.get("/{job_id}/standing")
async def show_standing(request: Request, job_id: JobId, api: Api) -> Response:
    """Show the figures of a training job alone, as they are now."""
    return render(request, "training_standing.html", **await _standing(request, api, job_id))


@router.post("/{job_id}/{action}")
async def steer(job_id: JobId, action: Annotated[str, Path(max_length=20)], api: Api) -> Response:
    """Cancel or resume a training job."""
    if action not in ACTIONS:
        raise NotFoundError(f"there is no {action[:20]!r} of a training job")
    call: Call[TrainingJob] = ACTIONS[action](job_id)
    await api.send(call)
    return go_to(f"/training/{job_id}")


async def _standing(request: Request, api: AsyncClient, job_id: str) -> dict[str, Any]:
    job = await api.send(calls.get_training_job(job_id))
    events = await _events(api, job)
    last = events[-1].payload if events and events[-1].kind == "training.succeeded" else {}
    return {
        "job": job,
        "stages": stage_curves(events),
        "waiting": _waiting(job, events),
        "size": (WIDTH, HEIGHT),
        "settings": asked_settings(job.request),
        "evaluation": last.get("evaluation") or None,
        "promoted": bool(last.get("promoted")),
        "refusal": str(last.get("refusal", "")),
        "active": job.state not in JOB_ENDED,
        "stopping": job.state not in JOB_ENDED and job.desired_state == JOB_CANCELLED,
        "action": _action(job) if may(request, "runs:control") else "",
    }


async def _events(api: AsyncClient, job: TrainingJob) -> list[TrainingEvent]:
    """The newest events of a job."""
    found: list[TrainingEvent] = []
    after = max(0, job.sequence - MAX_EVENTS)
    while True:
        content = await api.send(calls.list_training_events(job.id, after=after, limit=PAGE))
        page = TrainingEventPage.model_validate_json(content)
        found += page.items
        if page.next_cursor is None:
            return found
        after = found[-1].sequence


def _waiting(job: TrainingJob, events: Sequence[TrainingEvent]) -> str:
    """What a queued job waits for, and why a trainer that is there does not take it. Empty: it is not queued."""
    if not job.waiting_for:
        return ""
    told = events[-1].payload if events and events[-1].kind == WAITING else {}
    reason = f" A trainer passed over it: {told['reason']}." if told else ""
    return f"It waits for {job.waiting_for}: evolve trainer.{reason}"


def _action(job: TrainingJob) -> str:
    """What may be done with a job. Empty: nothing."""
    if job.state not in JOB_ENDED:
        return "" if job.desired_state == JOB_CANCELLED else "cancel"
    return "resume" if job.version is None else ""
