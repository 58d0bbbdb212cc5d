"""A candidate edited by hand: its program in text areas, which becomes a new candidate of the run."""

from collections.abc import Sequence

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evolve.errors import EvolveError
from evolve.repository import MANIFEST
from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to
from service.dashboard.session import Api, FormData, FormDep, SignedOutError
from service.dashboard.views.candidate import CandidateId, render_about
from service.errors import ServiceError
from service.schemas.candidates import Candidate
from service.schemas.insertions import CandidateInsert
from service.schemas.requests import checked

router = APIRouter(prefix="/candidates/{candidate_id}/edit", route_class=PageRoute, include_in_schema=False)
MAX_EDITED = 20  # files; more are for the command line


@router.get("")
async def show_edit(request: Request, candidate_id: CandidateId, api: Api) -> Response:
    """Show the program in a form."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    return await _page(request, api, candidate, await _texts(api, candidate))


@router.post("")
async def insert(request: Request, candidate_id: CandidateId, api: Api, form: FormDep) -> Response:
    """Insert the edited program, and lead to the changes of the run."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    files = _edited(form, await _texts(api, candidate))
    try:
        wanted = checked(CandidateInsert, files=dict(files), parent=candidate.id)
        run = await api.send(calls.insert_candidate(candidate.run_id, wanted))
    except SignedOutError:
        raise
    except (ServiceError, EvolveError) as error:
        return await _page(request, api, candidate, files, str(error))
    return go_to(f"/runs/{run.id}#changes")


async def _texts(api: AsyncClient, candidate: Candidate) -> list[tuple[str, str]]:
    source = await api.send(calls.get_candidate_source(candidate.id))
    return [(file.path, file.text) for file in source.files if file.path != MANIFEST][:MAX_EDITED]


def _edited(form: FormData, texts: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(path, form.get(f"text-{place}", text)) for place, (path, text) in enumerate(texts)]


async def _page(
    request: Request,
    api: AsyncClient,
    candidate: Candidate,
    files: Sequence[tuple[str, str]],
    complaint: str = "",
) -> Response:
    run = await api.send(calls.get_run(candidate.run_id))
    status = 422 if complaint else 200
    return await render_about(request, run, candidate, "candidate_edit.html", status, files=files, complaint=complaint)
