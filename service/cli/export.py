"""A run as JSON Lines: one candidate a line, with its files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from service.cli.figures import plural
from service.cli.records import candidate_json, candidate_pages, find_run
from service.cli.terminal import Terminal, as_line
from service.errors import ConflictError, NotFoundError
from service.ports import RunReader

STDOUT = Path("-")


def export_run(terminal: Terminal, reader: RunReader, run_id: str, output: Path | None) -> None:
    """Write every candidate of a run, in order of age, to a file or stdout."""
    run = find_run(reader, run_id)
    written = 0
    if output is None or output == STDOUT:
        for line in export_lines(reader, run.id):
            terminal.write(line)
        return
    with writing(output) as stream:
        for line in export_lines(reader, run.id):
            stream.write(line)
            written += 1
    if terminal.as_json:
        terminal.emit({"run_id": run.id, "candidates": written, "path": str(output)})
    else:
        terminal.note(f"{plural(written, 'candidate')} of {run.id} written to {output}")


def export_lines(reader: RunReader, run_id: str) -> Iterator[str]:
    """One JSON line per candidate."""
    for page in candidate_pages(reader, run_id):
        programs = reader.programs([candidate.id for candidate in page])
        for candidate in page:
            program = programs.get(candidate.id)  # None: rejected before it became one
            yield as_line({**candidate_json(candidate), "files": dict(program.files) if program else None}) + "\n"


@contextmanager
def writing(path: Path) -> Iterator[TextIO]:
    """A text file that appears whole or not at all; what is no plain file (a pipe, a device) is written through.

    Raises:
        NotFoundError: its folder is not there.
        ConflictError: it is a folder.
    """
    if path.is_dir():
        raise ConflictError(f"{path} is a folder: name a file in it with -o")
    if not path.parent.is_dir():
        raise NotFoundError(f"there is no folder {path.parent}: make it, or name another with -o")
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    partial = path.with_name(f".{path.name}.partial")
    try:
        with partial.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)
