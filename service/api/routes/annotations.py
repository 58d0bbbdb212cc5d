"""What people put beside runs: notes, pins, saved filters, shares."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from service import keys
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.dependencies import ApiDependencies
from service.api.error_responses import raises
from service.api.idempotency import OnceDep, made
from service.api.openapi_responses import EMPTY, LOCATION, REPLAY_HEADER
from service.api.pagination import DEFAULT_LIMIT, Cursor, Limit, Paging
from service.api.problem_errors import ApiFault
from service.api.routes.runs import Reading, RunId, Writing, reader_of
from service.errors import NotFoundError
from service.identifiers import new_id
from service.ports import Annotations, Caller
from service.ports import Note as StoredNote
from service.ports import Pin as StoredPin
from service.ports import SavedFilter as StoredFilter
from service.ports import Share as StoredShare
from service.projections.candidates import candidate_of
from service.schemas.annotations import (
    NewShare,
    Note,
    NoteCreate,
    NotePage,
    NotePatch,
    Pin,
    PinList,
    SavedFilter,
    SavedFilterCreate,
    SavedFilterPage,
    Share,
    ShareCreate,
    ShareList,
)
from service.schemas.problem_details import Code

router = APIRouter(prefix="/v1", tags=["annotations"], route_class=ApiRoute)

Id = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="Its id.")]
CandidateName = Annotated[
    str, Path(pattern=r"^[A-Za-z0-9_.-]{1,100}$", description="Id or name of a candidate of the run.")
]
About = Annotated[
    str, Query(pattern=r"^[A-Za-z0-9_.-]{0,100}$", description="Only notes about this candidate, by its id or name.")
]
OfRun = Annotated[
    str,
    Query(pattern=r"^([A-Za-z0-9_-]{6,64})?$", description="Saved filters of this run. Empty: those without a run."),
]


def _made(model: type) -> dict[int | str, dict[str, Any]]:
    return {201: {"model": model, "headers": LOCATION | REPLAY_HEADER}}


@router.post(
    "/runs/{run_id}/notes", status_code=201, response_model=Note, responses=_made(Note), operation_id="create_note"
)
def create_note(run_id: RunId, body: NoteCreate, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Add a note to a run or to a candidate of it."""
    run, book = _book(parts, caller, run_id)
    now = parts.clock.now()
    candidate_id = _candidate(parts, caller, run, body.candidate_id) if body.candidate_id else ""

    def effect() -> Response:
        note = StoredNote(
            id=new_id("note", now),
            run_id=run,
            candidate_id=candidate_id,
            body=body.body,
            author=caller.actor,
            created_at=now,
            updated_at=now,
        )
        book.add_note(note)
        return made(_note(note), 201, {"Location": f"/v1/runs/{run}/notes/{note.id}"})

    return once(effect)


@router.get("/runs/{run_id}/notes", response_model=NotePage, operation_id="list_notes")
def list_notes(
    run_id: RunId,
    caller: Reading,
    parts: PartsDep,
    candidate_id: About = "",
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
) -> NotePage:
    """List the notes of a run and its candidates, oldest first."""
    run, book = _book(parts, caller, run_id)
    candidate_id = _candidate(parts, caller, run, candidate_id) if candidate_id else ""
    paging = Paging(parts.signer, cursor, limit, {"list": "notes", "run": run, "candidate": candidate_id})
    found = book.notes(run, paging.after or "", paging.limit + 1, candidate_id)
    rows, following = paging.cut(found, lambda row: row.id)
    return NotePage(items=[_note(row) for row in rows], next_cursor=following)


@router.patch("/runs/{run_id}/notes/{note_id}", response_model=Note, operation_id="update_note")
def update_note(run_id: RunId, note_id: Id, body: NotePatch, caller: Writing, parts: PartsDep) -> Note:
    """Change the text of a note."""
    run, book = _book(parts, caller, run_id)
    return _note(book.edit_note(run, note_id, body.body, parts.clock.now()))


@router.delete("/runs/{run_id}/notes/{note_id}", status_code=204, responses=EMPTY, operation_id="delete_note")
def delete_note(run_id: RunId, note_id: Id, caller: Writing, parts: PartsDep) -> Response:
    """Delete a note."""
    run, book = _book(parts, caller, run_id)
    book.remove_note(run, note_id)
    return Response(status_code=204)


@router.get("/runs/{run_id}/pins", response_model=PinList, operation_id="list_pins")
def list_pins(run_id: RunId, caller: Reading, parts: PartsDep) -> PinList:
    """List the pinned candidates of a run, oldest pin first."""
    run, book = _book(parts, caller, run_id)
    return PinList(items=[_pin(pin) for pin in book.pins(run)])


@router.put("/runs/{run_id}/pins/{candidate_id}", response_model=Pin, operation_id="pin_candidate")
def pin_candidate(run_id: RunId, candidate_id: CandidateName, caller: Writing, parts: PartsDep) -> Pin:
    """Pin a candidate. Repeating has no effect."""
    run, book = _book(parts, caller, run_id)
    found = _candidate(parts, caller, run, candidate_id)
    pin = StoredPin(run_id=run, candidate_id=found, author=caller.actor, created_at=parts.clock.now())
    book.pin(pin)
    return _pin(next((one for one in book.pins(run) if one.candidate_id == found), pin))


@router.delete("/runs/{run_id}/pins/{candidate_id}", status_code=204, responses=EMPTY, operation_id="unpin_candidate")
def unpin_candidate(run_id: RunId, candidate_id: CandidateName, caller: Writing, parts: PartsDep) -> Response:
    """Unpin a candidate. Repeating has no effect."""
    run, book = _book(parts, caller, run_id)
    book.unpin(run, _candidate(parts, caller, run, candidate_id))
    return Response(status_code=204)


@router.post(
    "/saved-filters",
    status_code=201,
    response_model=SavedFilter,
    responses=_made(SavedFilter) | raises(NotFoundError),
    operation_id="create_saved_filter",
)
def create_saved_filter(body: SavedFilterCreate, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Save a filter."""
    run = reader_of(parts, caller).run(body.run_id).id if body.run_id else ""
    now = parts.clock.now()

    def effect() -> Response:
        saved = StoredFilter(
            id=new_id("flt", now),
            tenant=caller.tenant,
            run_id=run,
            name=body.name,
            settings=body.settings,
            created_at=now,
        )
        parts.annotations(caller.tenant).save_filter(saved)
        return made(_saved_filter(saved), 201, {"Location": f"/v1/saved-filters/{saved.id}"})

    return once(effect)


@router.get(
    "/saved-filters", response_model=SavedFilterPage, responses=raises(NotFoundError), operation_id="list_saved_filters"
)
def list_saved_filters(
    caller: Reading, parts: PartsDep, run_id: OfRun = "", limit: Limit = DEFAULT_LIMIT, cursor: Cursor = ""
) -> SavedFilterPage:
    """List the saved filters of a run, or those without a run, oldest first."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id or caller.run_id).id if run_id or caller.run_id else ""
    paging = Paging(parts.signer, cursor, limit, {"list": "saved filters", "tenant": caller.tenant, "run": run})
    found = parts.annotations(caller.tenant).saved_filters(run, paging.after or "", paging.limit + 1)
    rows, following = paging.cut(found, lambda row: row.id)
    return SavedFilterPage(items=[_saved_filter(row) for row in rows], next_cursor=following)


@router.delete("/saved-filters/{filter_id}", status_code=204, responses=EMPTY, operation_id="delete_saved_filter")
def delete_saved_filter(filter_id: Id, caller: Writing, parts: PartsDep) -> Response:
    """Delete a saved filter."""
    parts.annotations(caller.tenant).remove_filter(filter_id)
    return Response(status_code=204)


@router.post(
    "/runs/{run_id}/shares",
    status_code=201,
    response_model=NewShare,
    responses=_made(NewShare),
    operation_id="create_share",
)
def create_share(run_id: RunId, body: ShareCreate, caller: Writing, parts: PartsDep, once: OnceDep) -> Response:
    """Create a token that lets its bearer read this run. Only this answer shows it."""
    run, book = _book(parts, caller, run_id)
    now = parts.clock.now()
    if body.expires_at is not None and body.expires_at <= now:
        raise ApiFault(422, Code.INVALID_REQUEST, "expires_at lies in the past: name a time to come")

    def effect() -> Response:
        minted = keys.mint(parts.signer, keys.SHARE)
        share = StoredShare(
            id=new_id("shr", now),
            tenant=caller.tenant,
            run_id=run,
            created_by=caller.actor,
            created_at=now,
            expires_at=body.expires_at,
        )
        book.add_share(share, minted.hash)
        shown = NewShare(**_share(share).model_dump(), token=minted.text)
        return made(shown, 201, {"Location": f"/v1/runs/{run}/shares/{share.id}"})

    return once(effect, unstored="token")


@router.get("/runs/{run_id}/shares", response_model=ShareList, operation_id="list_shares")
def list_shares(run_id: RunId, caller: Writing, parts: PartsDep) -> ShareList:
    """List the shares of a run, oldest first, without their tokens."""
    run, book = _book(parts, caller, run_id)
    return ShareList(items=[_share(share) for share in book.shares(run)])


@router.delete("/runs/{run_id}/shares/{share_id}", status_code=204, responses=EMPTY, operation_id="revoke_share")
def revoke_share(run_id: RunId, share_id: Id, caller: Writing, parts: PartsDep) -> Response:
    """Revoke a share permanently."""
    run, book = _book(parts, caller, run_id)
    book.revoke_share(run, share_id, parts.clock.now())
    return Response(status_code=204)


def _book(parts: ApiDependencies, caller: Caller, run_id: str) -> tuple[str, Annotations]:
    """The whole id of a run that the caller may see, and what lies beside the tenant's runs."""
    return reader_of(parts, caller).run(run_id).id, parts.annotations(caller.tenant)


def _candidate(parts: ApiDependencies, caller: Caller, run_id: str, named: str) -> str:
    reader = reader_of(parts, caller)
    return candidate_of(reader, reader.run(run_id), named).id


def _note(note: StoredNote) -> Note:
    fields = {name: getattr(note, name) for name in Note.model_fields}
    return Note(**fields | {"candidate_id": note.candidate_id or None})


def _pin(pin: StoredPin) -> Pin:
    return Pin(**{name: getattr(pin, name) for name in Pin.model_fields})


def _saved_filter(stored: StoredFilter) -> SavedFilter:
    fields = {name: getattr(stored, name) for name in SavedFilter.model_fields}
    return SavedFilter(**fields | {"run_id": stored.run_id or None})


def _share(share: StoredShare) -> Share:
    return Share(**{name: getattr(share, name) for name in Share.model_fields})
