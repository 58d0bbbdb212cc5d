"""A candidate in short, "what is this mark?": shown beside a chart, in place of a page of its own."""

import asyncio

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.client import calls
from service.dashboard.pages import PageRoute, go_to, is_part, render
from service.dashboard.scores import scores_of
from service.dashboard.session import Api
from service.dashboard.views.candidate import CandidateId, compare, first_parent, proposal_of, render_about
from service.dashboard.views.story import own_words
from service.errors import NotFoundError

MAX_DIFF_LINES = 80
MAX_FEEDBACK = 1500
router = APIRouter(prefix="/candidates/{candidate_id}", route_class=PageRoute, include_in_schema=False)


@router.get("/inspect")
async def show_in_short(request: Request, candidate_id: CandidateId, api: Api) -> Response:
    """Show a candidate beside a chart; whoever opens the address itself comes to its page.

    That there is none is an answer to a chart, too, and no failure that another try would mend.
    """
    try:
        candidate = await api.send(calls.get_candidate(candidate_id))
    except NotFoundError:
        if not is_part(request):
            raise
        return render(request, "candidate_absent.html", name=candidate_id.partition(".")[2] or candidate_id)
    if not is_part(request):
        return go_to(f"/candidates/{candidate.id}")
    run, parent, compared, proposal = await asyncio.gather(
        api.send(calls.get_run(candidate.run_id)),
        first_parent(api, candidate),
        compare(api, candidate, None, "", MAX_DIFF_LINES),
        proposal_of(api, candidate),
    )
    return await render_about(
        request,
        run,
        candidate,
        "candidate_inspector.html",
        parent=parent,
        compared=compared,
        words=own_words(proposal, candidate.position) if proposal else "",
        scores=scores_of(run, candidate, parent),
        may_see_texts=candidate.feedback is not None,
        feedback=(candidate.feedback or "")[-MAX_FEEDBACK:],
    )


@router.get("/picture")
async def show_picture(request: Request, candidate_id: CandidateId, api: Api) -> Response:
    """Show the picture of a candidate alone, beside a replay of its run."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    may_see = candidate.feedback is not None
    return render(request, "candidate_picture.html", candidate=candidate, may_see_texts=may_see)
