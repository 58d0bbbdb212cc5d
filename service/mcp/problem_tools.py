"""Tools that check a problem and start a run on it."""

from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from pydantic import Field

from service.client import AsyncClient, calls
from service.errors import UsageError
from service.mcp.access import Connect, as_tool, send
from service.mcp.results import run_result
from service.problems.upload_request import upload_of
from service.schemas.problems import ProblemCreate
from service.schemas.requests import checked
from service.schemas.runs import RunCreate

Files = Annotated[
    dict[str, str] | None,
    Field(description="Text of each file of the problem by its path: problem.toml, an evaluator, and seed programs"),
]
Folder = Annotated[str | None, Field(description="Path of the problem's folder on this machine")]
Stored = Annotated[
    str | None, Field(description="Id or name of a problem that the service has, in place of files or a folder")
]
Config = Annotated[
    dict[str, Any] | None,
    Field(description='Run configuration, nested, such as {"budget": {"evaluations": 300}, "seed": 1}'),
]
Policy = Annotated[
    str | dict[str, Any] | None,
    Field(description="Name of a policy of the service, or its description without a key. Default: the problem's"),
]
Labels = Annotated[dict[str, str] | None, Field(description='Labels of the run, such as {"name": "first try"}')]
_ONE = "name the problem by exactly one of problem, folder and files"
_ONE_THERE = "name the problem by either problem or files: over HTTP, folders cannot be named, so send their files"


def add_problem_tools(server: MCPServer[Any], connect: Connect, *, local: bool) -> None:
    """Add the tools.

    Args:
        server: to which.
        connect: reaches the service.
        local: whether callers may name folders of this machine.
    """
    (_add_for_folders if local else _add_for_files)(server, connect)

    @server.tool()
    @as_tool
    async def list_policies(context: Context[Any, Any]) -> dict[str, Any]:
        """List the policies of the service: models and mutators that can write programs."""
        return await send(connect, context, calls.list_policies())


def _add_for_folders(server: MCPServer[Any], connect: Connect) -> None:
    @server.tool()
    @as_tool
    async def check_problem(context: Context[Any, Any], folder: Folder = None, files: Files = None) -> dict[str, Any]:
        """Check a problem without storing it: every complaint about its files, and the score of each seed."""
        return await send(connect, context, calls.check_problem(_upload(folder, files)), exclude={"document"})

    @server.tool()
    @as_tool
    async def start_run(
        context: Context[Any, Any],
        problem: Stored = None,
        folder: Folder = None,
        files: Files = None,
        config: Config = None,
        policy: Policy = None,
        labels: Labels = None,
    ) -> dict[str, Any]:
        """Start a search on a problem. It returns at once. Follow the run with watch_run."""
        async with connect(context) as client:
            stored = await _stored_problem(client, problem, folder, files)
            return await _start(client, stored, config, policy, labels)


def _add_for_files(server: MCPServer[Any], connect: Connect) -> None:
    @server.tool()
    @as_tool
    async def check_problem(context: Context[Any, Any], files: Files) -> dict[str, Any]:
        """Check a problem without storing it: every complaint about its files, and the score of each seed."""
        return await send(connect, context, calls.check_problem(_upload(None, files, _ONE_THERE)), exclude={"document"})

    @server.tool()
    @as_tool
    async def start_run(
        context: Context[Any, Any],
        problem: Stored = None,
        files: Files = None,
        config: Config = None,
        policy: Policy = None,
        labels: Labels = None,
    ) -> dict[str, Any]:
        """Start a search on a problem. It returns at once. Follow the run with watch_run."""
        async with connect(context) as client:
            stored = await _stored_problem(client, problem, None, files, _ONE_THERE)
            return await _start(client, stored, config, policy, labels)


def _upload(folder: str | None, files: dict[str, str] | None, one: str = _ONE) -> ProblemCreate:
    if bool(folder) == bool(files):
        raise UsageError(one)
    return upload_of(Path(folder).expanduser()) if folder else checked(ProblemCreate, files=files)


async def _stored_problem(
    client: AsyncClient, problem: str | None, folder: str | None, files: dict[str, str] | None, one: str = _ONE
) -> str:
    """The name of a problem that the service has, or the id of one that it gets now."""
    if not problem:
        return (await client.send(calls.create_problem(_upload(folder, files, one)))).id
    if folder or files:
        raise UsageError(one)
    return problem


async def _start(
    client: AsyncClient,
    problem: str,
    config: dict[str, Any] | None,
    policy: str | dict[str, Any] | None,
    labels: dict[str, str] | None,
) -> dict[str, Any]:
    asked = {"policy": policy} if policy else {}
    run = checked(RunCreate, problem=problem, config=config or {}, labels=labels or {}, **asked)
    return run_result(await client.send(calls.create_run(run)), client.server)
