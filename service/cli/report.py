"""A run as one file that opens in a browser without a service."""

import asyncio
from pathlib import Path

from service.cli import formatting
from service.cli.export import STDOUT, writing
from service.cli.records import find_run
from service.cli.terminal import Terminal
from service.client.service_choice import SourceOptions
from service.config import load_settings
from service.errors import ConflictError, ServiceError
from service.ports import RunRecord
from service.projections.run_site import RunSite


def report_run(
    terminal: Terminal, site: RunSite, where: SourceOptions, run_id: str, output: Path | None, *, force: bool
) -> None:
    """Write the report of a run to a file, which is not there yet, or to stdout.

    Raises:
        ConflictError: the file is there, and nobody said that it may be replaced.
    """
    from service.telemetry import configure_logging

    configure_logging(terminal.verbosity, color=terminal.color)
    run = find_run(site.reader, run_id)
    _draw_best(terminal, site, run)
    path = output or Path(f"{formatting.short(run.id)}.html")
    if path == STDOUT:
        terminal.write(asyncio.run(_made(where, run)))
        return
    if path.is_file() and not force:
        raise ConflictError(f"{path} exists already: replace it with --force, or name another file with -o")
    text = asyncio.run(_made(where, run))
    with writing(path) as stream:
        stream.write(text)
    if terminal.as_json:
        terminal.emit({"run_id": run.id, "path": str(path), "bytes": path.stat().st_size})
    else:
        terminal.note(f"report of {run.id} written to {path}: open it in a browser")


def _draw_best(terminal: Terminal, site: RunSite, run: RunRecord) -> None:
    """Draw the best candidate, where that is done on demand; a report can do without."""
    best = site.reader.candidate(run.best_candidate_id) if run.best_candidate_id else None
    if best is None or not best.view_on_demand:
        return
    try:
        with terminal.doing("drawing the best candidate"):
            site.drawn(best)
    except ServiceError as error:
        terminal.note(f"the report has no picture of the best: {error}", style="yellow")


async def _made(where: SourceOptions, run: RunRecord) -> str:
    from service.bootstrap.api_access import open_reading
    from service.dashboard.report import write_report
    from service.timestamps import SystemClock

    async with open_reading(load_settings(), where) as api:
        text = await write_report(api, run.id, SystemClock().now())
    # Texts of others may hold halves of characters, which no file can.
    return text.encode("utf-8", "backslashreplace").decode()
