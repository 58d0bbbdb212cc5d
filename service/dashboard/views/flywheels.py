"""Flywheels, "did the rounds make the policy better?": all of them, and the rounds of one."""

from typing import Annotated

from fastapi import APIRouter, Path, Request
from fastapi.responses import Response

from service.client import calls
from service.dashboard.pages import PageRoute, render
from service.dashboard.round_chart import FOOT, HEIGHT, LEFT, RIGHT, TOP, WIDTH, round_chart
from service.dashboard.session import Api

router = APIRouter(prefix="/flywheels", route_class=PageRoute, include_in_schema=False)
FRAME = {"width": WIDTH, "height": HEIGHT, "left": LEFT, "right": WIDTH - RIGHT, "top": TOP, "foot": FOOT}


@router.get("")
async def show_flywheels(request: Request, api: Api) -> Response:
    """Show flywheels by name."""
    found = await api.send(calls.list_flywheels())
    return render(request, "flywheels.html", flywheels=found.items)


@router.get("/{name}")
async def show_flywheel(request: Request, name: Annotated[str, Path(max_length=200)], api: Api) -> Response:
    """Show the rounds of a flywheel, what was trained, and what the gate decided."""
    found = await api.send(calls.get_flywheel(name))
    return render(
        request, "flywheel.html", name=found.name, rounds=found.items, chart=round_chart(found.items), frame=FRAME
    )
