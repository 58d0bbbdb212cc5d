"""Notes about a program: written, changed and removed on its page."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.client.messages import checked
from service.dashboard.pages import PageRoute, go_to
from service.dashboard.session import Api, FormDep
from service.dashboard.views.program import CandidateId, render_program
from service.errors import UsageError
from service.schemas.annotations import NoteCreate, NotePatch
from service.schemas.programs import Program

router = APIRouter(prefix="/programs/{candidate_id}/notes", route_class=PageRoute, include_in_schema=False)
NoteId = Annotated[str, Path(max_length=64)]


@router.post("")
async def write_note(request: Request, candidate_id: CandidateId, api: Api, form: FormDep) -> Response:
    """Put a note beside a program."""
    program = await api.send(calls.get_program(candidate_id))
    text = form.get("body", "").strip()
    try:
        await api.send(calls.create_note(program.run_id, checked(NoteCreate, body=text, candidate_id=program.id)))
    except UsageError as error:
        return await _again(request, api, program, str(error), text)
    return _back(program)


@router.post("/{note_id}")
async def change_note(
    request: Request, candidate_id: CandidateId, note_id: NoteId, api: Api, form: FormDep
) -> Response:
    """Give a note another text."""
    program = await api.send(calls.get_program(candidate_id))
    text = form.get("body", "").strip()
    try:
        await api.send(calls.update_note(program.run_id, note_id, checked(NotePatch, body=text)))
    except UsageError as error:
        return await _again(request, api, program, str(error), text, note_id)
    return _back(program)


@router.post("/{note_id}/delete")
async def remove_note(candidate_id: CandidateId, note_id: NoteId, api: Api) -> Response:
    """Remove a note."""
    program = await api.send(calls.get_program(candidate_id))
    await api.send(calls.delete_note(program.run_id, note_id))
    return _back(program)


async def _again(
    request: Request, api: AsyncClient, program: Program, complaint: str, typed: str, edited: str = ""
) -> Response:
    return await render_program(request, api, program, status=422, complaint=complaint, typed=typed, edited=edited)


def _back(program: Program) -> Response:
    return go_to(f"/programs/{program.id}#notes")
