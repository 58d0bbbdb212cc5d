"""The map of a run's programs, "which are alike?": near each other lie those with similar tokens."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import Response

from service.client import AsyncClient, calls
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api
from service.schemas.program_map import ProgramMap
from service.schemas.runs import Run

FITTEST = 20
MAX_GROUPS = 40
COLOURS = ("fitness", "island", "operator")
router = APIRouter(prefix="/runs/{run_id}/map", route_class=RunPageRoute, include_in_schema=False)
Colour = Literal["fitness", "island", "operator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedCandidate:
    """A candidate on the map. `away`: its distance from the best one."""

    name: str
    fitness: float
    island: int
    operator: str
    away: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedGroup:
    """Candidates of one island or operator.

    Attributes:
        spread: mean distance from their centre.
        away: distance of their centre from the best candidate; None: nothing is valid.
    """

    name: str
    count: int
    spread: float
    away: float | None


@router.get("")
async def show_map(request: Request, run_id: RunId, api: Api, colour: Colour = "fitness") -> Response:
    """Show the programs of a run in a plane."""
    run = await api.send(calls.get_run(run_id))
    values = await _placed(api, run)
    return await render_run(request, api, run, "program_map.html", "map", colour=colour, colours=COLOURS, **values)


@router.get("/table")
async def show_table(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the numbers alone, as they are now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "program_map_table.html", "map", **await _placed(api, run))


async def _placed(api: AsyncClient, run: Run) -> dict[str, Any]:
    found = await api.send(calls.get_program_map(run.id))
    best = best_of(found)
    islands = groups(found, best, found.island, lambda island: f"island {island}")
    operators = groups(found, best, found.operator, lambda code: found.operators[code])
    return {"map": found, "fittest": fittest(found, best), "groups": [*islands, *operators]}


def best_of(found: ProgramMap) -> int | None:
    """Which of the candidates on the map is the fittest, the oldest of equal ones; None: nothing is valid."""
    valid = [at for at, fitness in enumerate(found.fitness) if fitness is not None]
    return max(valid, key=lambda at: (found.fitness[at], -at), default=None)


def fittest(found: ProgramMap, best: int | None) -> list[PlacedCandidate]:
    """The fittest candidates with their distances from the best."""
    if best is None:
        return []
    valid = [(fitness, -at) for at, fitness in enumerate(found.fitness) if fitness is not None]
    return [
        PlacedCandidate(
            name=f"{found.proposal_number[-at]}.{found.position[-at]}",
            fitness=fitness,
            island=found.island[-at],
            operator=found.operators[found.operator[-at]],
            away=math.hypot(found.x[-at] - found.x[best], found.y[-at] - found.y[best]),
        )
        for fitness, at in sorted(valid, reverse=True)[:FITTEST]
    ]


def groups(
    found: ProgramMap, best: int | None, keys: Sequence[int], name_of: Callable[[int], str]
) -> list[PlacedGroup]:
    """The candidates of each island or operator, in order of their numbers; the first `MAX_GROUPS`."""
    members: dict[int, list[int]] = {}
    for at, key in enumerate(keys):
        members.setdefault(key, []).append(at)
    shown = []
    for key, places in sorted(members.items())[:MAX_GROUPS]:
        x, y = (math.fsum(column[at] for at in places) / len(places) for column in (found.x, found.y))
        spread = math.fsum(math.hypot(found.x[at] - x, found.y[at] - y) for at in places) / len(places)
        away = None if best is None else math.hypot(x - found.x[best], y - found.y[best])
        shown.append(PlacedGroup(name=name_of(key), count=len(places), spread=spread, away=away))
    return shown
