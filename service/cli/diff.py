"""What changed from one candidate to another."""

from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.records import find_candidate
from service.errors import UsageError
from service.ports import ResultReader
from service.projections.candidates import parent_of
from service.projections.diff import tally, unified
from service.projections.sides import sides_of

if TYPE_CHECKING:
    from rich.text import Text

    from service.cli.terminal import Terminal
    from service.projections.run_site import RunSite

STYLES = {"---": "bold", "+++": "bold", "@@": "cyan", "+": "green", "-": "red"}


def show_diff(terminal: "Terminal", site: "RunSite", first: str, second: str | None) -> None:
    """Print a unified diff; one id alone is compared with its parent."""
    reader = site.reader
    before, after = _pair(reader, first, second)
    names = formatting.short(before), formatting.short(after)
    run = reader.run(reader.candidate(after).run_id)
    sides = sides_of(reader.program(before), reader.program(after), lambda: site.repository(run))
    lines = list(unified(*sides, *names))
    if terminal.as_json:
        added, removed = tally(*sides)
        terminal.emit({"a": before, "b": after, "added": added, "removed": removed, "diff": "".join(lines)})
    elif lines:
        terminal.show(*(coloured(line) for line in lines))
    else:
        terminal.note("the two programs are the same")


def _pair(reader: ResultReader, first: str, second: str | None) -> tuple[str, str]:
    candidate = find_candidate(reader, first)
    if second is not None:
        return candidate.id, find_candidate(reader, second, candidate.run_id).id
    parent = parent_of(candidate)
    if parent is None:
        raise UsageError(f"{candidate.id} is a seed and has no parent: name two candidates to compare")
    return parent, candidate.id


def coloured(line: str) -> "Text":
    """One line of a diff for a terminal."""
    from rich.text import Text

    from service.cli.terminal import plain

    style = next((style for start, style in STYLES.items() if line.startswith(start)), "")
    return Text(plain(line.rstrip("\n")), style=style, no_wrap=True, overflow="ignore")
