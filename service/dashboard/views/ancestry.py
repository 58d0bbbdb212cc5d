"""Where one candidate comes from and what came of it: a tree, a table, and the story of its line from the seed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute
from service.dashboard.session import Api
from service.dashboard.views.candidate import CandidateId, ComparedCandidates, compare, if_any, render_about
from service.schemas.candidates import Candidate

DESCENDANTS = 200
# Lines of other parents that are followed to their seeds.
OTHER_LINES = 12
# Steps of the story, the last ones, whose differences stand on the page.
STORY_DIFFS = 15
# Lines of each of them; the page of its candidate has more.
STORY_LINES = 200
router = APIRouter(prefix="/candidates/{candidate_id}/ancestry", route_class=PageRoute, include_in_schema=False)
Show = Annotated[str, Query(pattern="^(|family|ancestors|descendants)$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """A candidate of the family.

    Attributes:
        first: the parent under which it stands in the tree; None: none of those shown.
        others: its other parents that are shown.
        delta: its fitness less that of `first`.
    """

    candidate: Candidate
    first: str | None
    others: Sequence[str]
    delta: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AncestryStep:
    """A step of the story: a candidate, what it gained on the one before, and what was changed for that."""

    candidate: Candidate
    delta: float | None
    before: str | None
    compared: ComparedCandidates | None


@router.get("")
async def show_ancestry(request: Request, candidate_id: CandidateId, api: Api, show: Show = "") -> Response:
    """Show the family of a candidate."""
    candidate = await api.send(calls.get_candidate(candidate_id))
    show = show or ("ancestors" if candidate.parents else "descendants")
    run, line, below = await asyncio.gather(
        api.send(calls.get_run(candidate.run_id)),
        api.send(calls.get_lineage(candidate.id)),
        api.send(calls.get_lineage(candidate.id, direction="descendants", limit=DESCENDANTS)),
    )
    found = {one.id: one for one in [candidate, *line.items]}
    if show == "descendants":
        found = {candidate.id: candidate}
    else:
        found |= await _other_lines(api, line.items, found)
    if show != "ancestors":
        found |= {one.id: one for one in below.items}
    return await render_about(
        request,
        run,
        candidate,
        "ancestry.html",
        relatives=relatives(list(found.values())),
        steps=await _story(api, line.items[::-1]),
        show=show,
        below=len(below.items),
        truncated=below.truncated and show != "ancestors",
        line_truncated=line.truncated,
    )


def relatives(candidates: Sequence[Candidate]) -> list[Relative]:
    """Candidates in order of age, each under a parent that is among them."""
    known = {one.id: one for one in candidates}
    found = []
    for one in sorted(candidates, key=lambda each: (each.proposal_number, each.position)):
        edges = [edge.candidate_id for edge in one.parents if edge.role != "inspiration"]
        shown = list(dict.fromkeys(edge for edge in edges if edge in known and edge != one.id))
        first = shown[0] if shown else None
        delta = gain(one, known[first]) if first else None
        found.append(Relative(candidate=one, first=first, others=shown[1:], delta=delta))
    return found


def gain(candidate: Candidate, before: Candidate) -> float | None:
    """How much fitter a candidate is than another."""
    if candidate.fitness is None or before.fitness is None:
        return None
    return candidate.fitness - before.fitness


async def _other_lines(
    api: AsyncClient, line: Sequence[Candidate], known: dict[str, Candidate]
) -> dict[str, Candidate]:
    """The lines of parents beside the first ones, back to where they meet what is known or begin."""
    found: dict[str, Candidate] = {}
    others = [edge.candidate_id for one in line for edge in one.parents if edge.role == "crossover"]
    for id_ in [one for one in dict.fromkeys(others) if one not in known][:OTHER_LINES]:
        if id_ in found:
            continue
        lineage = await if_any(api, calls.get_lineage(id_))
        if lineage is not None:
            found |= {one.id: one for one in lineage.items if one.id not in known}
    return found


async def _story(api: AsyncClient, line: Sequence[Candidate]) -> list[AncestryStep]:
    told = range(max(1, len(line) - STORY_DIFFS), len(line))
    differences = await asyncio.gather(*(_compared(api, line[at], line[at - 1].id) for at in told))
    by_place = dict(zip(told, differences, strict=True))
    return [
        AncestryStep(
            candidate=one,
            delta=gain(one, line[at - 1]) if at else None,
            before=line[at - 1].id if at else None,
            compared=by_place.get(at),
        )
        for at, one in enumerate(line)
    ]


async def _compared(api: AsyncClient, candidate: Candidate, before: str) -> ComparedCandidates | None:
    if candidate.program_id is None:
        return None
    return await compare(api, candidate, None, before, STORY_LINES)
