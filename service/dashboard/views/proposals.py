"""What a policy was asked and what it wrote: the chains of a run, and one of them with its answers side by side."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from service.client import calls
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api
from service.dashboard.views.candidate import Cursor, if_any
from service.projections.choices import choices_of
from service.schemas.candidates import Candidate, Parent
from service.schemas.runs import Run

PAGE, ANSWERS = 50, 200
MAX_TEXT = 100_000
router = APIRouter(prefix="/runs/{run_id}/proposals", route_class=RunPageRoute, include_in_schema=False)
Number = Annotated[int, Path(ge=0, le=2**31 - 1)]
State = Literal["", "asked", "answered", "failed", "unreadable"]


@router.get("")
async def list_proposals(
    request: Request, run_id: RunId, api: Api, state: State = "", cursor: Annotated[Cursor, Query()] = ""
) -> Response:
    """Show the proposals of a run."""
    call = calls.list_proposals(run_id, state=state, limit=PAGE)
    page = await api.send(call.at(cursor) if cursor else call)
    return await render_run(
        request, api, run_id, "proposals.html", "proposals", page=page, state_wanted=state, behind=bool(cursor)
    )


@router.get("/{number}")
async def show_proposal(request: Request, run_id: RunId, number: Number, api: Api) -> Response:
    """Show a proposal with everything that was written. The seeds stand where proposal 0 would."""
    run = await api.send(calls.get_run(run_id))
    if number == 0:
        seeds = (await api.send(calls.list_candidates(run.id, proposal_number=0, limit=ANSWERS))).items
        return await render_run(request, api, run, "seeds.html", "proposals", seeds=seeds)
    proposal = await api.send(calls.get_proposal(run.id, number))
    answers = (await api.send(calls.list_candidates(run.id, proposal_number=number, limit=ANSWERS))).items
    edges = edges_of(answers)
    first = next((edge.candidate_id for edge in edges if edge.role == "parent"), None)
    return await render_run(
        request,
        api,
        run,
        "proposal.html",
        "proposals",
        proposal=proposal,
        answers=answers,
        edges=edges,
        parent=await if_any(api, calls.get_candidate(first)) if first else None,
        weights=weighed(run, proposal.weights),
        choices=choices_of(proposal.rationale),
        rewards=reward_rows(run, answers),
        max_text=MAX_TEXT,
    )


def edges_of(answers: Sequence[Candidate]) -> list[Parent]:
    """Parents and inspirations that a prompt spoke of: its answers have them in common."""
    found = {(edge.candidate_id, edge.role): edge for one in answers for edge in one.parents}
    return list(found.values())


def weighed(run: Run, weights: Sequence[float]) -> list[tuple[str, float]]:
    """The weights that were drawn, by the objectives that they are of."""
    names = [str(one["name"]) for one in run.objectives]
    return [(names[at] if at < len(names) else f"weight {at + 1}", weight) for at, weight in enumerate(weights)]


def reward_rows(run: Run, answers: Sequence[Candidate]) -> list[tuple[str, list[Any]]]:
    """Reward vectors of answers as rows: one for each objective, with a value for each answer."""
    names = [str(one["name"]) for one in run.objectives]
    return [
        (name, [one.rewards[at] if one.rewards and at < len(one.rewards) else None for one in answers])
        for at, name in enumerate(names)
    ]
