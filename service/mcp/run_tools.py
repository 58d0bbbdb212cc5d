"""Tools that watch and read runs."""

import asyncio
import time
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field

from service.client import calls
from service.mcp.access import Connect, as_tool, send, send_run
from service.mcp.results import candidate_result, run_line, run_result
from service.ports import ENDED, PAUSED
from service.schemas.runs import Run

RunId = Annotated[str, Field(description="Id of the run, or a beginning of it")]
CandidateId = Annotated[str, Field(description="Id of a candidate, or a run and its name, such as RUN.28.0")]
Count = Annotated[int, Field(ge=1, le=200, description="Maximum number of entries")]
POLL_SECONDS = 1.0
MAX_WATCH_SECONDS = 3600.0
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_STEERS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


def add_run_tools(server: MCPServer[Any], connect: Connect) -> None:
    """Add the tools that watch and read runs."""
    _add_watching(server, connect)
    _add_results(server, connect)


def _add_watching(server: MCPServer[Any], connect: Connect) -> None:
    @server.tool(annotations=_READS)
    @as_tool
    async def list_runs(context: Context[Any, Any], limit: Count = 20) -> dict[str, Any]:
        """List runs, newest first."""
        async with connect(context) as client:
            page = await client.send(calls.list_runs(limit=limit))
            return {"runs": [run_line(run) for run in page.items]}

    @server.tool(annotations=_READS)
    @as_tool
    async def get_run(context: Context[Any, Any], run_id: RunId) -> dict[str, Any]:
        """Read a run: its state, best score, use of the budget, and the page on which people see it."""
        return await send_run(connect, context, calls.get_run(run_id))

    @server.tool(annotations=_READS)
    @as_tool
    async def watch_run(
        context: Context[Any, Any],
        run_id: RunId,
        seconds: Annotated[
            float, Field(gt=0, le=MAX_WATCH_SECONDS, description="Maximum time to wait. Call again to wait longer")
        ] = 300.0,
    ) -> dict[str, Any]:
        """Wait until a run ends or pauses, with notifications of progress. `ended` says whether it has ended."""
        until = time.monotonic() + seconds
        async with connect(context) as client:
            while True:
                run = await client.send(calls.get_run(run_id))
                await _report(context, run)
                if run.state in {PAUSED, *ENDED} or time.monotonic() >= until:
                    return run_result(run, client.server)
                await asyncio.sleep(min(POLL_SECONDS, max(0.0, until - time.monotonic())))


async def _report(context: Context[Any, Any], run: Run) -> None:
    best = "no valid candidate yet" if run.best_fitness is None else f"best {run.best_fitness:g}"
    words = f"{run.state}: {best}, {run.stats.valid} valid, {run.stats.failed} failed"
    await context.report_progress(run.progress.evaluated, run.progress.budget, words)


def _add_results(server: MCPServer[Any], connect: Connect) -> None:
    @server.tool(annotations=_READS)
    @as_tool
    async def get_best(context: Context[Any, Any], run_id: RunId) -> dict[str, Any]:
        """Read the best candidate of a run with its source files."""
        async with connect(context) as client:
            best = (await client.send(calls.get_best(run_id))).candidate
            source = await client.send(calls.get_candidate_source(best.id))
            return {**candidate_result(best), "files": {file.path: file.text for file in source.files}}

    @server.tool(annotations=_READS)
    @as_tool
    async def list_candidates(
        context: Context[Any, Any],
        run_id: RunId,
        order: Annotated[Literal["fitness", "age"], Field(description="The fittest, or the oldest, first")] = "fitness",
        limit: Count = 20,
    ) -> dict[str, Any]:
        """List candidates of a run with their scores, without sources."""
        async with connect(context) as client:
            page = await client.send(calls.list_candidates(run_id, order=order, limit=limit))
            return {"candidates": [candidate_result(one) for one in page.items]}

    @server.tool(annotations=_READS)
    @as_tool
    async def get_source(context: Context[Any, Any], candidate_id: CandidateId) -> dict[str, Any]:
        """Read the source files of a candidate."""
        async with connect(context) as client:
            source = await client.send(calls.get_candidate_source(candidate_id))
            return {"candidate_id": source.candidate_id, "files": {file.path: file.text for file in source.files}}

    @server.tool(annotations=_READS)
    @as_tool
    async def get_lineage(context: Context[Any, Any], candidate_id: CandidateId) -> dict[str, Any]:
        """Read how a candidate came about: the line of its parents, from itself to its seed."""
        async with connect(context) as client:
            line = await client.send(calls.get_lineage(candidate_id))
            return {"line": [candidate_result(one) for one in line.items], "truncated": line.truncated}

    @server.tool(annotations=_READS)
    @as_tool
    async def get_diff(
        context: Context[Any, Any],
        candidate_id: CandidateId,
        against: Annotated[str | None, Field(description="Another candidate. Default: its parent")] = None,
    ) -> dict[str, Any]:
        """Compare the source of a candidate with that of its parent, or of another candidate."""
        return await send(connect, context, calls.get_diff(candidate_id, against=against))

    @server.tool(annotations=_READS)
    @as_tool
    async def get_failures(context: Context[Any, Any], run_id: RunId) -> dict[str, Any]:
        """Read why answers of a run failed, grouped by reason, with the time that they cost."""
        return await send(connect, context, calls.get_run_failures(run_id))
