"""Flywheels: rounds of search and training."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Depends, Path

from service.api.api_route import ApiRoute
from service.api.auth import PartsDep, requires
from service.api.error_responses import raises
from service.errors import NotFoundError
from service.ports import Caller, Scope
from service.schemas.flywheels import Flywheel, FlywheelList, FlywheelRound, FlywheelRoundList

router = APIRouter(prefix="/v1/flywheels", tags=["training"], route_class=ApiRoute)

Reading = Annotated[Caller, Depends(requires(Scope.RUNS_READ))]
Name = Annotated[str, Path(pattern=r"^[^\x00/]{1,200}$", description="Name of a flywheel.")]


@router.get("", response_model=FlywheelList, operation_id="list_flywheels")
def list_flywheels(caller: Reading, parts: PartsDep) -> FlywheelList:
    """List the flywheels of the newest 1,000 batches, by name."""
    found = parts.flywheels.flywheels(caller.tenant)
    return FlywheelList(items=[Flywheel.model_validate(asdict(one)) for one in found])


@router.get(
    "/{flywheel}",
    response_model=FlywheelRoundList,
    responses=raises(NotFoundError),
    operation_id="get_flywheel",
)
def get_flywheel(flywheel: Name, caller: Reading, parts: PartsDep) -> FlywheelRoundList:
    """Read the rounds of a flywheel, with the share of problems solved and the decisions of the evaluation gate."""
    found = parts.flywheels.rounds(caller.tenant, flywheel)
    rounds = [asdict(one) | {"evaluation": dict(one.evaluation) or None} for one in found]
    return FlywheelRoundList(name=flywheel, items=[FlywheelRound.model_validate(one) for one in rounds])
