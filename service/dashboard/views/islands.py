"""The islands of a run, "are they different?": how each does, who moved between them, and which began anew."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from evolve.events import EventKind
from service.client import AsyncClient, Call, calls
from service.dashboard.loading import RunPageRoute
from service.dashboard.run_page import RunId, render_run
from service.dashboard.session import Api
from service.schemas.archives import Island, Migration
from service.schemas.runs import Run
from service.schemas.series import RunMark

MAX_PAGES, PAGE = 10, 200
MAX_IN_MATRIX = MAX_LANES = 24
MAX_ARCS = 500
TINTS = 5
STRIP_WIDTH, STRIP_LEFT, STRIP_RIGHT, LANE = 1000, 80, 14, 26
MOVED = frozenset({str(EventKind.ISLAND_MIGRATED), str(EventKind.ISLAND_RESET)})
router = APIRouter(prefix="/runs/{run_id}/islands", route_class=RunPageRoute, include_in_schema=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class IslandRow:
    """An island with what is told of it.

    Attributes:
        coverage: share of the cells of the measures that its members fill; None: there are no measures.
        arrived: the last migration that reached it.
    """

    island: Island
    coverage: float | None
    arrived: Migration | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """How many candidates went from one island to another, and how strongly that is tinted, from 0 to `TINTS`."""

    candidates: int
    tint: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """Migrations from each island (rows) to each (columns), of those islands that took part.

    Attributes:
        omitted: how many islands that took part are not shown.
    """

    islands: Sequence[int]
    rows: Sequence[Sequence[Flow]]
    omitted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetMark:
    """An island that began anew from a survivor, at an event."""

    island: int
    survivor: str
    at: datetime
    sequence: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IslandStrip:
    """Migrations and resets along the evaluations, as SVG has them.

    Attributes:
        lanes: island and height of each line.
        arcs, ends, resets: paths.
        omitted: older migrations between these lanes that are not drawn.
    """

    width: int
    height: int
    left: int
    right: int
    lanes: Sequence[tuple[int, int]]
    arcs: str
    ends: str
    resets: Sequence[tuple[float, int]]
    total: int
    omitted: int


@router.get("")
async def show_islands(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the islands of a run."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "islands.html", "islands", **await _standing(api, run))


@router.get("/standing")
async def show_standing(request: Request, run_id: RunId, api: Api) -> Response:
    """Show the tables of the islands alone, as they are now."""
    run = await api.send(calls.get_run(run_id))
    return await render_run(request, api, run, "islands_standing.html", "islands", **await _standing(api, run))


async def _standing(api: AsyncClient, run: Run) -> dict[str, Any]:
    islands, more_islands = await _all(api, calls.list_islands(run.id, limit=PAGE))
    moves, more_moves = await _all(api, calls.list_migrations(run.id, limit=PAGE))
    resets, more_resets = await _resets(api, run)
    drawn = await api.send(calls.get_run_columns(run.id, points=100))
    arrived = {move.to_island: move for move in moves}
    return {
        "islands": [
            IslandRow(
                island=island,
                coverage=island.filled / island.cells if island.filled is not None and island.cells else None,
                arrived=arrived.get(island.number),
            )
            for island in islands
        ],
        "more_islands": more_islands,
        "moves": len(moves),
        "more_moves": more_moves,
        "matrix": matrix_of(moves),
        "resets": resets,
        "more_resets": more_resets,
        "strip": strip_of(drawn.marks, drawn.total),
        "cells": islands[0].cells if islands else None,
    }


async def _all(api: AsyncClient, call: Call[Any]) -> tuple[list[Any], bool]:
    """The items of the first pages of a list, and whether there are more."""
    found: list[Any] = []
    read = 0
    async for page in api.pages(call):
        found += page.items
        read += 1
        if read == MAX_PAGES:
            return found, bool(page.next_cursor)
    return found, False


async def _resets(api: AsyncClient, run: Run) -> tuple[list[ResetMark], bool]:
    """The islands that began anew, the newest first."""
    events, more = await _all(api, calls.list_events(run.id, kinds=[str(EventKind.ISLAND_RESET)], limit=PAGE))
    found = [
        ResetMark(
            island=told["island"],
            survivor=told["survivor"],
            at=datetime.fromisoformat(told["at"]),
            sequence=told["sequence"],
        )
        for told in events
    ]
    return found[::-1], more


def matrix_of(moves: Sequence[Migration]) -> Matrix:
    """How many candidates went from where to where."""
    counts: Counter[tuple[int, int]] = Counter()
    for move in moves:
        counts[move.from_island, move.to_island] += len(move.candidate_ids)
    part = sorted({island for pair in counts for island in pair})
    shown, maximum = part[:MAX_IN_MATRIX], max(counts.values(), default=0)
    rows = [
        [Flow(candidates=counts[one, other], tint=math.ceil(TINTS * counts[one, other] / maximum)) for other in shown]
        for one in shown
    ]
    return Matrix(islands=shown, rows=rows, omitted=len(part) - len(shown))


def strip_of(marks: Sequence[RunMark], total: int) -> IslandStrip | None:
    """Who moved when, drawn; None: nobody did, and no island began anew."""
    ends_of = [
        (mark.place, [end for end in (mark.from_island, mark.to_island) if end is not None])
        for mark in marks
        if mark.kind in MOVED
    ]
    part = sorted({end for _, ends in ends_of for end in ends})[:MAX_LANES]
    if not part:
        return None
    height = {island: LANE * place + LANE // 2 for place, island in enumerate(part)}
    scale = (STRIP_WIDTH - STRIP_LEFT - STRIP_RIGHT) / max(1, total)
    shown = [
        (STRIP_LEFT + place * scale, [height[end] for end in ends]) for place, ends in ends_of if {*ends} <= {*part}
    ]
    moves = [(x, ends[0], ends[1]) for x, ends in shown if len(ends) == 2]
    drawn = moves[-MAX_ARCS:]
    return IslandStrip(
        width=STRIP_WIDTH,
        height=LANE * len(part) + 20,
        left=STRIP_LEFT,
        right=STRIP_WIDTH - STRIP_RIGHT,
        lanes=list(height.items()),
        arcs="".join(
            f"M{x:.1f} {leave}Q{x + 12:.1f} {(leave + reach) // 2} {x:.1f} {reach}" for x, leave, reach in drawn
        ),
        ends="".join(f"M{x - 2.5:.1f} {reach}a2.5 2.5 0 1 0 5 0a2.5 2.5 0 1 0-5 0" for x, _, reach in drawn),
        resets=[(round(x, 1), ends[0]) for x, ends in shown if len(ends) == 1][-MAX_ARCS:],
        total=total,
        omitted=max(0, len(moves) - MAX_ARCS),
    )
