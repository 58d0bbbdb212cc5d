"""Where one program comes from and what came of it: a tree, a table, and the story of its line from the seed."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.pages import PageRoute
from service.dashboard.session import Api
from service.dashboard.views.program import CandidateId, ComparedPrograms, compare, if_any, render_about
from service.schemas.programs import Program

DESCENDANTS = 200
# Lines of other parents that are followed to their seeds.
OTHER_LINES = 12
# Steps of the story, the last ones, whose differences stand on the page.
STORY_DIFFS = 15
# Lines of each of them; the page of its program has more.
STORY_LINES = 200
router = APIRouter(prefix="/programs/{candidate_id}/ancestry", route_class=PageRoute, include_in_schema=False)
Show = Annotated[str, Query(pattern="^(|family|ancestors|descendants)$")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """A program of the family.

    Attributes:
        first: the parent under which it stands in the tree; None: none of those shown.
        others: its other parents that are shown.
        delta: its fitness less that of `first`.
    """

    program: Program
    first: str | None
    others: Sequence[str]
    delta: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AncestryStep:
    """A step of the story: a program, what it gained on the one before, and what was changed for that."""

    program: Program
    delta: float | None
    before: str | None
    compared: ComparedPrograms | None


@router.get("")
async def show_ancestry(request: Request, candidate_id: CandidateId, api: Api, show: Show = "") -> Response:
    """Show the family of a program."""
    program = await api.send(calls.get_program(candidate_id))
    show = show or ("ancestors" if program.parents else "descendants")
    run, line, below = await asyncio.gather(
        api.send(calls.get_run(program.run_id)),
        api.send(calls.get_lineage(program.id)),
        api.send(calls.get_lineage(program.id, direction="descendants", limit=DESCENDANTS)),
    )
    found = {one.id: one for one in [program, *line.items]}
    if show == "descendants":
        found = {program.id: program}
    else:
        found |= await _other_lines(api, line.items, found)
    if show != "ancestors":
        found |= {one.id: one for one in below.items}
    return await render_about(
        request,
        run,
        program,
        "ancestry.html",
        relatives=relatives(list(found.values())),
        steps=await _story(api, line.items[::-1]),
        show=show,
        below=len(below.items),
        truncated=below.truncated and show != "ancestors",
        line_truncated=line.truncated,
    )


def relatives(programs: Sequence[Program]) -> list[Relative]:
    """Programs in order of age, each under a parent that is among them."""
    known = {one.id: one for one in programs}
    found = []
    for one in sorted(programs, key=lambda each: (each.proposal_number, each.position)):
        edges = [edge.candidate_id for edge in one.parents if edge.role != "inspiration"]
        shown = list(dict.fromkeys(edge for edge in edges if edge in known and edge != one.id))
        first = shown[0] if shown else None
        delta = gain(one, known[first]) if first else None
        found.append(Relative(program=one, first=first, others=shown[1:], delta=delta))
    return found


def gain(program: Program, before: Program) -> float | None:
    """How much fitter a program is than another."""
    if program.fitness is None or before.fitness is None:
        return None
    return program.fitness - before.fitness


async def _other_lines(api: AsyncClient, line: Sequence[Program], known: dict[str, Program]) -> dict[str, Program]:
    """The lines of parents beside the first ones, back to where they meet what is known or begin."""
    found: dict[str, Program] = {}
    others = [edge.candidate_id for one in line for edge in one.parents if edge.role == "crossover"]
    for id_ in [one for one in dict.fromkeys(others) if one not in known][:OTHER_LINES]:
        if id_ in found:
            continue
        lineage = await if_any(api, calls.get_lineage(id_))
        if lineage is not None:
            found |= {one.id: one for one in lineage.items if one.id not in known}
    return found


async def _story(api: AsyncClient, line: Sequence[Program]) -> list[AncestryStep]:
    told = range(max(1, len(line) - STORY_DIFFS), len(line))
    differences = await asyncio.gather(*(_compared(api, line[at], line[at - 1].id) for at in told))
    by_place = dict(zip(told, differences, strict=True))
    return [
        AncestryStep(
            program=one,
            delta=gain(one, line[at - 1]) if at else None,
            before=line[at - 1].id if at else None,
            compared=by_place.get(at),
        )
        for at, one in enumerate(line)
    ]


async def _compared(api: AsyncClient, program: Program, before: str) -> ComparedPrograms | None:
    if program.program_id is None:
        return None
    return await compare(api, program, None, before, STORY_LINES)
