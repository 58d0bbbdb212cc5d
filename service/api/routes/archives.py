"""What a run keeps: islands, migrations, the front, the grid, the best under weights."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response

from evolve.event_types import IslandMigrated
from evolve.events import EventKind
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.etags import run_tag, seen, tagged
from service.api.openapi_responses import NOT_MODIFIED
from service.api.pagination import DEFAULT_LIMIT, Cursor, Limit, Paging
from service.api.routes.candidates import NAME
from service.api.routes.runs import Reading, RunId, reader_of
from service.api.run_cache import FoldsDep
from service.api.serializers.candidates import shown_candidate
from service.errors import NotFoundError
from service.ports import LoggedEvent, MembershipRecord
from service.projections.best import none_yet, read_weights
from service.projections.candidates import island_count
from service.projections.closing import assessment_of
from service.schemas.archives import (
    Best,
    FrontPage,
    Grid,
    GridAxis,
    GridCell,
    Island,
    IslandPage,
    Member,
    MemberPage,
    Migration,
    MigrationPage,
)
from service.schemas.assessment import Assessment

router = APIRouter(prefix="/v1/runs/{run_id}", tags=["archives"], route_class=ApiRoute)

MAX_CELLS = 10_000
MAX_VIEWS = 200  # cells of which it is told whether the candidate has a picture
IslandNumber = Annotated[int, Path(ge=0, le=2**31 - 1, description="Number of an island, from 0.")]
Weights = Annotated[
    str,
    Query(
        pattern=NAME,
        max_length=2000,
        description="`accuracy=1,speed=2`: by the weighted mean of normalised scores. Empty: by fitness.",
    ),
]


@router.get("/islands", response_model=IslandPage, operation_id="list_islands")
def list_islands(
    run_id: RunId,
    caller: Reading,
    parts: PartsDep,
    run_cache: FoldsDep,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
) -> IslandPage:
    """List the islands of a run with their contents."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    paging = Paging(parts.signer, cursor, limit, {"list": "islands", "run": run.id})
    members: dict[int, list[MembershipRecord]] = {number: [] for number in range(island_count(run))}
    for membership in reader.memberships(run.id):
        members.setdefault(membership.island, []).append(membership)
    behind = [number for number in sorted(members) if number > (-1 if paging.after is None else paging.after)]
    rows, following = paging.cut(behind[: paging.limit + 1], lambda number: number)
    ids = [[member.candidate_id for member in members[number]] for number in rows]
    filled = run_cache.filled(reader, run, ids)
    cells: Sequence[tuple[int | None, int | None]] = [(None, None)] * len(rows) if filled is None else filled
    items = [_island(number, members[number], *of) for number, of in zip(rows, cells, strict=True)]
    return IslandPage(items=items, next_cursor=following)


@router.get("/islands/{number}", response_model=MemberPage, operation_id="list_island_members")
def list_island_members(
    run_id: RunId,
    number: IslandNumber,
    caller: Reading,
    parts: PartsDep,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
) -> MemberPage:
    """List the programs in the archive of an island, fittest first."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    paging = Paging(parts.signer, cursor, limit, {"list": "members", "run": run.id, "island": number})
    members = reader.memberships(run.id, number)
    if not members and number >= island_count(run):
        raise NotFoundError(f"run {run.id} has no island {number}: it has {island_count(run)}, numbered from 0")
    rows, following = paging.cut(_behind(members, paging.after)[: paging.limit + 1], _place)
    programs = {record.id: record for record in reader.named([row.candidate_id for row in rows])}
    items = [
        Member(since=row.since, candidate=shown_candidate(programs[row.candidate_id], caller))
        for row in rows
        if row.candidate_id in programs
    ]
    return MemberPage(items=items, next_cursor=following)


@router.get("/migrations", response_model=MigrationPage, operation_id="list_migrations")
def list_migrations(
    run_id: RunId, caller: Reading, parts: PartsDep, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = ""
) -> MigrationPage:
    """List the migrations between the islands of a run, in order."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    paging = Paging(parts.signer, cursor, limit, {"list": "migrations", "run": run.id})
    found = list(reader.events(run.id, paging.after or 0, paging.limit + 1, (str(EventKind.ISLAND_MIGRATED),)))
    rows, following = paging.cut(found, lambda row: row.sequence)
    return MigrationPage(items=[_migration(row) for row in rows], next_cursor=following)


@router.get("/front", response_model=FrontPage, operation_id="list_front")
def list_front(
    run_id: RunId,
    caller: Reading,
    parts: PartsDep,
    run_cache: FoldsDep,
    limit: Limit = DEFAULT_LIMIT,
    cursor: Cursor = "",
) -> FrontPage:
    """List the programs of the Pareto front, fittest first, with the hypervolume."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    paging = Paging(parts.signer, cursor, limit, {"list": "front", "run": run.id})
    front = run_cache.front(reader, run)
    after = tuple(paging.after) if paging.after else None
    rows, following = paging.cut(front.behind(after, paging.limit + 1), lambda row: row[1])
    return FrontPage(
        items=[shown_candidate(row, caller) for row in reader.named([candidate_id for candidate_id, _ in rows])],
        next_cursor=following,
        size=front.measured.size,
        hypervolume=front.measured.hypervolume,
        exact=front.measured.exact,
    )


@router.get("/assessment", response_model=Assessment, responses=NOT_MODIFIED, operation_id="get_assessment")
def get_assessment(request: Request, run_id: RunId, caller: Reading, parts: PartsDep) -> Response:
    """Read the holdout scores of a run's programs, and whether its best program holds under other seeds.

    Both are measured at the end of a run if its problem asks for it (`evaluator.holdout`, `evaluator.audit`).
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    if seen(request, run_tag(run)):
        return Response(status_code=304, headers={"ETag": run_tag(run)})
    found = assessment_of(reader, run)
    held = [{**asdict(one), "difference": one.difference} for one in found.holdout] if found else []
    audit = found.audit if found else None
    told = None if audit is None else {**asdict(audit), "holds": audit.holds, "sentence": audit.sentence}
    shown = Assessment.model_validate({"run_id": run.id, "holdout": held, "audit": told})
    return tagged(request, shown, run_tag(run))


@router.get("/grid", response_model=Grid, responses=NOT_MODIFIED, operation_id="get_grid")
def get_grid(
    request: Request,
    run_id: RunId,
    caller: Reading,
    parts: PartsDep,
    run_cache: FoldsDep,
    until: Annotated[int, Query(ge=0, description="Only the first so many evaluations. 0: all")] = 0,
) -> Response:
    """Read the grid over the measures of a run: the fittest program of each cell, of all islands together.

    An axis without a declared range spans the values seen so far, as in the archives of the islands. A run without
    measures has no axes and no cells.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    tag = run_tag(run) if not until else f'{run_tag(run)[:-1]}-{until}"'
    if seen(request, tag):
        return Response(status_code=304, headers={"ETag": tag})
    grid = run_cache.grid(reader, run, MAX_CELLS, until or None)
    holders = [cell.candidate_id for cell in grid.cells[:MAX_VIEWS]]
    holding = {one.id: one for one in reader.named(holders)}
    axes = [
        GridAxis(
            name=axis.name,
            bins=axis.bins,
            low=span[0] if span else None,
            high=span[1] if span else None,
            running=axis.low is None,
        )
        for axis, span in zip(grid.axes, grid.ranges, strict=True)
    ]
    cells = [
        GridCell(
            bins=list(cell.bins),
            centre=None if cell.centre is None else list(cell.centre),
            values=list(cell.values),
            candidate_id=cell.candidate_id,
            fitness=cell.fitness,
            candidates=cell.candidates,
            place=cell.place,
            view_type=holding[cell.candidate_id].view_type if cell.candidate_id in holding else None,
            view_on_demand=cell.candidate_id in holding and holding[cell.candidate_id].view_on_demand,
        )
        for cell in grid.cells
    ]
    told = Grid(
        run_id=run.id,
        axes=axes,
        cells=cells,
        filled=grid.filled,
        evaluations=grid.evaluations,
        size=grid.size,
        tessellation=grid.tessellation,
    )
    return tagged(request, told, tag)


@router.get("/best", response_model=Best, operation_id="get_best")
def get_best(run_id: RunId, caller: Reading, parts: PartsDep, run_cache: FoldsDep, weights: Weights = "") -> Best:
    """Read the best program of a run by fitness, or under weights of the objectives.

    Scores are normalised by the declared bounds of the objective, or else by their range in the run. If the means of
    several programs are within a millionth of the highest, the oldest of them is the best.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    if weights:
        wanted = read_weights(weights)
        winner, value = run_cache.best(reader, run, wanted)
        return Best(candidate=shown_candidate(reader.candidate(winner), caller), weights=wanted, value=value)
    fittest = reader.best(run.id, limit=1)
    if not fittest:
        raise none_yet(run)
    return Best(candidate=shown_candidate(fittest[0], caller), weights={}, value=None)


def _island(number: int, members: Sequence[MembershipRecord], filled: int | None, cells: int | None) -> Island:
    fitness = [member.fitness for member in members if member.fitness is not None]
    return Island(
        number=number,
        members=len(members),
        best_candidate_id=members[0].candidate_id if fitness else None,
        best_fitness=fitness[0] if fitness else None,
        mean_fitness=math.fsum(fitness) / len(fitness) if fitness else None,
        filled=filled,
        cells=cells,
    )


def _place(member: MembershipRecord) -> tuple[float | None, str]:
    return member.fitness, member.candidate_id


def _behind(members: Sequence[MembershipRecord], after: Sequence[object] | None) -> Sequence[MembershipRecord]:
    """Those behind the last one seen; where it has left meanwhile, those that are less fit."""
    if after is None:
        return members
    fitness, candidate_id = after
    for place, member in enumerate(members):
        if member.candidate_id == candidate_id:
            return members[place + 1 :]
    if not isinstance(fitness, float):
        return []
    return [member for member in members if member.fitness is None or member.fitness < fitness]


def _migration(logged: LoggedEvent) -> Migration:
    data = logged.event.data
    assert isinstance(data, IslandMigrated), "only events of this kind were asked for"
    return Migration(
        sequence=logged.sequence,
        at=logged.at,
        from_island=data.from_,
        to_island=data.to,
        candidate_ids=list(data.candidate_ids),
    )
