"""The candidates of a run as a table, filtered and ordered, with columns as asked for; several side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Literal, get_args
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import Response

from evolve.evaluation import Outcome
from service.client import calls
from service.dashboard.difference import pairs
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import RunId, render_run
from service.dashboard.scores import names_of, value_of
from service.dashboard.session import Api
from service.dashboard.source import shortened
from service.dashboard.views.candidate import ComparedCandidates, Cursor, Layout, compare, if_any
from service.errors import UsageError
from service.schemas.candidates import Candidate, Status

PAGE = 50
MAX_COLUMNS = 60
MAX_SELECTED = 8
DEFAULT_COLUMNS = 6
router = APIRouter(prefix="/runs/{run_id}/candidates", route_class=RunPageRoute, include_in_schema=False)
Text = Annotated[str, Query(max_length=200)]
Word = Annotated[str, Query(pattern="^[a-z]{0,20}$")]
Whole = Annotated[str, Query(pattern=r"^\s*\d{0,9}\s*$")]
Order = Literal["age", "fitness"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which candidates are shown, as it stands in the fields; empty: any."""

    status: str = ""
    outcome: str = ""
    island: str = ""
    operator: str = ""
    policy: str = ""
    proposal_number: str = ""
    text: str = ""
    reason: str = ""

    @property
    def chosen(self) -> dict[str, str]:
        """Those that are not empty."""
        return {name: value for name, value in asdict(self).items() if value}


def filters(
    status: Word = "",
    outcome: Word = "",
    island: Whole = "",
    operator: Text = "",
    policy: Text = "",
    proposal_number: Whole = "",
    text: Text = "",
    reason: Annotated[str, Query(max_length=300)] = "",
) -> Filters:
    """The filters of an address."""
    return Filters(
        status=status,
        outcome=outcome,
        island=island.strip(),
        operator=operator.strip(),
        policy=policy.strip(),
        proposal_number=proposal_number.strip(),
        text=text,
        reason=reason,
    )


@router.get("")
async def list_candidates(
    request: Request,
    run_id: RunId,
    api: Api,
    only: Annotated[Filters, Depends(filters)],
    order: Order = "age",
    columns: Annotated[list[str] | None, Query(max_length=MAX_COLUMNS)] = None,
    cursor: Cursor = "",
) -> Response:
    """Show the candidates of a run."""
    run = await api.send(calls.get_run(run_id))
    call = calls.list_candidates(
        run.id,
        order=order,
        status=only.status,
        outcome=only.outcome,
        island=_whole(only.island),
        operator=only.operator,
        policy=only.policy,
        proposal_number=_whole(only.proposal_number),
        text=only.text,
        reason=only.reason,
        limit=PAGE,
        count=not only.text,
    )
    page = await api.send(call.at(cursor) if cursor else call)
    chosen = [name for name in columns or () if name]
    shown = chosen or [str(one["name"]) for one in run.objectives][:DEFAULT_COLUMNS]
    place, more = f"/runs/{run.id}/candidates", [("columns", name) for name in chosen]
    behind = [*more, ("cursor", page.next_cursor or "")]
    return await render_run(
        request,
        api,
        run,
        "candidates.html",
        "candidates",
        page=page,
        filters=only,
        order=order,
        names=list(dict.fromkeys([*names_of(run, page.items)[:MAX_COLUMNS], *shown])),
        columns=shown,
        value_of=value_of,
        statuses=get_args(Status),
        outcomes=[str(one) for one in Outcome],
        any_reason=_address(place, replace(only, reason=""), order, more),
        by={name: _address(place, only, name, more) for name in get_args(Order)},
        first=_address(place, only, order, more) if cursor else None,
        following=_address(place, only, order, behind) if page.next_cursor else None,
        counted=_address(f"/v1{place}", only, order, [("limit", "1"), ("include", "count")]),
    )


@router.get("/selected")
async def compare_selected(
    request: Request,
    run_id: RunId,
    api: Api,
    ids: Annotated[list[str] | None, Query(alias="id")] = None,
    view: Layout = "unified",
) -> Response:
    """Show several candidates beside each other, and of two what differs."""
    run = await api.send(calls.get_run(run_id))
    chosen = list(dict.fromkeys(one.strip() for one in ids or () if one.strip()))
    if not 2 <= len(chosen) <= MAX_SELECTED:
        raise UsageError(f"select 2 to {MAX_SELECTED} candidates to compare them")
    candidates = [await api.send(calls.get_candidate(one)) for one in chosen]
    compared: ComparedCandidates | None = None
    if len(candidates) == 2:
        source = await if_any(api, calls.get_candidate_source(candidates[1].id))
        compared = await compare(api, candidates[1], source, candidates[0].id)
    return await render_run(
        request,
        api,
        run,
        "candidates_selected.html",
        "candidates",
        candidates=candidates,
        names=names_of(run, candidates)[:MAX_COLUMNS],
        best=_best(run.objectives, candidates),
        value_of=value_of,
        compared=compared,
        view=view,
        pairs=pairs,
        shortened=shortened,
    )


def _best(objectives: Sequence[Mapping[str, object]], candidates: Sequence[Candidate]) -> dict[str, float]:
    """The best value among some candidates, by the name of its objective."""
    found = {}
    for one in objectives:
        name = str(one["name"])
        values = [candidate.scores[name] for candidate in candidates if name in candidate.scores]
        if values:
            found[name] = min(values) if one.get("direction") == "minimize" else max(values)
    return found


def _address(place: str, only: Filters, order: str, more: Sequence[tuple[str, str]] = ()) -> str:
    return f"{place}?{urlencode([('order', order), *only.chosen.items(), *more])}"


def _whole(text: str) -> int | None:
    return int(text) if text else None
