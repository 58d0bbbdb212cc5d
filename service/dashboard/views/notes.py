"""Notes about a candidate: written, changed and removed on its page."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to
from service.dashboard.session import Api, FormDep
from service.dashboard.views.candidate import CandidateId, render_candidate
from service.errors import UsageError
from service.schemas.annotations import NoteCreate, NotePatch
from service.schemas.candidates import Candidate
from service.schemas.requests import checked

router = APIRouter(prefix="/candidates/{candidate_id}/notes", route_class=PageRoute, include_in_schema=False)
NoteId = Annotated[str, Path(max_length=64)]


@router.post("")
async def write_note(request: Request, candidate_id: CandidateId, api: Api, form: FormDep) -> Response:
    """Put a note beside a candidate."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    text = form.get("body", "").strip()
    try:
        await api.send(calls.create_note(candidate.run_id, checked(NoteCreate, body=text, candidate_id=candidate.id)))
    except UsageError as error:
        return await _again(request, api, candidate, str(error), text)
    return _back(candidate)


@router.post("/{note_id}")
async def change_note(
    request: Request, candidate_id: CandidateId, note_id: NoteId, api: Api, form: FormDep
) -> Response:
    """Give a note another text."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    text = form.get("body", "").strip()
    try:
        await api.send(calls.update_note(candidate.run_id, note_id, checked(NotePatch, body=text)))
    except UsageError as error:
        return await _again(request, api, candidate, str(error), text, note_id)
    return _back(candidate)


@router.post("/{note_id}/delete")
async def remove_note(candidate_id: CandidateId, note_id: NoteId, api: Api) -> Response:
    """Remove a note."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    await api.send(calls.delete_note(candidate.run_id, note_id))
    return _back(candidate)


async def _again(
    request: Request, api: AsyncClient, candidate: Candidate, complaint: str, typed: str, edited: str = ""
) -> Response:
    return await render_candidate(request, api, candidate, status=422, complaint=complaint, typed=typed, edited=edited)


def _back(candidate: Candidate) -> Response:
    return go_to(f"/candidates/{candidate.id}#notes")
