"""Bans: candidates that users keep a run from building upon."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response

from evolve.change_events import RequestedChange
from service.api.api_route import ApiRoute
from service.api.auth import PartsDep
from service.api.error_responses import raises
from service.api.idempotency import OnceDep
from service.api.routes.runs import CHANGED, Reading, RunId, Steering, reader_of, steered
from service.errors import NotFoundError
from service.identifiers import CHANGE, new_id
from service.projections.bans import StandingBan, ban_change, covering, lift_change, standing_bans
from service.projections.candidates import candidate_of
from service.schemas.bans import Ban, BanCreate, BanList
from service.schemas.changes import ChangedRun

router = APIRouter(prefix="/v1/runs", tags=["runs"], route_class=ApiRoute)
_BANNED = CHANGED | raises(NotFoundError)
_NAME = r"^[A-Za-z0-9_.-]{1,100}$"
BannedId = Annotated[str, Path(pattern=_NAME, description="Id or name of a candidate.")]
CoveredId = Annotated[
    str,
    Query(
        pattern=r"^[A-Za-z0-9_.-]{0,100}$",
        description="Only the bans by which this candidate is banned: its own, and those of its ancestors.",
    ),
]


@router.get("/{run_id}/bans", response_model=BanList, operation_id="list_bans")
def list_bans(run_id: RunId, caller: Reading, parts: PartsDep, candidate_id: CoveredId = "") -> BanList:
    """List the bans of a run that were not lifted."""
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    bans = list(standing_bans(reader, run, parts.intents(caller.tenant).changes(run.id)).values())
    if candidate_id and bans:
        bans = covering(reader, bans, candidate_of(reader, run, candidate_id).id)
    return BanList(run_id=run.id, items=[_ban(one) for one in bans])


@router.post("/{run_id}/bans", status_code=202, response_model=ChangedRun, responses=_BANNED, operation_id="create_ban")
def create_ban(run_id: RunId, body: BanCreate, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Ban a candidate. It leaves the archives, and is not a parent, inspiration or migrant any more.

    The search receives the ban within a second, as the event `candidate.banned`. Proposals in flight continue.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)

    def check() -> RequestedChange:
        change_id = new_id(CHANGE, parts.clock.now())
        return ban_change(reader, run, body.candidate_id, change_id, caller.actor, descendants=body.descendants)

    return once.after(check, lambda change: steered(parts, caller, run, change))


@router.delete(
    "/{run_id}/bans/{candidate_id}",
    status_code=202,
    response_model=ChangedRun,
    responses=_BANNED,
    operation_id="lift_ban",
)
def lift_ban(run_id: RunId, candidate_id: BannedId, caller: Steering, parts: PartsDep, once: OnceDep) -> Response:
    """Lift the ban of a candidate. The candidates that it removed are offered to their archives again.

    The search receives this within a second, as the event `ban.lifted`.
    """
    reader = reader_of(parts, caller)
    run = reader.run(run_id)
    intents = parts.intents(caller.tenant)

    def check() -> RequestedChange:
        change_id = new_id(CHANGE, parts.clock.now())
        return lift_change(reader, run, candidate_id, intents.changes(run.id), change_id, caller.actor)

    return once.after(check, lambda change: steered(parts, caller, run, change))


def _ban(one: StandingBan) -> Ban:
    ban = one.ban
    return Ban(candidate_id=ban.candidate_id, descendants=ban.descendants, by=ban.by, at=one.at)
