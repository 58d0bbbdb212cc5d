"""A run as JSON Lines: one candidate a line, with its files."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from service.bootstrap.site import Site
from service.cli.figures import plural
from service.cli.records import find_run
from service.cli.terminal import Terminal
from service.errors import ConflictError, NotFoundError

STDOUT = Path("-")


def export_run(terminal: Terminal, site: Site, run_id: str, output: Path | None, *, training: bool = False) -> None:
    """Write every candidate of a run, in order of age, to a file or stdout; or every answered proposal."""
    run = find_run(site.reader, run_id)
    lines, noun = (site.training, "proposal") if training else (site.export, "candidate")
    written = 0
    if output is None or output == STDOUT:
        for line in lines(run.id):
            terminal.write(line)
        return
    with writing(output) as stream:
        for line in lines(run.id):
            stream.write(line)
            written += 1
    if terminal.as_json:
        terminal.emit({"run_id": run.id, f"{noun}s": written, "path": str(output)})
    else:
        terminal.note(f"{plural(written, noun)} of {run.id} written to {output}")


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
