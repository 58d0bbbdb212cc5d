"""Lineage of a whole run, "where did it come from?": every candidate at its place, and one line back to a seed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api
from service.dashboard.views.candidate import if_any
from service.schemas.bans import Ban
from service.schemas.candidates import Candidate
from service.schemas.runs import Run

MAX_STEPS = 200
MAX_LINE = 1000
router = APIRouter(prefix="/runs/{run_id}/lineage", route_class=RunPageRoute, include_in_schema=False)
At = Annotated[str, Query(pattern=r"^([0-9]{1,15}\.[0-9]{1,9})?$", description="Proposal and position of a candidate.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageEntry:
    """One candidate of a line.

    Attributes:
        depth: how many steps it is from its seed.
        gain: its fitness less that of its parent; None: one of them has none.
        others: ids of the parents beside the first one, from a crossover.
        banned: whether a person banned it, or one of these before it with its descendants.
    """

    candidate: Candidate
    depth: int
    gain: float | None
    others: Sequence[str]
    banned: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageTable:
    """A candidate and where it comes from, itself first.

    Attributes:
        at: its place, where somebody chose it; empty: it is the best of the run.
        omitted: how many steps before these are not told.
        seed_told: whether the first step of all is known.
    """

    at: str
    steps: Sequence[LineageEntry]
    omitted: int
    seed_told: bool


@router.get("")
async def show_lineage(
    request: Request,
    run_id: RunId,
    api: Api,
    at: At = "",
    x: Literal["proposal", "evaluation"] = "proposal",
    lanes: Literal["stacked", "common"] = "stacked",
) -> Response:
    """Show all candidates of a run with their descent."""
    run = await api.send(calls.get_run(run_id))
    line = await _line(api, run, at)
    return await render_run(request, api, run, "lineage.html", "lineage", line=line, x=x, lanes=lanes)


@router.get("/line")
async def show_line(request: Request, run_id: RunId, api: Api, at: At = "") -> Response:
    """Show the line of one candidate alone."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "lineage_line.html", "lineage", line=await _line(api, run, at))


async def _line(api: AsyncClient, run: Run, at: str) -> LineageTable | None:
    """The line of the candidate at a place, or of the best; None: nothing is valid yet."""
    number, _, position = at.partition(".")
    chosen = f"{run.id}.{int(number)}.{int(position)}" if at else run.best_candidate_id
    if chosen is None:
        return None
    lineage = await api.send(calls.get_lineage(chosen, limit=MAX_LINE))
    bans = await if_any(api, calls.list_bans(run.id))
    return line_of(lineage.items, bans.items if bans else (), at=at, truncated=lineage.truncated)


def line_of(
    candidates: Sequence[Candidate], bans: Sequence[Ban] = (), *, at: str = "", truncated: bool = False
) -> LineageTable:
    """A line as it is shown.

    Args:
        candidates: a candidate and its first parents, itself first.
        bans: of the run.
        at: its place, if somebody chose it.
        truncated: whether the line goes on before the last of them.
    """
    parents: list[Candidate | None] = [*candidates[1:], None]
    wide = {ban.candidate_id: ban.descendants for ban in bans}
    firsts = [place for place, one in enumerate(candidates) if wide.get(one.id)]
    steps = [
        LineageEntry(
            candidate=candidate,
            depth=len(candidates) - 1 - place,
            gain=_gain(candidate, parent),
            others=[one.candidate_id for one in candidate.parents if one.role == "crossover"],
            banned=candidate.id in wide or any(place < first for first in firsts),
        )
        for place, (candidate, parent) in enumerate(zip(candidates, parents, strict=True))
    ]
    shown = steps if len(steps) <= MAX_STEPS else steps[: MAX_STEPS - 1] + steps[-1:]
    return LineageTable(at=at, steps=shown, omitted=len(steps) - len(shown), seed_told=not truncated)


def _gain(candidate: Candidate, parent: Candidate | None) -> float | None:
    if parent is None or candidate.fitness is None or parent.fitness is None:
        return None
    return candidate.fitness - parent.fitness
