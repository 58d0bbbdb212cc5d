"""The command `evolve batch`: many runs of a service, from a file."""

import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.bootstrap.site import Where, open_client, server_of
from service.cli import figures
from service.cli.listing import plain_table
from service.cli.main import FAILED, INTERRUPTED, OK
from service.cli.terminal import Terminal, plain
from service.config import load_settings
from service.errors import NotFoundError, UsageError
from service.ports import ENDED

if TYPE_CHECKING:
    from service.client import Client
    from service.schemas.batches import Batch, BatchSummary

LOOK_SECONDS = 2.0


def run_batch(terminal: Terminal, where: Where, file: Path, *, detach: bool) -> int:
    """Submit a batch and wait for its end; 1 when no run of it came to a good one."""
    settings = load_settings()
    server = server_of(settings, where)
    if not server:
        raise UsageError("a batch is run by a service: name it with --server, or start one here with evolve serve")
    document = _read(file)
    with open_client(settings, where, server) as client:
        batch = _submit(client, document, file.parent)
        if detach:
            terminal.emit(batch.model_dump(mode="json")) if terminal.as_json else terminal.show(batch.id)
            return OK
        try:
            summary = _wait(terminal, client, batch)
        except KeyboardInterrupt:
            terminal.note(f"no longer waiting; the batch goes on: {batch.id}")
            return INTERRUPTED
    if terminal.as_json:
        terminal.emit(summary.model_dump(mode="json"))
    else:
        _show(terminal, summary)
    return OK if summary.batch.states.get("succeeded") else FAILED


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {file}") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"the batch {file} cannot be read: {error}") from error


def _submit(client: "Client", document: dict[str, Any], beside: Path) -> "Batch":
    from service.client import calls
    from service.client.words import checked
    from service.schemas.batches import BatchCreate

    known: dict[str, str] = {}
    for table in _tables(document):
        problem = table.get("problem")
        if isinstance(problem, str) and (beside / problem).is_dir():
            if problem not in known:
                known[problem] = _uploaded(client, beside / problem)
            table["problem"] = known[problem]
    return client.send(calls.create_batch(checked(BatchCreate, **document)))


def _tables(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of a batch that name a problem."""
    runs, sweep = document.get("runs"), document.get("sweep")
    return [table for table in [*(runs if isinstance(runs, list) else []), sweep] if isinstance(table, dict)]


def _uploaded(client: "Client", folder: Path) -> str:
    from service.cli.upload import upload_of
    from service.client import calls

    return client.send(calls.create_problem(upload_of(folder))).id


def _wait(terminal: Terminal, client: "Client", batch: "Batch") -> "BatchSummary":
    from service.client import calls

    terminal.note(f"batch {batch.id}; Ctrl-C stops waiting, and its runs go on", style="dim")
    told: Mapping[str, int] = {}
    while True:
        if batch.states != told:
            told = batch.states
            terminal.note(", ".join(f"{count} {state}" for state, count in sorted(told.items()) if count))
        if all(state in ENDED for state, count in batch.states.items() if count):
            return client.send(calls.get_batch_summary(batch.id))
        time.sleep(LOOK_SECONDS)
        batch = client.send(calls.get_batch(batch.id))


def _show(terminal: Terminal, summary: "BatchSummary") -> None:
    paid = any(group.cost not in (None, "0") for group in summary.groups)
    headings = ("group~", "runs>", "best>", "median>", "evaluated>", "tokens>", *(["cost>"] if paid else []))
    table = plain_table(*headings)
    for group in summary.groups:
        table.add_row(
            plain(group.group),
            figures.count(group.runs),
            figures.exact(group.best),
            figures.exact(group.median),
            figures.count(group.evaluations),
            figures.count(group.tokens),
            *([group.cost or "–"] if paid else []),
        )
    terminal.show(f"{plain(summary.batch.name)}: {summary.batch.state}", table)
    terminal.note(f"next: {terminal.command('runs')}", style="dim")
