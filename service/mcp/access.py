"""How a call of a tool reaches the service: with the key of this user, or with the key that came with its request."""

import functools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, ParamSpec, TypeVar

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

from evolve.errors import EvolveError
from service.client import AsyncClient, calls
from service.client.call import Call
from service.errors import InvalidProblemError, ServiceError
from service.mcp.results import run_result
from service.ports import ENDED, PAUSED
from service.projections.change_decisions import REFUSED
from service.schemas.changes import ChangedRun
from service.schemas.runs import Run

Connect = Callable[[Context[Any, Any]], AbstractAsyncContextManager[AsyncClient]]
BEARER = "bearer "
DECISION_SECONDS = 30
# Commands that messages advise, with the tools that do the same.
_TOOLS = {
    "'evolve runs' lists": "the tool list_runs lists",
    "'evolve candidates RUN' lists": "the tool list_candidates lists",
}
Words = ParamSpec("Words")
Answer = TypeVar("Answer")
Returned = TypeVar("Returned", bound=BaseModel)


def connect_as_user(url: str, key: str) -> Connect:
    """Every call has the key of the user who started this server."""

    @asynccontextmanager
    async def connect(context: Context[Any, Any]) -> AsyncIterator[AsyncClient]:  # noqa: ARG001 - it has no key
        async with AsyncClient(url, key) as client:
            yield client

    return connect


def connect_as_caller(url: str) -> Connect:
    """Every call has the key that came with its request, so that scopes and tenants are those of the REST API."""

    @asynccontextmanager
    async def connect(context: Context[Any, Any]) -> AsyncIterator[AsyncClient]:
        key = bearer_key((context.headers or {}).get("authorization", ""))
        if not key:
            raise ToolError("the request has no key: send the header Authorization: Bearer KEY")
        async with AsyncClient(url, key) as client:
            yield client

    return connect


def bearer_key(header: str) -> str:
    """The key of a header `Authorization`; empty: it has none."""
    return header[len(BEARER) :].strip() if header.lower().startswith(BEARER) else ""


def as_tool(function: Callable[Words, Awaitable[Answer]]) -> Callable[Words, Awaitable[Answer]]:
    """A function whose intended errors a model can read and mend."""

    @functools.wraps(function)
    async def call(*args: Words.args, **words: Words.kwargs) -> Answer:
        try:
            return await function(*args, **words)
        except InvalidProblemError as error:
            raise ToolError("\n".join(error.complaints)) from error
        except (ServiceError, EvolveError) as error:
            raise ToolError(_with_tools(str(error))) from error

    return call


def _with_tools(text: str) -> str:
    """A message that advises tools where it advised commands, which a client of tools cannot call."""
    for command, tool in _TOOLS.items():
        text = text.replace(command, tool)
    return text


async def send(
    connect: Connect, context: Context[Any, Any], call: Call[Returned], exclude: set[str] | None = None
) -> dict[str, Any]:
    """The answer to a call of the API as JSON, without some of its fields."""
    async with connect(context) as client:
        return (await client.send(call)).model_dump(mode="json", exclude=exclude)


async def send_run(connect: Connect, context: Context[Any, Any], call: Call[Run]) -> dict[str, Any]:
    """The run that a call of the API returns."""
    async with connect(context) as client:
        return run_result(await client.send(call), client.server)


async def send_change(
    connect: Connect, context: Context[Any, Any], call: Call[ChangedRun], wait_seconds: int = DECISION_SECONDS
) -> dict[str, Any]:
    """The decision on a change that a call of the API asks for, with the run.

    A run that is paused decides when it continues, so nobody waits for it.
    """
    async with connect(context) as client:
        asked = await client.send(call)
        waits = wait_seconds if asked.state not in {PAUSED, *ENDED} else 0
        decision = await client.send(calls.get_change(asked.id, asked.change_id, wait_seconds=waits))
        if decision.state == REFUSED:
            raise ToolError(f"the search refused the change: {decision.reason}")
        run = await client.send(calls.get_run(asked.id)) if waits else asked
        return {**run_result(run, client.server), "change": decision.model_dump(mode="json", exclude={"run_id"})}
