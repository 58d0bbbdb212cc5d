"""One candidate, "what is this?": what it is worth, what it came of, what it says, and what people say of it."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from evolve.identity import candidate_id as id_of_candidate
from evolve.repository import base_commit
from service.client import AsyncClient, Call, calls
from service.dashboard.difference import MAX_LINES, FileDifference, differences, pairs
from service.dashboard.pages import PageRoute, go_to, render
from service.dashboard.run_page import ENDED, TABS, run_title
from service.dashboard.scores import plain_scores, scores_of
from service.dashboard.session import Api, FormDep
from service.dashboard.source import MAX_FILES, shortened, shown_files
from service.errors import ConflictError, NotFoundError, RefusedError, UsageError
from service.schemas.annotations import Note, Pin
from service.schemas.bans import Ban, BanCreate
from service.schemas.candidates import Candidate, Source
from service.schemas.priorities import DEFAULT_PRIORITY_PROPOSALS, Priority, PriorityCreate
from service.schemas.requests import checked
from service.schemas.runs import Run

CHILDREN, ATTEMPTS, ANSWERS = 50, 200, 200
MAX_CASES = 200
MAX_FEEDBACK = 20_000
MAX_NOTES = 200
MAX_COMMIT = 64
# Proposals without any candidate are passed over, so many at most.
LOOKED_AHEAD = 4
router = APIRouter(prefix="/candidates/{candidate_id}", route_class=PageRoute, include_in_schema=False)
CandidateId = Annotated[str, Path(max_length=100)]
Against = Annotated[str, Query(max_length=100)]
Layout = Annotated[str, Query(pattern="^(unified|split)$")]
Cursor = Annotated[str, Query(max_length=2000)]
Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedCandidates:
    """A candidate beside another. `complaint`: why there is nothing to show where something was asked for."""

    against: str | None = None
    files: Sequence[FileDifference] = ()
    added: int = 0
    removed: int = 0
    complaint: str = ""


@router.get("")
async def show_candidate(
    request: Request,
    candidate_id: CandidateId,
    api: Api,
    against: Against = "",
    view: Layout = "unified",
    children: Cursor = "",
    wanted: Annotated[int | None, Query(ge=0)] = None,
) -> Response:
    """Show a candidate."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    return await render_candidate(
        request, api, candidate, against=against.strip(), view=view, children=children, wanted=wanted
    )


@router.post("/pin")
async def pin(candidate_id: CandidateId, api: Api) -> Response:
    """Keep a candidate at hand."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    await api.send(calls.pin_candidate(candidate.run_id, candidate.id))
    return go_to(f"/candidates/{candidate.id}")


@router.post("/unpin")
async def unpin(candidate_id: CandidateId, api: Api) -> Response:
    """Take the pin of a candidate away."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    await api.send(calls.unpin_candidate(candidate.run_id, candidate.id))
    return go_to(f"/candidates/{candidate.id}")


@router.post("/ban")
async def ban(candidate_id: CandidateId, api: Api, form: FormDep) -> Response:
    """Ban a candidate, or also its descendants."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    wanted = checked(BanCreate, candidate_id=candidate.id, descendants=bool(form.get("descendants")))
    await api.send(calls.create_ban(candidate.run_id, wanted))
    return go_to(f"/candidates/{candidate.id}")


@router.post("/unban")
async def lift_ban(candidate_id: CandidateId, api: Api) -> Response:
    """Lift the ban of a candidate."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    await api.send(calls.lift_ban(candidate.run_id, candidate.id))
    return go_to(f"/candidates/{candidate.id}")


@router.post("/priority")
async def give_priority(candidate_id: CandidateId, api: Api, form: FormDep) -> Response:
    """Have the next proposals of the run start from a candidate."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    proposals = form.proposals(DEFAULT_PRIORITY_PROPOSALS)
    wanted = checked(PriorityCreate, candidate_id=candidate.id, proposals=proposals)
    await api.send(calls.create_priority(candidate.run_id, wanted))
    return go_to(f"/candidates/{candidate.id}")


@router.post("/no-priority")
async def lift_priority(candidate_id: CandidateId, api: Api) -> Response:
    """Lift the priority of a candidate."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    await api.send(calls.lift_priority(candidate.run_id, candidate.id))
    return go_to(f"/candidates/{candidate.id}")


@router.post("/evaluate")
async def evaluate_again(candidate_id: CandidateId, api: Api) -> Response:
    """Have a candidate evaluated once more."""
    attempts = await api.send(calls.list_evaluations(candidate_id, limit=ATTEMPTS))
    taken = await api.send(calls.reevaluate_candidate(candidate_id))
    # With how many there were: the page knows by that when there is one more.
    return go_to(f"/candidates/{taken.candidate_id}?wanted={len(attempts.items)}#attempts")


async def render_candidate(
    request: Request,
    api: AsyncClient,
    candidate: Candidate,
    *,
    status: int = 200,
    against: str = "",
    view: str = "unified",
    children: str = "",
    wanted: int | None = None,
    **values: Any,
) -> HTMLResponse:
    """The page of a candidate."""
    family = calls.list_children(candidate.id, limit=CHILDREN)
    (run, source, attempts, pins, notes, steering), (parent, page, proposal, beside) = await asyncio.gather(
        asyncio.gather(
            api.send(calls.get_run(candidate.run_id)),
            _source(api, candidate),
            api.send(calls.list_evaluations(candidate.id, limit=ATTEMPTS)),
            _pins(api, candidate),
            _notes(api, candidate),
            _steering(api, candidate),
        ),
        asyncio.gather(
            first_parent(api, candidate),
            api.send(family.at(children) if children else family),
            proposal_of(api, candidate),
            neighbours(api, candidate),
        ),
    )
    texts = [(file.path, file.text) for file in source.files] if source else []
    files = await asyncio.to_thread(shown_files, texts)  # it may take a second, and others wait for their pages
    return await render_about(
        request,
        run,
        candidate,
        "candidate.html",
        status,
        parent=parent,
        before=beside[0],
        after=beside[1],
        files=files if source else None,
        **_about_source(texts),
        compared=await compare(api, candidate, source, against) if source else None,
        rivals=_rivals(run, candidate, pins),
        view=view,
        may_see_texts=candidate.feedback is not None,
        against_typed=against,
        scores=scores_of(run, candidate, parent),
        **_values(candidate, parent),
        attempts=attempts.items,
        children=page,
        pinned=any(one.candidate_id == candidate.id for one in pins),
        **steering,
        notes=notes,
        proposal=proposal,
        again=run.state in {*ENDED, "paused"} and candidate.program_id is not None and candidate.status == "evaluated",
        waits=wanted is not None and len(attempts.items) <= wanted,
        **{"complaint": "", "typed": "", "edited": "", **values},
    )


def _about_source(texts: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The commit that a program changes, if it lies over one, and the number of files that are not shown."""
    return {"base": base_commit(dict(texts))[:MAX_COMMIT], "files_left_out": max(0, len(texts) - MAX_FILES)}


def _values(candidate: Candidate, parent: Candidate | None) -> dict[str, Any]:
    """Beside its scores: what else its evaluation says."""
    feedback = candidate.feedback or ""
    return {
        "measures": plain_scores(candidate.measures, parent.measures if parent else {}),
        "cases": plain_scores(candidate.cases, parent.cases if parent else {})[:MAX_CASES],
        "feedback": feedback[:MAX_FEEDBACK],
        "feedback_left_out": max(0, len(feedback) - MAX_FEEDBACK),
    }


async def render_about(
    request: Request, run: Run, candidate: Candidate, template: str, status: int = 200, **values: Any
) -> HTMLResponse:
    """A page about a candidate: with the ways to the pages of its run."""
    return render(
        request,
        template,
        status,
        run=run,
        run_title=run_title(run),
        tabs=TABS,
        candidate=candidate,
        ended=run.state in ENDED,
        pairs=pairs,
        shortened=shortened,
        **values,
    )


async def compare(
    api: AsyncClient, candidate: Candidate, source: Source | None, against: str, maximum: int = MAX_LINES
) -> ComparedCandidates | None:
    """A candidate beside another, or beside its first parent; None: there is nothing to compare it with.

    Args:
        api: the way in.
        candidate: what is looked at.
        source: its text, which fills what is folded; None: that stays empty.
        against: id of the other.
        maximum: lines that are shown.
    """
    try:
        diff = await api.send(calls.get_diff(candidate.id, against=against))
    except (NotFoundError, UsageError, ConflictError, RefusedError) as error:
        return ComparedCandidates(against=against, complaint=str(error))
    if diff.against is None:
        return None
    texts = {file.path: file.text for file in source.files} if source else {}
    files = differences(diff.files, texts, maximum)
    return ComparedCandidates(against=diff.against, files=files, added=diff.added, removed=diff.removed)


async def if_any(api: AsyncClient, call: Call[Answer]) -> Answer | None:
    """What a call answers; None where there is none, or where the visitor may not see it."""
    try:
        return await api.send(call)
    except (NotFoundError, RefusedError):
        return None


async def neighbours(api: AsyncClient, candidate: Candidate) -> tuple[str | None, str | None]:
    """The candidates before and after one, in order of age."""
    number = candidate.proposal_number
    own = [one.id for one in await _of(api, candidate.run_id, number)]
    at = own.index(candidate.id)
    before = own[at - 1] if at else None
    after = own[at + 1] if at + 1 < len(own) else None
    for step in range(1, LOOKED_AHEAD + 1):
        if before is None and number >= step and (found := await _of(api, candidate.run_id, number - step)):
            before = found[-1].id
        if after is None and (found := await _of(api, candidate.run_id, number + step)):
            after = found[0].id
    return before, after


async def _of(api: AsyncClient, run_id: str, number: int) -> list[Candidate]:
    return (await api.send(calls.list_candidates(run_id, proposal_number=number, limit=ANSWERS))).items


async def first_parent(api: AsyncClient, candidate: Candidate) -> Candidate | None:
    """What a candidate was made from first; None: it is a seed, or the visitor may not see it."""
    first = next((edge.candidate_id for edge in candidate.parents if edge.role == "parent"), None)
    if first is None:
        return None
    return await if_any(api, calls.get_candidate(first))


async def proposal_of(api: AsyncClient, candidate: Candidate) -> Any:
    """The proposal that a candidate answers; None: it is a seed, or the visitor may not see it."""
    if not candidate.proposal_number:
        return None
    return await if_any(api, calls.get_proposal(candidate.run_id, candidate.proposal_number))


async def _source(api: AsyncClient, candidate: Candidate) -> Source | None:
    return await if_any(api, calls.get_candidate_source(candidate.id))


async def _pins(api: AsyncClient, candidate: Candidate) -> Sequence[Pin]:
    found = await if_any(api, calls.list_pins(candidate.run_id))
    return () if found is None else found.items


async def _bans(api: AsyncClient, candidate: Candidate) -> Sequence[Ban]:
    """The bans by which a candidate is banned: its own first, and those of its ancestors."""
    found = await if_any(api, calls.list_bans(candidate.run_id, candidate_id=candidate.id))
    return sorted(found.items if found else (), key=lambda ban: ban.candidate_id != candidate.id)


async def _priority(api: AsyncClient, candidate: Candidate) -> Priority | None:
    """The priority that a candidate has."""
    found = await if_any(api, calls.list_priorities(candidate.run_id))
    return next((one for one in (found.items if found else ()) if one.candidate_id == candidate.id), None)


async def _steering(api: AsyncClient, candidate: Candidate) -> dict[str, Any]:
    """What people want the search to do with a candidate."""
    bans, priority = await asyncio.gather(_bans(api, candidate), _priority(api, candidate))
    return {"bans": bans, "priority": priority, "default_proposals": DEFAULT_PRIORITY_PROPOSALS}


async def _notes(api: AsyncClient, candidate: Candidate) -> list[Note]:
    found = await if_any(api, calls.list_notes(candidate.run_id, candidate_id=candidate.id, limit=MAX_NOTES))
    return [] if found is None else found.items


def _rivals(run: Run, candidate: Candidate, pins: Sequence[Pin]) -> list[tuple[str, str]]:
    """What a candidate may be compared with at a click: words and id."""
    found = [(edge.role, edge.candidate_id) for edge in candidate.parents]
    if run.best_candidate_id:
        found.append(("best", run.best_candidate_id))
    found += [("pinned", one.candidate_id) for one in pins]
    found.append(("first seed", id_of_candidate(run.id, 0, 0)))
    different = {id_: words for words, id_ in reversed(found) if id_ != candidate.id}
    return [(words, id_) for id_, words in reversed(different.items())][:20]
