"""One program, "what is this?": what it is worth, what it came of, what it says, and what people say of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from service.client import AsyncClient, Call, calls
from service.dashboard.difference import MAX_LINES, FileDifference, differences, pairs
from service.dashboard.pages import PageRoute, go_to, render
from service.dashboard.run_page import ENDED, TABS, run_title
from service.dashboard.scores import plain_scores, scores_of
from service.dashboard.session import Api
from service.dashboard.source import MAX_FILES, shortened, shown_files
from service.errors import ConflictError, NotFoundError, RefusedError, UsageError
from service.schemas.annotations import Note, Pin
from service.schemas.programs import Program, Source
from service.schemas.runs import Run

CHILDREN, ATTEMPTS, ANSWERS = 50, 200, 200
MAX_CASES = 200
MAX_FEEDBACK = 20_000
MAX_NOTES = 200
# Proposals without any candidate are passed over, so many at most.
LOOKED_AHEAD = 4
router = APIRouter(prefix="/programs/{candidate_id}", route_class=PageRoute, include_in_schema=False)
CandidateId = Annotated[str, Path(max_length=100)]
Against = Annotated[str, Query(max_length=100)]
Layout = Annotated[str, Query(pattern="^(unified|split)$")]
Cursor = Annotated[str, Query(max_length=2000)]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedPrograms:
    """A program beside another. `complaint`: why there is nothing to show where something was asked for."""

    against: str | None = None
    files: Sequence[FileDifference] = ()
    added: int = 0
    removed: int = 0
    complaint: str = ""


@router.get("")
async def show_program(
    request: Request,
    candidate_id: CandidateId,
    api: Api,
    against: Against = "",
    view: Layout = "unified",
    children: Cursor = "",
    wanted: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Show a program."""
    program = await api.send(calls.get_program(candidate_id))
    return await render_program(
        request, api, program, against=against.strip(), view=view, children=children, wanted=wanted
    )


@router.post("/pin")
async def pin(candidate_id: CandidateId, api: Api) -> Response:
    """Keep a program at hand."""
    program = await api.send(calls.get_program(candidate_id))
    await api.send(calls.pin_program(program.run_id, program.id))
    return go_to(f"/programs/{program.id}")


@router.post("/unpin")
async def unpin(candidate_id: CandidateId, api: Api) -> Response:
    """Take the pin of a program away."""
    program = await api.send(calls.get_program(candidate_id))
    await api.send(calls.unpin_program(program.run_id, program.id))
    return go_to(f"/programs/{program.id}")


@router.post("/evaluate")
async def evaluate_again(candidate_id: CandidateId, api: Api) -> Response:
    """Have a program evaluated once more."""
    attempts = await api.send(calls.list_evaluations(candidate_id, limit=ATTEMPTS))
    taken = await api.send(calls.reassess_program(candidate_id))
    # With how many there were: the page knows by that when there is one more.
    return go_to(f"/programs/{taken.candidate_id}?wanted={len(attempts.items)}#attempts")


async def render_program(
    request: Request,
    api: AsyncClient,
    program: Program,
    *,
    status: int = 200,
    against: str = "",
    view: str = "unified",
    children: str = "",
    wanted: int | None = None,
    **values: Any,
) -> HTMLResponse:
    """The page of a program."""
    family = calls.list_children(program.id, limit=CHILDREN)
    run, source, parent, page, attempts, pins, notes, proposal, (before, after) = await asyncio.gather(
        api.send(calls.get_run(program.run_id)),
        if_any(api, calls.get_program_source(program.id)),
        _first_parent(api, program),
        api.send(family.at(children) if children else family),
        api.send(calls.list_evaluations(program.id, limit=ATTEMPTS)),
        if_any(api, calls.list_pins(program.run_id)),
        _notes(api, program),
        _proposal(api, program),
        neighbours(api, program),
    )
    pinned = pins.items if pins else []
    texts = [(file.path, file.text) for file in source.files] if source else []
    files = await asyncio.to_thread(shown_files, texts)  # it may take a second, and others wait for their pages
    return await render_about(
        request,
        run,
        program,
        "program.html",
        status,
        parent=parent,
        before=before,
        after=after,
        files=files if source else None,
        files_left_out=max(0, len(texts) - MAX_FILES),
        compared=await compare(api, program, source, against) if source else None,
        rivals=_rivals(run, program, pinned),
        view=view,
        against_typed=against,
        scores=scores_of(run, program, parent),
        measures=plain_scores(program.measures, parent.measures if parent else {}),
        cases=plain_scores(program.cases, parent.cases if parent else {})[:MAX_CASES],
        feedback=(program.feedback or "")[:MAX_FEEDBACK],
        feedback_left_out=max(0, len(program.feedback or "") - MAX_FEEDBACK),
        attempts=attempts.items,
        children=page,
        pinned=any(one.candidate_id == program.id for one in pinned),
        notes=notes,
        proposal=proposal,
        again=run.state in {*ENDED, "paused"} and program.program_id is not None and program.status == "evaluated",
        waits=wanted is not None and len(attempts.items) <= wanted,
        **{"complaint": "", "typed": "", "edited": "", **values},
    )


async def render_about(
    request: Request, run: Run, program: Program, template: str, status: int = 200, **values: Any
) -> HTMLResponse:
    """A page about a program: with the ways to the pages of its run."""
    return render(
        request,
        template,
        status,
        run=run,
        run_title=run_title(run),
        tabs=TABS,
        program=program,
        ended=run.state in ENDED,
        pairs=pairs,
        shortened=shortened,
        **values,
    )


async def compare(
    api: AsyncClient, program: Program, source: Source | None, against: str, maximum: int = MAX_LINES
) -> ComparedPrograms | None:
    """A program beside another, or beside its first parent; None: there is nothing to compare it with.

    Args:
        api: the way in.
        program: what is looked at.
        source: its text, which fills what is folded; None: that stays empty.
        against: id of the other.
        most: lines that are shown.
    """
    try:
        diff = await api.send(calls.get_diff(program.id, against))
    except (NotFoundError, UsageError, ConflictError, RefusedError) as error:
        return ComparedPrograms(against=against, complaint=str(error))
    if diff.against is None:
        return None
    texts = {file.path: file.text for file in source.files} if source else {}
    files = differences(diff.files, texts, maximum)
    return ComparedPrograms(against=diff.against, files=files, added=diff.added, removed=diff.removed)


async def if_any(api: AsyncClient, call: Call[Answer]) -> Answer | None:
    """What a call answers; None where there is none, or where the visitor may not see it."""
    try:
        return await api.send(call)
    except (NotFoundError, RefusedError):
        return None


async def neighbours(api: AsyncClient, program: Program) -> tuple[str | None, str | None]:
    """The candidates before and after one, in order of age."""
    number = program.proposal_number
    own = [one.id for one in await _of(api, program.run_id, number)]
    at = own.index(program.id)
    before = own[at - 1] if at else None
    after = own[at + 1] if at + 1 < len(own) else None
    for step in range(1, LOOKED_AHEAD + 1):
        if before is None and number >= step and (found := await _of(api, program.run_id, number - step)):
            before = found[-1].id
        if after is None and (found := await _of(api, program.run_id, number + step)):
            after = found[0].id
    return before, after


async def _of(api: AsyncClient, run_id: str, number: int) -> list[Program]:
    return (await api.send(calls.list_programs(run_id, number=number, limit=ANSWERS))).items


async def _first_parent(api: AsyncClient, program: Program) -> Program | None:
    first = next((edge.candidate_id for edge in program.parents if edge.role == "parent"), None)
    if first is None:
        return None
    return await if_any(api, calls.get_program(first))


async def _proposal(api: AsyncClient, program: Program) -> Any:
    if not program.proposal_number:
        return None
    return await if_any(api, calls.get_proposal(program.run_id, program.proposal_number))


async def _notes(api: AsyncClient, program: Program) -> list[Note]:
    found = await if_any(api, calls.list_notes(program.run_id, candidate_id=program.id, limit=MAX_NOTES))
    return [] if found is None else found.items


def _rivals(run: Run, program: Program, pins: Sequence[Pin]) -> list[tuple[str, str]]:
    """What a program may be compared with at a click: words and id."""
    found = [(edge.role, edge.candidate_id) for edge in program.parents]
    if run.best_candidate_id:
        found.append(("best", run.best_candidate_id))
    found += [("pinned", one.candidate_id) for one in pins]
    return [(words, id_) for words, id_ in found if id_ != program.id][:20]
