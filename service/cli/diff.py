"""What changed from one candidate to another."""

import difflib
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from evolve.program import Program
from service.cli.records import find_candidate, parent_of
from service.errors import UsageError
from service.ports import RunReader

if TYPE_CHECKING:
    from rich.text import Text

    from service.cli.terminal import Terminal

STYLES = {"---": "bold", "+++": "bold", "@@": "cyan", "+": "green", "-": "red"}


def show_diff(terminal: "Terminal", reader: RunReader, first: str, second: str | None) -> None:
    """Print a unified diff; one id alone is compared with its parent."""
    before, after = _pair(reader, first, second)
    lines = list(unified(reader.program(before), reader.program(after), before, after))
    if terminal.as_json:
        added, removed = tally(reader.program(before), reader.program(after))
        terminal.emit({"a": before, "b": after, "added": added, "removed": removed, "diff": "".join(lines)})
    elif lines:
        terminal.show(*(coloured(line) for line in lines))
    else:
        terminal.note("the two programs are the same")


def _pair(reader: RunReader, first: str, second: str | None) -> tuple[str, str]:
    if second is not None:
        return find_candidate(reader, first).id, find_candidate(reader, second).id
    candidate = find_candidate(reader, first)
    parent = parent_of(candidate)
    if parent is None:
        raise UsageError(f"{candidate.id} is a seed and has no parent: name two candidates to compare")
    return parent, candidate.id


def unified(before: Program, after: Program, before_name: str, after_name: str) -> Iterator[str]:
    """The lines of a unified diff over all files, each with its line end."""
    for path, old, new in _files(before, after):
        yield from (
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in difflib.unified_diff(
                old or [],
                new or [],
                "/dev/null" if old is None else f"{before_name}/{path}",
                "/dev/null" if new is None else f"{after_name}/{path}",
            )
        )


def tally(before: Program, after: Program) -> tuple[int, int]:
    """Lines added and removed over all files."""
    added = removed = 0
    for _, old, new in _files(before, after):
        for tag, old_from, old_to, new_from, new_to in difflib.SequenceMatcher(
            None, old or [], new or []
        ).get_opcodes():
            if tag != "equal":
                added += new_to - new_from
                removed += old_to - old_from
    return added, removed


def _files(before: Program, after: Program) -> Iterator[tuple[str, list[str] | None, list[str] | None]]:
    old, new = dict(before.files), dict(after.files)
    for path in sorted(old.keys() | new.keys()):
        if old.get(path) != new.get(path):
            yield path, _lines(old.get(path)), _lines(new.get(path))


def _lines(text: str | None) -> list[str] | None:
    return None if text is None else [line for line in re.split("(?<=\n)", text) if line]


def coloured(line: str) -> "Text":
    """One line of a diff for a terminal."""
    from rich.text import Text

    from service.cli.terminal import plain

    style = next((style for start, style in STYLES.items() if line.startswith(start)), "")
    return Text(plain(line.rstrip("\n")), style=style, no_wrap=True, overflow="ignore")
