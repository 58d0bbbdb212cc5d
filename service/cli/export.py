"""A run to take away: as JSON Lines, a table, its events, training records, or Parquet."""

import csv
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TextIO

from evolve.program import Program
from evolve.repository import base_commit
from service.cli.formatting import plural
from service.cli.records import find_run
from service.cli.terminal import Terminal
from service.errors import ConflictError, NotFoundError, UsageError
from service.ports import Bundle, RunRecord
from service.projections.run_site import RunSite
from service.schemas.export_form import ExportForm

if TYPE_CHECKING:
    from service.client.service_choice import SourceOptions

STDOUT = Path("-")
Form = Literal["jsonl", "csv", "events", "parquet", "datasets"]
NOUNS = {"events": "event"}
_PARTS: tuple[ExportForm, ExportForm] = ("jsonl", "training")


def export_run(
    terminal: Terminal, site: RunSite, run_id: str, output: Path | None, form: Form = "jsonl", *, training: bool = False
) -> None:
    """Write a run to a file or stdout: its candidates in order of age, its events, or every answered proposal.

    Raises:
        UsageError: a form and training records are asked for, or Parquet with no file or without what writes it.
    """
    if training and form != "jsonl":
        raise UsageError("--training has its own format: leave out --format")
    if form == "parquet":
        _export_parquet(terminal, site, run_id, output)
        return
    if form == "datasets":
        _export_dataset(terminal, site, run_id, output)
        return
    run = find_run(site.reader, run_id)
    lines = site.export(run.id, "training" if training else form)
    if output is None or output == STDOUT:
        for line in lines:
            terminal.write(line)
        return
    with writing(output) as stream:
        copied = (line for line in lines if stream.write(line))
        # A cell of a table may go over several lines.
        written = sum(1 for _ in csv.reader(copied)) - 1 if form == "csv" else sum(1 for _ in copied)
    _told(terminal, run.id, output, written, "proposal" if training else NOUNS.get(form, "candidate"))


def refuse_two_targets(folders: Mapping[str, Path | None], output: Path | None, form: Form, *, training: bool) -> None:
    """Refuse words that name more than one thing to write.

    Raises:
        UsageError: they do.
    """
    named = [word for word, folder in folders.items() if folder is not None]
    if len(named) > 1:
        raise UsageError(f"{' and '.join(named)} exclude each other: leave out one of them")
    if named and (output is not None or training or form != "jsonl"):
        raise UsageError(f"{named[0]} writes a folder: leave out -o, --format and --training")


def export_repository(terminal: Terminal, where: "SourceOptions", run_id: str, folder: Path) -> None:
    """Write the lineage of a run, wherever it is, as a git repository."""
    from service.bootstrap.sites import open_bundles
    from service.client.service_choice import server_of
    from service.config import load_settings

    settings = load_settings()
    with open_bundles(settings, where) as (site, bundles):
        export_history(terminal, site, bundles, run_id, folder, local=not server_of(settings, where))


def export_history(
    terminal: Terminal,
    site: RunSite,
    bundles: Callable[[RunRecord], Bundle],
    run_id: str,
    folder: Path,
    *,
    local: bool,
) -> None:
    """Write the lineage of a run as a git repository, of a run over a repository on top of its commit.

    Args:
        terminal: tells what was written.
        site: where the run is.
        bundles: the folder of a run's problem.
        run_id: of the run.
        folder: of the new repository.
        local: whether the run is this user's own, so that paths that it names may be read.
    """
    from service.problems.repository.origin import origin_of
    from service.usecases.git_history import BRANCH, write_history
    from service.usecases.repository_history import write_repository_history

    run = find_run(site.reader, run_id)
    candidates = (json.loads(line) for line in site.export(run.id, "jsonl"))
    first = next(iter(site.reader.candidates(run.id, limit=1)), None)
    based = first is not None and base_commit(dict(site.reader.program(first.id).files))
    origin = origin_of(bundles(run)) if based else None
    if origin is None:
        written = write_history(folder, candidates, run.best_candidate_id)
    else:
        written = write_repository_history(folder, candidates, run.best_candidate_id, origin, local=local)
    if terminal.as_json:
        terminal.emit({"run_id": run.id, "commits": written, "path": str(folder)})
    else:
        terminal.note(
            f"{plural(written, 'commit')} of {run.id} written to {folder}: the branch {BRANCH} is its best candidate"
        )


def _export_parquet(terminal: Terminal, site: RunSite, run_id: str, output: Path | None) -> None:
    from service.cli.parquet import check_parquet, write_parquet

    if output is None or output == STDOUT:
        raise UsageError("Parquet is a binary format: name a file with -o")
    check_parquet()
    run = find_run(site.reader, run_id)
    with appearing(output) as partial:
        written = write_parquet(site.export(run.id, "jsonl"), partial)
    _told(terminal, run.id, output, written, "candidate")


def _export_dataset(terminal: Terminal, site: RunSite, run_id: str, output: Path | None) -> None:
    from service.cli.dataset import write_dataset

    if output is None or output == STDOUT:
        raise UsageError("a data set is a folder: name an empty or new folder with -o")
    run = find_run(site.reader, run_id)
    candidates, proposals = (partial(site.export, run.id, form) for form in _PARTS)
    written, asked = write_dataset(output, run, candidates, proposals)
    if terminal.as_json:
        terminal.emit({"run_id": run.id, "candidates": written, "proposals": asked, "path": str(output)})
    else:
        parts = f"{plural(written, 'candidate')} and {plural(asked, 'proposal')}"
        terminal.note(f"{parts} of {run.id} written to {output}")


def _told(terminal: Terminal, run_id: str, output: Path, written: int, noun: str) -> None:
    if terminal.as_json:
        terminal.emit({"run_id": run_id, f"{noun}s": written, "path": str(output)})
    else:
        terminal.note(f"{plural(written, noun)} of {run_id} written to {output}")


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """A text file that appears whole or not at all; the rest is as with `appearing`."""
    with appearing(path) as partial, partial.open("w", encoding="utf-8", newline="") as stream:
        yield stream


@contextmanager
def appearing(path: Path) -> Iterator[Path]:
    """A file to write that takes its place once it is whole; what is not a regular file (a device) is written through.

    Raises:
        NotFoundError: its folder is not there.
        ConflictError: it is a folder.
    """
    if path.is_dir():
        raise ConflictError(f"{path} is a folder: name a file with -o")
    if not path.parent.is_dir():
        raise NotFoundError(f"there is no folder {path.parent}: make it, or name another with -o")
    if path.exists() and not path.is_file():
        yield path
        return
    partial = path.with_name(f".{path.name}.partial")
    try:
        yield partial
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_program(terminal: Terminal, program: Program, output: Path) -> list[str]:
    """Write a program of one file to a file, one of several into a folder; `-` is stdout.

    Raises:
        ConflictError: several files, and the output is a file.
    """
    if output == STDOUT:
        terminal.write(program.text)
        return []
    if program.single and not output.is_dir():
        targets = {output: program.text}
    elif output.exists() and not output.is_dir():
        raise ConflictError(f"the program has {len(program.files)} files, but {output} is a file: name a folder")
    else:
        targets = {output / path: text for path, text in program.files}
    for target, text in targets.items():
        if target != output:
            target.parent.mkdir(parents=True, exist_ok=True)
        with writing(target) as stream:
            stream.write(text)
    return [str(target) for target in targets]
