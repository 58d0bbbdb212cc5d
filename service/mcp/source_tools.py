"""Tools that put a candidate into files of this machine."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from pydantic import Field

from service.bootstrap.sites import remote_bundles
from service.client import Client
from service.errors import NotFoundError, UsageError
from service.mcp.access import as_tool
from service.mcp.run_tools import RunId
from service.policy_settings.choice import SOURCE
from service.usecases.winner_sources import changed_paths, patch_text, plan_sources, write_change

_WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False)


def add_source_tools(server: MCPServer[Any], url: str, key: str) -> None:
    """Add the tools, for a user whose files are on this machine."""

    @server.tool(annotations=_WRITES)
    @as_tool
    async def apply_candidate(
        run_id: RunId,
        into: Annotated[str, Field(description="File or folder on this machine that the run began from")],
        candidate_id: Annotated[
            str | None, Field(description="Id of a candidate. Default: the best of the run")
        ] = None,
        write: Annotated[bool, Field(description="Write the files. Otherwise, only return the patch")] = False,
        force: Annotated[bool, Field(description="Apply it to files that changed since the run began")] = False,
    ) -> dict[str, Any]:
        """Put a candidate into the files that its run began from. It returns the patch: read it before you write."""
        return await asyncio.to_thread(_apply, Client(url, key), run_id, into, candidate_id, write=write, force=force)


def _apply(
    client: Client, run_id: str, into: str, candidate_id: str | None, *, write: bool, force: bool
) -> dict[str, Any]:
    place = Path(into).expanduser()
    if not place.is_absolute() or not place.exists():
        raise UsageError(f"there is no file or folder {into}: name one that is there, by its whole path")
    with client:
        site, bundles = remote_bundles(client)
        run = site.reader.run(run_id)
        named = candidate_id or run.best_candidate_id
        if named is None:
            raise NotFoundError(f"{run.id} has no best candidate yet: watch it with the tool watch_run")
        winner = site.reader.candidate(named)
        planned = plan_sources(site, bundles, run, winner, f"{SOURCE}{site.name}", place, force=force)
        patch = patch_text(planned.files, planned.change)
        if write:
            write_change(planned.files, planned.change)
    paths = changed_paths(planned.files, planned.change)
    return {"run_id": run.id, "candidate_id": winner.id, "files": paths, "patch": patch, "written": write}
