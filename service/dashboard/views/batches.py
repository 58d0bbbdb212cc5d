"""Batches, "which settings are better?": all of them, and one with its groups, its runs and what they differ in."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, Call, calls
from service.dashboard.numbers import number
from service.dashboard.pages import PageRoute, go_to, may, render
from service.dashboard.parallel_settings import HEIGHT, TOP, WIDTH, parallel
from service.dashboard.parameters import differing
from service.dashboard.run_page import ENDED, run_title
from service.dashboard.scores import chart_word, shared_sign, shared_word, sign_of
from service.dashboard.session import Api
from service.dashboard.views.runs_bulk import MAX_COMPARED
from service.dashboard.views.runs_filter import policy_name
from service.errors import NotFoundError
from service.schemas.batches import Batch

SHOWN, RUNS_SHOWN = 50, 200
STEERING = {"pause": calls.pause_batch, "resume": calls.resume_batch, "cancel": calls.cancel_batch}
router = APIRouter(prefix="/batches", route_class=PageRoute, include_in_schema=False)
BatchId = Annotated[str, Path(max_length=100)]


@router.get("")
async def show_batches(request: Request, api: Api, cursor: Annotated[str, Query(max_length=2000)] = "") -> Response:
    """Show batches, newest first."""
    call = calls.list_batches(limit=SHOWN)
    page = await api.send(call.at(cursor) if cursor else call)
    return render(request, "batches.html", batches=page.items, following=page.next_cursor, cursor=cursor, ended=ended)


@router.get("/{batch_id}")
async def show_batch(request: Request, batch_id: BatchId, api: Api) -> Response:
    """Show a batch: its groups, its runs, and how much each setting explains of their results."""
    return render(request, "batch.html", **await _standing(request, api, batch_id))


@router.get("/{batch_id}/standing")
async def show_standing(request: Request, batch_id: BatchId, api: Api) -> Response:
    """Show the figures of a batch alone, as they are now."""
    return render(request, "batch_standing.html", **await _standing(request, api, batch_id))


async def _standing(request: Request, api: AsyncClient, batch_id: str) -> dict[str, Any]:
    summary = await api.send(calls.get_batch_summary(batch_id))
    runs = list((await api.send(calls.list_runs(batch_id=summary.batch.id, limit=RUNS_SHOWN))).items)
    runs.sort(key=lambda run: (run.best_fitness is None, -(run.best_fitness or 0.0)))
    configs = [{**run.config, "policy": ", ".join(policy_name(one) for one in run.policies)} for run in runs]
    results = [run.best_fitness for run in runs]
    parameters, sign, over = differing(configs, results), shared_sign(runs), ended(summary.batch)
    word = chart_word(runs)
    return {
        "batch": summary.batch,
        "groups": summary.groups,
        "runs": runs,
        "parameters": parameters,
        "picture": parallel(parameters, results, f"Best {word}", lambda value: number(sign * value + 0.0)),
        "picture_size": (WIDTH, HEIGHT),
        "picture_top": TOP,
        "word": word,
        "groups_word": shared_word(summary.groups),
        "signs": {sign_of(group) for group in summary.groups},
        "active": over < sum(summary.batch.states.values()),
        "several_problems": len({run.problem for run in runs}) > 1,
        "title_of": run_title,
        "compared": "&".join(f"run={run.id}" for run in runs[:MAX_COMPARED]),
        "over": over,
        "steering": [name for name in STEERING if _sensible(summary.batch, name) and may(request, "runs:control")],
    }


@router.post("/{batch_id}/{action}")
async def steer(batch_id: BatchId, action: Annotated[str, Path(max_length=20)], api: Api) -> Response:
    """Pause, resume or cancel all runs of a batch."""
    if action not in STEERING:
        raise NotFoundError(f"there is no {action[:20]!r} of a batch")
    call: Call[Batch] = STEERING[action](batch_id)
    return go_to(f"/batches/{(await api.send(call)).id}")


def ended(batch: Batch) -> int:
    """How many of its runs have ended."""
    return sum(count for state, count in batch.states.items() if state in ENDED)


def _sensible(batch: Batch, action: str) -> bool:
    paused = batch.states.get("paused", 0) + batch.states.get("pausing", 0)
    unended = sum(batch.states.values()) - ended(batch)
    return {"pause": unended > paused, "resume": paused > 0, "cancel": unended > 0}[action]
