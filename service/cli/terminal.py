"""What a command writes to: data on stdout, messages on stderr, plain where nobody watches."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from service.jsonlines import as_line

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

NAME = "evolve"
PIPE_COLUMNS = 160
MAX_PIPE_COLUMNS = 10_000
ERASE_LINE = "\r\x1b[2K"
# Everything a text of others could steer a terminal with: C0 but tab and newline, DEL, C1, and marks that reorder text.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class OutputClosed(Exception):
    """Whoever read the output went away: there is nobody left to tell."""


@dataclass(frozen=True)
class Terminal:
    """Where a command writes.

    Attributes:
        as_json: data is JSON; then nothing but JSON goes to stdout.
        verbosity: -1 quiet, 0 plain, 1 events.
        place: words that make a further command look into the same database; may be shown.
        local: whether a service on this machine is left out.
    """

    as_json: bool = False
    verbosity: int = 0
    color: bool = True
    place: str = ""
    local: bool = False

    def command(self, words: str) -> str:
        """A command to type next."""
        return f"{evolve()} {words}{self.place}"

    @cached_property
    def out(self) -> "Console":
        """The console of the data."""
        return _console(stderr=False, color=self.color)

    @cached_property
    def err(self) -> "Console":
        """The console of the messages."""
        return _console(stderr=True, color=self.color)

    def show(self, *parts: "RenderableType") -> None:
        """Show data to a person; one line or block for each part."""
        for part in parts:
            if isinstance(part, str):
                self.out.print(part, markup=False, highlight=False, soft_wrap=True)
                continue
            with _unfolded(self.out, part):
                self.out.print(part, markup=False, highlight=False)

    def note(self, text: str, style: str = "") -> None:
        """Say something on stderr, unless asked to be quiet."""
        if self.verbosity >= 0:
            self.err.print(plain(text), markup=False, highlight=False, style=style, soft_wrap=True)

    @contextmanager
    def doing(self, text: str) -> Iterator[None]:
        """Say on a terminal what is being done, and take it back when it is done; elsewhere say nothing."""
        watched = sys.stderr.isatty() and self.verbosity >= 0 and os.environ.get("TERM") != "dumb"
        if watched:
            sys.stderr.write(f"{plain(text)} …")
            sys.stderr.flush()
        try:
            yield
        finally:
            if watched:
                sys.stderr.write(ERASE_LINE)
                sys.stderr.flush()

    def agreed(self, what: str, about: str = "") -> bool | None:
        """Ask whoever is at the terminal, and say before what it is about; None: nobody is there."""
        if not sys.stdin.isatty():
            return None
        sys.stderr.write(f"{plain(about)}\n" if about else "")
        sys.stderr.write(f"{plain(what)}? [y/N] ")
        sys.stderr.flush()
        return sys.stdin.readline().strip().lower() in ("y", "yes")

    def emit(self, value: Mapping[str, Any]) -> None:
        """Write one JSON object as one line."""
        self.write(as_line(value) + "\n")

    def write(self, text: str) -> None:
        """Write data as it is."""
        try:
            sys.stdout.write(text)
            sys.stdout.flush()
        except BrokenPipeError as error:
            raise OutputClosed from error


def evolve() -> str:
    """What to type to call this command again: its name where a shell finds it, else the path it was called by."""
    called = Path(sys.argv[0])
    found = shutil.which(called.name)
    if called.name != NAME or (found is not None and Path(found).resolve() == called.resolve()):
        return NAME
    return quote(str(called))


def plain(text: str) -> str:
    """Text of others without the characters that steer a terminal."""
    return _STEERING.sub("\ufffd", text)


@contextmanager
def _unfolded(console: "Console", part: "RenderableType") -> Iterator[None]:
    """Give a table in a pipe all the columns that it needs: a program that reads the lines finds whole values."""
    from rich.measure import Measurement
    from rich.table import Table

    columns = console.width
    if isinstance(part, Table) and not console.is_terminal and "COLUMNS" not in os.environ:
        needed = Measurement.get(console, console.options.update(width=MAX_PIPE_COLUMNS), part).maximum
        console.width = max(columns, needed)
    try:
        yield
    finally:
        console.width = columns


def _console(*, stderr: bool, color: bool) -> "Console":
    from rich.console import Console

    class QuietConsole(Console):
        def on_broken_pipe(self) -> None:
            raise OutputClosed

    stream = sys.stderr if stderr else sys.stdout
    watched = stream.isatty()
    width = None if watched or "COLUMNS" in os.environ else PIPE_COLUMNS
    return QuietConsole(
        stderr=stderr,
        no_color=True if not color else None,
        force_terminal=watched,
        width=width,
        highlight=False,
        emoji=False,
        color_system="auto" if watched else None,
    )
