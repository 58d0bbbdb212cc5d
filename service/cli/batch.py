"""The command `evolve batch`: many runs from a file, or those of a batch that is there already."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from service.bootstrap.sites import BatchSite, open_batches
from service.cli import formatting
from service.cli.batch_progress import batch_code, wait_for_batch
from service.cli.batches import find_batch
from service.cli.exit_codes import INTERRUPTED, OK
from service.cli.listing import plain_table
from service.cli.records import LAST, as_score
from service.cli.terminal import Terminal, plain
from service.client.service_choice import SourceOptions, advising_local
from service.config import load_settings
from service.errors import NotFoundError, UsageError
from service.policy_settings.choice import submitted
from service.ports import PAUSED
from service.usecases.batches import Batches

if TYPE_CHECKING:
    from service.schemas.batches import Batch, BatchSummary

_ID = re.compile(r"bat_[A-Za-z0-9_-]{0,60}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchOptions:
    """The words of one `evolve batch`.

    Attributes:
        named: a file; where there is none of that name, a batch's id, its beginning, or `last`.
        detach: not to wait: say the id of what was submitted, or how far the batch is that was found.
        name: of a new batch; None: as its file says.
        labels: of every run of a new batch; they win over those of its file.
        parallel: runs that this process drives at once; None: as many as it has cores, and `runner.runs` at most.
        require_isolation: weakest isolation of runs of this process; None: what the settings say.
    """

    named: str
    detach: bool = False
    name: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    parallel: int | None = None
    require_isolation: str | None = None

    @property
    def there(self) -> bool:
        """Whether a batch is named that is there already."""
        return (self.named == LAST or _ID.fullmatch(self.named) is not None) and not Path(self.named).is_file()


def run_batch(terminal: Terminal, where: SourceOptions, options: BatchOptions) -> int:
    """Submit a batch, or find one, see it to its end, and return the exit code.

    Raises:
        UsageError: a batch that is there already is given a name or labels, the file is off, or an option is for
            another place.
    """
    if options.there and (options.name is not None or options.labels):
        raise UsageError(f"the batch {options.named} exists already: leave out --name and --label")
    document = None if options.there else _labelled(_read(Path(options.named)), options)
    with open_batches(load_settings(), where, make=document is not None) as site:
        with advising_local(site.service):
            _refuse_elsewhere(site, options)
        if document is None:
            batch = find_batch(site.batches, options.named)
        else:
            if site.storage is not None:
                from service.cli.batch_here import refuse_weak_isolation

                refuse_weak_isolation(options.require_isolation)
            with advising_local(site.service):
                batch = _submit(site.batches, document, Path(options.named).parent)
        if not options.detach and _paused_here(terminal, site, batch):
            return run_batch(terminal, replace(where, server=""), replace(options, named=batch.id))
        again = terminal.command(f"batch {formatting.short(batch.id)}")
        if options.detach and document is not None:
            terminal.emit(batch.model_dump(mode="json")) if terminal.as_json else terminal.show(batch.id)
            terminal.note(f"next: {again}", style="dim")
            return OK
        if not options.detach and (code := _see_to_its_end(terminal, site, batch, options, again)) is not None:
            return code
        summary = site.batches.summary(batch.id)
        if terminal.as_json:
            terminal.emit(summary.model_dump(mode="json"))
        else:
            _show(terminal, summary)
        return OK if options.detach else batch_code(terminal, site.batches.runs(batch.id), summary.batch)


def _paused_here(terminal: Terminal, site: BatchSite, batch: "Batch") -> bool:
    """Whether a service that nobody named has a batch that a command began and paused: a command goes on with it."""
    if site.service is None or not site.service.found or PAUSED not in batch.states:
        return False
    if any(submitted(run.source) for run in site.batches.runs(batch.id)):
        return False
    terminal.note("this batch was started without the service, so it continues without it", style="dim")
    return True


def _refuse_elsewhere(site: BatchSite, options: BatchOptions) -> None:
    if site.storage is None:
        if options.parallel is not None:
            raise UsageError("--parallel is for runs of this process: set runner.runs of the service instead")
        if options.require_isolation is not None:
            raise UsageError(
                "the service sets its own isolation (sandbox.require): leave out --require-isolation and"
                " --allow-unsandboxed"
            )
    elif options.detach and not options.there:
        raise UsageError("--detach needs a service, since runs of this process end with it: name one with --server")


def _see_to_its_end(
    terminal: Terminal, site: BatchSite, batch: "Batch", options: BatchOptions, again: str
) -> int | None:
    """Wait until no run goes on any more, running them here where no service does; an exit code when interrupted."""
    if site.storage is not None:
        from service.cli.batch_here import drive_batch

        stopped = drive_batch(terminal, site, batch, options.parallel, options.require_isolation)
        if not stopped:
            return None
        terminal.note(f"Stopped. Results so far are saved. Continue with: {again}")
        return INTERRUPTED
    try:
        wait_for_batch(terminal, site.batches, batch)
    except KeyboardInterrupt:
        terminal.note(f"Stopped waiting. The runs continue. Wait for them again with: {again}")
        return INTERRUPTED
    return None


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise NotFoundError(f"there is no file {file}: name a batch file, or a batch id (bat_...)") from error
    except (OSError, ValueError) as error:
        raise UsageError(f"the batch {file} cannot be read: {error}") from error


def _labelled(document: dict[str, Any], options: BatchOptions) -> dict[str, Any]:
    """The document of a batch with the name and the labels of the command line."""
    if options.name is not None:
        document["name"] = options.name
    for table in _tables(document):
        own = table.get("labels", {})
        if options.labels and isinstance(own, dict):  # anything else is refused with its place when the request is made
            table["labels"] = {**own, **options.labels}
    return document


def _submit(batches: Batches, document: dict[str, Any], beside: Path) -> "Batch":
    from service.schemas.batches import BatchCreate
    from service.schemas.requests import checked

    known: dict[str, str] = {}

    def there(problem: object) -> object:
        """The id of a folder that is stored, once; anything else as it stands."""
        if not isinstance(problem, str) or not (beside / problem).is_dir():
            return problem
        if problem not in known:
            known[problem] = batches.add_problem(beside / problem)
        return known[problem]

    _refuse_blank(document)
    for table in _tables(document):
        if "problem" in table:
            table["problem"] = there(table["problem"])
        if isinstance(table.get("problems"), list):
            table["problems"] = [there(problem) for problem in table["problems"]]
    return batches.create(checked(BatchCreate, **document))


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


def _show(terminal: Terminal, summary: "BatchSummary") -> None:
    from service.schemas.series import MAX_COMPARED

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
            formatting.count(group.runs),
            *([formatting.count(group.ended)] if going else []),
            formatting.exact(as_score(group, group.best)),
            formatting.exact(as_score(group, group.median)),
            formatting.count(group.evaluations),
            formatting.count(group.tokens),
            *([group.cost or "–"] if paid else []),
        )
    terminal.show(f"{plain(summary.batch.name)}: {summary.batch.state}", table)
    comparable = 1 < sum(group.runs for group in summary.groups) <= MAX_COMPARED
    command = "batch" if going else "compare"
    following = f"{command} {formatting.short(summary.batch.id)}" if going or comparable else "runs"
    terminal.note(f"next: {terminal.command(following)}", style="dim")
