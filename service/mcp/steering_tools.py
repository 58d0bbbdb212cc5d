"""Tools that pause, resume, cancel, extend and change runs."""

from typing import Annotated, Any

from mcp.server.mcpserver import Context, MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field, JsonValue

from service.client import calls
from service.mcp.access import Connect, as_tool, send, send_change, send_run
from service.mcp.run_tools import RunId
from service.schemas.bans import BanCreate
from service.schemas.hints import DEFAULT_HINT_PROPOSALS, HintCreate
from service.schemas.insertions import CandidateInsert
from service.schemas.insights import InsightsEdit
from service.schemas.priorities import DEFAULT_PRIORITY_PROPOSALS, PriorityCreate
from service.schemas.requests import checked
from service.schemas.run_settings import SettingsChange
from service.schemas.runs import BudgetExtension

InRun = Annotated[str, Field(description="Id of a candidate of the run, or its name there, such as 28.0")]
_READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)
_STEERS = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
_CHANGES = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=False, open_world_hint=False)
_ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


def add_steering_tools(server: MCPServer[Any], connect: Connect) -> None:
    """Add the tools. Those that change the search wait until it has accepted or refused the change."""
    _add_control(server, connect)
    _add_words(server, connect)
    _add_candidates(server, connect)
    _add_changes(server, connect)


def _add_control(server: MCPServer[Any], connect: Connect) -> None:
    @server.tool(annotations=_STEERS)
    @as_tool
    async def pause_run(context: Context[Any, Any], run_id: RunId) -> dict[str, Any]:
        """Pause a run. Its results are kept."""
        return await send_run(connect, context, calls.pause_run(run_id))

    @server.tool(annotations=_STEERS)
    @as_tool
    async def resume_run(context: Context[Any, Any], run_id: RunId) -> dict[str, Any]:
        """Resume a paused or failed run."""
        return await send_run(connect, context, calls.resume_run(run_id))

    @server.tool(annotations=_ENDS)
    @as_tool
    async def cancel_run(context: Context[Any, Any], run_id: RunId) -> dict[str, Any]:
        """End a run permanently. Its results are kept."""
        return await send_run(connect, context, calls.cancel_run(run_id))

    @server.tool(annotations=_STEERS)
    @as_tool
    async def extend_run(
        context: Context[Any, Any],
        run_id: RunId,
        budget: Annotated[
            dict[str, Any],
            Field(
                description="New limits: evaluations, answers, tokens, money, wall_seconds, target, patience. Null"
                " means no limit, and other limits stay"
            ),
        ],
    ) -> dict[str, Any]:
        """Change the budget of a run. A run that has ended continues with it."""
        extension = checked(BudgetExtension, budget=budget)
        return await send_run(connect, context, calls.extend_run(run_id, extension))


def _add_words(server: MCPServer[Any], connect: Connect) -> None:
    @server.tool(annotations=_CHANGES)
    @as_tool
    async def hint_run(
        context: Context[Any, Any],
        run_id: RunId,
        text: Annotated[str, Field(description="The suggestion. Empty: end the standing hint")],
        proposals: Annotated[int, Field(ge=1, description="Number of proposals whose prompts hold it")] = (
            DEFAULT_HINT_PROPOSALS
        ),
        island: Annotated[int | None, Field(description="Island whose proposals hold it. Default: all islands")] = None,
    ) -> dict[str, Any]:
        """Suggest an idea to an active run. It is in the prompts of the next proposals."""
        hint = checked(HintCreate, text=text, proposals=proposals, island=island)
        return await send_change(connect, context, calls.create_hint(run_id, hint))

    @server.tool(annotations=_READS)
    @as_tool
    async def get_insights(context: Context[Any, Any], run_id: RunId) -> dict[str, Any]:
        """Read the insights of a run: the versions of what it has learnt, the newest first."""
        return await send(connect, context, calls.list_insights(run_id))

    @server.tool(annotations=_CHANGES)
    @as_tool
    async def edit_insights(
        context: Context[Any, Any],
        run_id: RunId,
        text: Annotated[str, Field(description="The whole text. Empty: prompts hold no insights until the next")],
    ) -> dict[str, Any]:
        """Write the next version of the insights of an active run."""
        edit = checked(InsightsEdit, text=text)
        return await send_change(connect, context, calls.edit_insights(run_id, edit))


def _add_candidates(server: MCPServer[Any], connect: Connect) -> None:
    @server.tool(annotations=_CHANGES)
    @as_tool
    async def insert_candidate(
        context: Context[Any, Any],
        run_id: RunId,
        files: Annotated[dict[str, str], Field(description="Text by path. Other files stay as in the parent")],
        removed: Annotated[
            list[str] | None, Field(description="Paths of files to leave out, for programs over a git repository")
        ] = None,
        parent: Annotated[str, Field(description="Candidate that it descends from. Default: the first seed")] = "",
        island: Annotated[int | None, Field(description="Island that it joins. Default: that of its parent")] = None,
    ) -> dict[str, Any]:
        """Insert a program that you wrote into an active run. The run evaluates it and may build upon it."""
        insertion = checked(CandidateInsert, files=files, removed=removed or [], parent=parent, island=island)
        return await send_change(connect, context, calls.insert_candidate(run_id, insertion))

    @server.tool(annotations=_CHANGES)
    @as_tool
    async def ban_candidate(
        context: Context[Any, Any],
        run_id: RunId,
        candidate_id: InRun,
        descendants: Annotated[bool, Field(description="Ban its descendants too, also those to come")] = False,
    ) -> dict[str, Any]:
        """Keep an active run from building upon a candidate, for example one that deceives the evaluator."""
        ban = checked(BanCreate, candidate_id=candidate_id, descendants=descendants)
        return await send_change(connect, context, calls.create_ban(run_id, ban))

    @server.tool(annotations=_CHANGES)
    @as_tool
    async def lift_ban(context: Context[Any, Any], run_id: RunId, candidate_id: InRun) -> dict[str, Any]:
        """Lift the ban of a candidate."""
        return await send_change(connect, context, calls.lift_ban(run_id, candidate_id))

    @server.tool(annotations=_CHANGES)
    @as_tool
    async def prioritize_candidate(
        context: Context[Any, Any],
        run_id: RunId,
        candidate_id: InRun,
        proposals: Annotated[int, Field(ge=1, description="Number of proposals that start from it")] = (
            DEFAULT_PRIORITY_PROPOSALS
        ),
    ) -> dict[str, Any]:
        """Start the next proposals of an active run from a candidate."""
        priority = checked(PriorityCreate, candidate_id=candidate_id, proposals=proposals)
        return await send_change(connect, context, calls.create_priority(run_id, priority))

    @server.tool(annotations=_CHANGES)
    @as_tool
    async def lift_priority(context: Context[Any, Any], run_id: RunId, candidate_id: InRun) -> dict[str, Any]:
        """Lift the priority of a candidate before it is used up."""
        return await send_change(connect, context, calls.lift_priority(run_id, candidate_id))


def _add_changes(server: MCPServer[Any], connect: Connect) -> None:
    @server.tool(annotations=_READS)
    @as_tool
    async def get_settings(context: Context[Any, Any], run_id: RunId) -> dict[str, Any]:
        """Read the settings of a run that may change while it is active."""
        return await send(connect, context, calls.get_settings(run_id))

    @server.tool(annotations=_CHANGES)
    @as_tool
    async def change_settings(
        context: Context[Any, Any],
        run_id: RunId,
        settings: Annotated[dict[str, JsonValue], Field(description="New values by key, as get_settings names them")],
    ) -> dict[str, Any]:
        """Change settings of an active run. They hold for the proposals to come."""
        change = checked(SettingsChange, settings=settings)
        return await send_change(connect, context, calls.change_settings(run_id, change))

    @server.tool(annotations=_READS)
    @as_tool
    async def list_changes(context: Context[Any, Any], run_id: RunId) -> dict[str, Any]:
        """List the changes of a run by people and agents, each with its effect: its yield, and that right before."""
        return await send(connect, context, calls.list_changes(run_id))
