"""A run to take away, and to show to others: downloads, notes, and addresses that let their bearers read it."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.forms import WHOLE, FormErrors, filled, last_day, new_once, only_once
from service.dashboard.loading import RunPageRoute
from service.dashboard.pages import go_to, is_guest, public_address
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api, FormData, FormDep, SignedOutError
from service.dashboard.views.shared import ADDRESS
from service.errors import RefusedError, UsageError
from service.schemas.annotations import Note, NoteCreate, Share, ShareCreate
from service.schemas.runs import Run

MAX_NOTES = 200
FORMS = (
    ("jsonl", "Candidates with their files", "JSON Lines, as evolve export writes them"),
    ("csv", "Table of candidates", "CSV, without files"),
    ("training", "Training records", "JSON Lines: prompts, completions and reward vectors"),
    ("events", "Event log", "JSON Lines: every event of the run"),
)
router = APIRouter(prefix="/runs/{run_id}/share", route_class=RunPageRoute, include_in_schema=False)
Id = Annotated[str, Path(max_length=100)]


@router.get("")
async def show_share(request: Request, run_id: RunId, api: Api) -> Response:
    """Show what of a run can be taken away, and who else may read it."""
    return await _page(request, api, run_id, FormData(), FormErrors())


@router.post("/tokens")
async def create_share(request: Request, run_id: RunId, api: Api, form: FormDep) -> Response:
    """Make an address that lets its bearer read the run; this answer alone shows it."""
    complaints = FormErrors()
    ends = last_day(form.get("expires", ""), "expires", datetime.now(UTC), complaints)
    share = filled(ShareCreate, {"expires_at": ends} if ends else {}, complaints)
    if share is not None:
        try:
            made = await api.send(only_once(calls.create_share(run_id, share), form))
        except UsageError as error:
            complaints[WHOLE] = str(error)
        else:
            address = public_address(request, ADDRESS.format(made.token)) if made.token else ""
            return await _page(request, api, run_id, FormData(), complaints, 201, address=address, made=made)
    return await _page(request, api, run_id, form, complaints, 422)


@router.post("/tokens/{share_id}/revoke")
async def revoke_share(run_id: RunId, share_id: Id, api: Api) -> Response:
    """Close an address for good."""
    await api.send(calls.revoke_share(run_id, share_id))
    return go_to(f"/runs/{run_id}/share#tokens")


@router.post("/notes")
async def create_note(request: Request, run_id: RunId, api: Api, form: FormDep) -> Response:
    """Put a note beside the run."""
    complaints = FormErrors()
    note = filled(NoteCreate, {"body": form.get("body", "").strip()}, complaints)
    if note is None:
        return await _page(request, api, run_id, form, complaints, 422)
    await api.send(only_once(calls.create_note(run_id, note), form))
    return go_to(f"/runs/{run_id}/share#notes")


@router.post("/notes/{note_id}/delete")
async def delete_note(run_id: RunId, note_id: Id, api: Api) -> Response:
    """Remove a note."""
    await api.send(calls.delete_note(run_id, note_id))
    return go_to(f"/runs/{run_id}/share#notes")


async def _page(
    request: Request,
    api: AsyncClient,
    run_id: str,
    form: FormData,
    complaints: FormErrors,
    status: int = 200,
    **made: Any,
) -> Response:
    run = await api.send(calls.get_run(run_id))
    shares, refusal = await _shares(request, api, run)
    answer = await render_run(
        request,
        api,
        run,
        "share.html",
        "share",
        forms=FORMS,
        files=(await api.send(calls.list_artifacts(run.id, limit=50))).items,
        notes=list[Note]((await api.send(calls.list_notes(run.id, limit=MAX_NOTES))).items),
        shares=shares,
        refusal=refusal,
        now=datetime.now(UTC),
        permalink=public_address(request, f"/runs/{run.id}"),
        form=form,
        complaints=complaints,
        once=new_once(),
        **({"address": "", "made": None} | made),
    )
    answer.status_code = status
    return answer


async def _shares(request: Request, api: AsyncClient, run: Run) -> tuple[list[Share], str]:
    """The shares of a run, and why they are not told."""
    if is_guest(request):
        return [], ""
    try:
        return (await api.send(calls.list_shares(run.id))).items, ""
    except SignedOutError:
        raise
    except RefusedError as error:
        return [], str(error)
