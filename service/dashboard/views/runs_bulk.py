"""What is asked of many runs at once: pause, resume, cancel, delete, compare; each that fails is named."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evolve.errors import EvolveError
from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to, render
from service.dashboard.run_page import run_title
from service.dashboard.session import Api, FormData, FormDep, SignedOutError
from service.errors import NotFoundError, ServiceError, UsageError

MAX_RUNS = 200
MIN_COMPARED, MAX_COMPARED = 2, 6
VERBS = {"pause": "paused", "resume": "resumed", "cancel": "cancelled", "delete": "deleted"}
FOR_GOOD = frozenset({"cancel", "delete"})
router = APIRouter(prefix="/runs", route_class=PageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkResult:
    """What came of asking one run. `complaint`: empty where it did as it was asked."""

    run_id: str
    title: str
    complaint: str


@router.get("/bulk")
@router.get("/filters")
async def go_back() -> Response:
    """Lead to the list: browsers keep the addresses that forms were sent to."""
    return go_to("/runs")


@router.post("/bulk")
async def ask_many(request: Request, api: Api, form: FormDep) -> Response:
    """Ask the same of every run that was ticked; what cannot be undone is asked for twice."""
    ids, action = list(dict.fromkeys(form.several("run"))), form.get("action", "")
    if not 1 <= len(ids) <= MAX_RUNS:
        raise UsageError(f"nothing was done: tick 1 to {MAX_RUNS} runs, then choose an action")
    if action == "compare":
        return _compared(ids)
    if action not in VERBS:
        raise UsageError(f"nothing was done: choose one of {', '.join(VERBS)} or compare")
    if action in FOR_GOOD and (complaint := _unconfirmed(action, form, len(ids))) is not None:
        return await _confirm(request, api, action, ids, back_of(form), complaint)
    results = [await _ask(api, action, run_id) for run_id in ids]
    if not any(result.complaint for result in results):
        return go_to(back_of(form))
    return render(request, "runs_bulk.html", 409, results=results, done=VERBS[action], back=back_of(form))


def back_of(form: FormData) -> str:
    """The list that a form came from, and nowhere else."""
    back = form.get("back", "")
    return back if back.startswith("/runs?") and back.isprintable() else "/runs"


def _compared(ids: Sequence[str]) -> Response:
    if not MIN_COMPARED <= len(ids) <= MAX_COMPARED:
        raise UsageError(f"{len(ids)} cannot be compared: tick {MIN_COMPARED} to {MAX_COMPARED} runs")
    return go_to(f"/compare?{urlencode([('run', run_id) for run_id in ids])}")


def _unconfirmed(action: str, form: FormData, number: int) -> str | None:
    """What stands beside the field that asks again; None: the answer was the right one."""
    typed = form.get("confirmation")
    if typed is None:
        return ""
    if action == "delete" and typed.strip() != str(number):
        return f"nothing was deleted: type {number}, the number of runs, to confirm"
    return None


async def _confirm(
    request: Request, api: AsyncClient, action: str, ids: Sequence[str], back: str, complaint: str
) -> Response:
    runs = []
    for run_id in ids:
        try:
            runs.append(await api.send(calls.get_run(run_id)))
        except NotFoundError:
            continue  # somebody else was first
    if not runs:
        raise NotFoundError("all of these runs are deleted: go back to the list")
    return render(
        request,
        "runs_confirm.html",
        422 if complaint else 200,
        runs=runs,
        action=action,
        back=back,
        complaint=complaint,
        title_of=run_title,
    )


async def _ask(api: AsyncClient, action: str, run_id: str) -> BulkResult:
    title = run_id
    try:
        run = await api.send(calls.get_run(run_id))
        title = run_title(run)
        if action == "delete":
            await api.send(calls.delete_run(run_id))
        else:
            await api.send(_STEERED[action](run_id))
    except SignedOutError:
        raise
    except (ServiceError, EvolveError) as error:
        return BulkResult(run_id=run_id, title=title, complaint=str(error))
    return BulkResult(run_id=run_id, title=title, complaint="")


_STEERED = {"pause": calls.pause_run, "resume": calls.resume_run, "cancel": calls.cancel_run}
