"""The form that starts a run from a candidate of another: what is left empty stays as it was there."""

from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response
from starlette.concurrency import run_in_threadpool

from evolve.errors import EvolveError
from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to, render
from service.dashboard.run_page import RunId, run_title
from service.dashboard.session import Api, FormData, FormDep, SignedOutError
from service.dashboard.views.runs_filter import policy_name
from service.dashboard.views.submit import tell
from service.dashboard.views.submit_choices import form_with, labels_of, read_choices
from service.dashboard.views.submit_fields import (
    DESCRIBED,
    LIMITS,
    ROLES,
    SEARCH,
    SubmittedForm,
    flat,
    held_words,
    read_typed,
)
from service.errors import ServiceError
from service.identifiers import candidate_place
from service.schemas.requests import checked
from service.schemas.runs import Run, RunFork

router = APIRouter(prefix="/runs/{run_id}/fork", route_class=PageRoute, include_in_schema=False)


@router.get("")
async def show_fork(
    request: Request, run_id: RunId, api: Api, candidate: Annotated[str, Query(max_length=100)] = ""
) -> Response:
    """Show the form; without a candidate, for the best one of the run."""
    run = await api.send(calls.get_run(run_id))
    fields = {"candidate": candidate or run.best_candidate_id or "", **labels_of(run), "run_name": ""}
    return await _page(request, api, run, form_with(fields), SubmittedForm())


@router.post("")
async def fork(request: Request, run_id: RunId, api: Api, form: FormDep) -> Response:
    """Submit the fork, and lead to it."""
    run = await api.send(calls.get_run(run_id))
    typed = await run_in_threadpool(read_typed, form)
    if not typed.complaints:
        try:
            made = await api.send(calls.fork_run(run.id, _fork_of(form, typed)))
        except SignedOutError:
            raise
        except (ServiceError, EvolveError) as error:
            tell(typed, form, error)
        else:
            return go_to(f"/runs/{made.id}")
    return await _page(request, api, run, form, typed)


def _fork_of(form: FormData, typed: SubmittedForm) -> RunFork:
    candidate = form.get("candidate", "").strip()
    return checked(RunFork, candidate_id=candidate, config=typed.config, policy=typed.policy, labels=typed.labels)


async def _page(request: Request, api: AsyncClient, run: Run, form: FormData, typed: SubmittedForm) -> Response:
    return render(
        request,
        "fork.html",
        422 if typed.complaints else 200,
        run=run,
        run_title=run_title(run),
        candidate_href=_address(run, form.get("candidate", "").strip()),
        policies=[policy_name(policy) for policy in run.policies],
        unsaid={key: f"as there: {held_words(key, value)}" for key, value in flat(run.config).items()},
        form=form,
        complaints=typed.complaints,
        choices=await read_choices(api),
        limits=LIMITS,
        search=SEARCH,
        roles=ROLES,
        described_choice=DESCRIBED,
    )


def _address(run: Run, named: str) -> str:
    place = candidate_place(named)
    return f"/candidates/{quote(f'{run.id}.{named}' if place and not place.run else named, safe='')}"
