"""Where the functions of routes run."""

import threading

import httpx
from fastapi import APIRouter, FastAPI
from pydantic import BaseModel, field_validator

from service.api.api_route import ApiRoute

router = APIRouter(route_class=ApiRoute)
ran_in: dict[str, threading.Thread] = {}


class Checked(BaseModel):
    """An answer that notes the thread in which it was checked last."""

    number: int

    @field_validator("number")
    @classmethod
    def note(cls, number: int) -> int:
        ran_in["check"] = threading.current_thread()
        return number


@router.get("/blocking", response_model=Checked)
def blocking(number: int) -> dict[str, int]:
    ran_in["function"] = threading.current_thread()
    return {"number": number}


@router.get("/waiting", response_model=Checked)
async def waiting(number: int) -> dict[str, int]:
    ran_in["function"] = threading.current_thread()
    return {"number": number}


async def asked(path: str) -> httpx.Response:
    app = FastAPI()
    app.include_router(router)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://api") as client:
        return await client.get(path)


async def test_a_function_that_blocks_takes_a_thread_once() -> None:
    answer = await asked("/blocking?number=3")
    assert answer.json() == {"number": 3}
    assert ran_in["function"] is not threading.current_thread()
    assert ran_in["check"] is threading.current_thread()


async def test_a_function_that_waits_takes_no_thread() -> None:
    assert (await asked("/waiting?number=3")).json() == {"number": 3}
    assert {ran_in["function"], ran_in["check"]} == {threading.current_thread()}


async def test_parameters_and_refusals_are_those_of_the_function() -> None:
    answer = await asked("/blocking?number=three")
    assert answer.status_code == 422
    assert answer.json()["detail"][0]["loc"] == ["query", "number"]
