"""The list of runs, "what is going on?": filters in the address, filters that were saved, and what is new beside it."""

import asyncio
from collections.abc import Iterable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute, go_to, is_guest, render
from service.dashboard.run_page import run_title
from service.dashboard.session import Api, FormDep
from service.dashboard.views.examples import examples
from service.dashboard.views.runs_bulk import MAX_COMPARED, MIN_COMPARED
from service.dashboard.views.runs_filter import (
    COLUMNS,
    GROUPS,
    SORTS,
    STATES,
    RunsFilter,
    gap_closed,
    grouped,
    ordered,
    policy_name,
    unknown_filters,
)
from service.errors import NotFoundError, UsageError
from service.schemas.annotations import SavedFilter, SavedFilterCreate
from service.schemas.requests import checked
from service.schemas.runs import Run

SHOWN = 50
MAX_REFRESHED = 8
MAX_PROBLEMS = MAX_FILTERS = 200
PAGE = "runs"  # whose saved filters these are, among those of all pages
router = APIRouter(prefix="/runs", route_class=PageRoute, include_in_schema=False)
Id = Annotated[str, Path(max_length=100)]


@router.get("")
async def show_runs(request: Request, api: Api, cursor: Annotated[str, Query(max_length=2000)] = "") -> Response:
    """Show runs, newest first."""
    return await _page(request, api, RunsFilter.read(request.url.query), cursor)


@router.get("/rows")
async def show_rows(
    request: Request, api: Api, run: Annotated[list[str], Query(min_length=1, max_length=MAX_REFRESHED)]
) -> Response:
    """Show the rows of some runs as they are now; those that are gone are left out."""
    found = await _found(api, run)
    # The rows go into a list that may show any columns, so all of them come.
    only = RunsFilter(columns=tuple(key for key, _, _ in COLUMNS))
    return render(request, "runs_rows.html", groups=[("", found)], only=only, **_words())


@router.get("/fresh")
async def show_fresh(request: Request, api: Api, after: Annotated[str, Query(max_length=100)] = "") -> Response:
    """Say how many runs came that the list would show above a run."""
    only = RunsFilter.read(request.url.query)
    listed = (await api.send(only.call(SHOWN))).items
    fresh = sum(run.id > after for run in listed)  # ids of runs grow with time
    return render(request, "runs_fresh.html", fresh=fresh, more=fresh == SHOWN, back=only.address())


@router.post("/filters")
async def save_filter(request: Request, api: Api, form: FormDep) -> Response:
    """Save the filters of the list under a name."""
    only = RunsFilter.read(form.get("query", ""))
    settings = {"page": PAGE, "query": only.query()}
    try:
        saved = checked(SavedFilterCreate, name=" ".join(form.get("name", "").split()), settings=settings)
    except UsageError as error:
        return await _page(request, api, only, complaint=str(error), name=form.get("name", ""))
    await api.send(calls.create_saved_filter(saved))
    return go_to(only.address())


@router.post("/filters/{filter_id}/delete")
async def forget_filter(filter_id: Id, api: Api, form: FormDep) -> Response:
    """Remove a saved filter."""
    await api.send(calls.delete_saved_filter(filter_id))
    return go_to(RunsFilter.read(form.get("query", "")).address())


async def _page(
    request: Request, api: AsyncClient, only: RunsFilter, cursor: str = "", *, complaint: str = "", name: str = ""
) -> Response:
    position = (await api.send(calls.list_all_events(limit=1))).position  # before the list: nothing falls between
    problems, saved = [], list[SavedFilter]()
    if not is_guest(request):  # to whom one run is shown, and nothing else
        problems = (await api.send(calls.list_problems(limit=MAX_PROBLEMS))).items
        saved = (await api.send(calls.list_saved_filters(limit=MAX_FILTERS))).items
    wrong = ""
    runs, following, count = list[Run](), None, None
    try:
        call = only.call(SHOWN, count=True)
    except UsageError as error:
        wrong = str(error)
    else:
        listed = await api.send(call.at(cursor) if cursor else call)
        runs, following, count = listed.items, listed.next_cursor, listed.count
    return render(
        request,
        "runs.html",
        422 if wrong or complaint else 200,
        only=only,
        cursor=cursor,
        position=position,
        groups=grouped(ordered(runs, only.sort), only.group),
        newest=runs[0].id if runs and not cursor else "",
        next=only.address(cursor=following) if following else "",
        count=count,
        owners=sorted({run.created_by for run in runs if run.created_by}),
        problems=sorted({problem.name for problem in problems}),
        saved_filters=[(one, RunsFilter.read(str(one.settings.get("query", "")))) for one in _ours(saved)],
        wrong=wrong,
        unknown=unknown_filters(request.url.query),
        filter_reason=complaint,
        filter_name=name,
        states=STATES,
        group_names=GROUPS,
        compared=(MIN_COMPARED, MAX_COMPARED),
        examples=examples(),
        **_words(),
    )


def _words() -> dict[str, Any]:
    return {
        "title_of": run_title,
        "policy_name": policy_name,
        "gap_closed": gap_closed,
        "all_columns": COLUMNS,
        "sorts": SORTS,
    }


def _ours(saved: Iterable[SavedFilter]) -> list[SavedFilter]:
    return [one for one in saved if one.settings.get("page") == PAGE]


async def _found(api: AsyncClient, ids: Iterable[str]) -> list[Run]:
    async def read(run_id: str) -> Run | None:
        try:
            return await api.send(calls.get_run(run_id))
        except NotFoundError:
            return None

    found = await asyncio.gather(*map(read, dict.fromkeys(ids)))
    return [run for run in found if run is not None]
