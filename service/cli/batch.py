"""The command `evolve batch`: many runs of a service, from a file, or those of a batch that it has already."""

import re
import time
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.bootstrap.site import Where
from service.cli import figures
from service.cli.batches import find_batch, open_batches, states_words
from service.cli.listing import plain_table
from service.cli.main import FAILED, INTERRUPTED, OK
from service.cli.records import LAST
from service.cli.terminal import Terminal, plain
from service.errors import NotFoundError, UsageError
from service.ports import ENDED, PAUSED

if TYPE_CHECKING:
    from service.client import Client
    from service.schemas.batches import Batch, BatchSummary

LOOK_SECONDS = 2.0
_ID = re.compile(r"bat_[A-Za-z0-9_-]{0,60}", re.ASCII)


def run_batch(
    terminal: Terminal,
    where: Where,
    named: str,
    *,
    detach: bool,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
) -> int:
    """Submit a batch, or find one, and wait for its end; 1 when no run of it came to a good one.

    Args:
        terminal: where to.
        where: the service.
        named: a file; where there is none of that name, a batch's id, its beginning, or `last`.
        detach: not to wait: say the id of what was submitted, or how far the batch is that was found.
        name: of a new batch; None: as its file says.
        labels: of every run of a new batch; they win over those of its file.

    Raises:
        UsageError: a batch that the service has already is given a name or labels, or the file is off.
    """
    there = (named == LAST or _ID.fullmatch(named) is not None) and not Path(named).is_file()
    if there and (name is not None or labels):
        raise UsageError(f"the batch {named} is there already: --name and --label are for a new one")
    with open_batches(where) as client:
        if there:
            batch = find_batch(client, named)
        else:
            document = _labelled(_read(Path(named)), name, labels or {})
            batch = _submit(client, document, Path(named).parent)
        again = terminal.command(f"batch {figures.short(batch.id)}")
        if detach and not there:
            terminal.emit(batch.model_dump(mode="json")) if terminal.as_json else terminal.show(batch.id)
            terminal.note(f"next: {again}", style="dim")
            return OK
        try:
            summary = _summed(client, batch) if detach else _wait(terminal, client, batch)
        except KeyboardInterrupt:
            terminal.note(f"no longer waiting; its runs go on, and this waits for them again: {again}")
            return INTERRUPTED
    if terminal.as_json:
        terminal.emit(summary.model_dump(mode="json"))
    else:
        _show(terminal, summary)
    return OK if detach else _outcome(terminal, summary, again)


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {file}, and the id of a batch begins with bat_") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"the batch {file} cannot be read: {error}") from error


def _labelled(document: dict[str, Any], name: str | None, labels: Mapping[str, str]) -> dict[str, Any]:
    """The document of a batch with the name and the labels of the command line."""
    if name is not None:
        document["name"] = name
    for table in _tables(document):
        own = table.get("labels", {})
        if labels and isinstance(own, dict):  # anything else is refused with its place when the request is made
            table["labels"] = {**own, **labels}
    return document


def _submit(client: "Client", document: dict[str, Any], beside: Path) -> "Batch":
    from service.client import calls
    from service.client.words import checked
    from service.schemas.batches import BatchCreate

    known: dict[str, str] = {}

    def there(problem: object) -> object:
        """The id of a folder that is sent, once; anything else as it stands."""
        if not isinstance(problem, str) or not (beside / problem).is_dir():
            return problem
        if problem not in known:
            known[problem] = _uploaded(client, beside / problem)
        return known[problem]

    _refuse_blank(document)
    for table in _tables(document):
        if "problem" in table:
            table["problem"] = there(table["problem"])
        if isinstance(table.get("problems"), list):
            table["problems"] = [there(problem) for problem in table["problems"]]
    return client.send(calls.create_batch(checked(BatchCreate, **document)))


def _tables(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parts of a batch that name a problem."""
    runs, sweep = document.get("runs"), document.get("sweep")
    return [table for table in [*(runs if isinstance(runs, list) else []), sweep] if isinstance(table, dict)]


def _refuse_blank(document: Mapping[str, Any]) -> None:
    """Refuse a problem without a name before anything is sent: as a path it would be the folder of the file."""
    for table in _tables(document):
        several = table.get("problems")
        for named in [table.get("problem"), *(several if isinstance(several, list) else [])]:
            if isinstance(named, str) and not named.strip():
                raise UsageError(
                    f"the batch names a problem {named!r}: name a folder beside the file (. is the file's own), or a"
                    " problem of the service"
                )


def _uploaded(client: "Client", folder: Path) -> str:
    from service.cli.upload import upload_of
    from service.client import calls

    return client.send(calls.create_problem(upload_of(folder))).id


def _wait(terminal: Terminal, client: "Client", batch: "Batch") -> "BatchSummary":
    """What a batch came to, when none of its runs goes on any more: they have ended, or are paused."""
    from service.client import calls

    terminal.note(f"batch {batch.id}; Ctrl-C stops waiting, and its runs go on", style="dim")
    told: Mapping[str, int] = {}
    while True:
        if batch.states != told:
            told = batch.states
            terminal.note(states_words(batch))
        if _rests(client, batch):
            return _summed(client, batch)
        time.sleep(LOOK_SECONDS)
        batch = client.send(calls.get_batch(batch.id))


def _rests(client: "Client", batch: "Batch") -> bool:
    """Whether none of its runs goes on: each has ended, or is paused and to stay so."""
    from service.client import calls
    from service.schemas.batches import MOST_RUNS

    going = {state for state, count in batch.states.items() if count} - ENDED
    if going != {PAUSED}:
        return not going
    paused = client.send(calls.list_runs(batch_id=batch.id, states=[PAUSED], limit=MOST_RUNS)).items
    return bool(paused) and all(run.desired_state == PAUSED for run in paused)


def _summed(client: "Client", batch: "Batch") -> "BatchSummary":
    from service.client import calls

    return client.send(calls.get_batch_summary(batch.id))


def _outcome(terminal: Terminal, summary: "BatchSummary", again: str) -> int:
    states = summary.batch.states
    if paused := states.get(PAUSED):
        resume = terminal.command(f"resume {figures.short(summary.batch.id)}")
        terminal.note(f"{figures.plural(paused, 'run')} paused: have them go on with {resume}, and wait with {again}")
        return INTERRUPTED
    return OK if states.get("succeeded") else FAILED


def _show(terminal: Terminal, summary: "BatchSummary") -> None:
    paid = any(group.cost not in (None, "0") for group in summary.groups)
    going = any(group.ended < group.runs for group in summary.groups)
    several = len({group.problem for group in summary.groups}) > 1
    headings = (
        *(["problem~"] if several else []),
        "group~",
        "runs>",
        *(["ended>"] if going else []),
        "best>",
        "median>",
        "evaluated>",
        "tokens>",
    )
    table = plain_table(*headings, *(["cost>"] if paid else []))
    for group in summary.groups:
        table.add_row(
            *([plain(group.problem)] if several else []),
            plain(group.group),
            figures.count(group.runs),
            *([figures.count(group.ended)] if going else []),
            figures.exact(group.best),
            figures.exact(group.median),
            figures.count(group.evaluations),
            figures.count(group.tokens),
            *([group.cost or "–"] if paid else []),
        )
    terminal.show(f"{plain(summary.batch.name)}: {summary.batch.state}", table)
    terminal.note(f"next: {terminal.command('runs')}", style="dim")
