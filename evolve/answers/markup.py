"""The marks of an answer's parts: fenced blocks, file headings, edit markers. It reads line by line."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

# No mark is longer; what is longer is text, and is not searched.
_MAX_MARK = 400
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*(.*)")
_SEPARATOR = re.compile(r" {0,3}-{3,}")
_HEADING = re.compile(r"(?:#{2,6} +|\*\*|`)?FILE:[ \t]*(\S.*)")
_REMOVAL = re.compile(r"(?:#{2,6} +|\*\*|`)?DELETE:[ \t]*(\S.*)")
_SEARCH = re.compile(r"<{7} ?SEARCH")
_DIVIDER = re.compile(r"={7}")
_REPLACE = re.compile(r">{7} ?REPLACE")


@dataclass(frozen=True, slots=True)
class Fence:
    """A line that opens a fenced block: its run of backticks or tildes, and its info string."""

    run: str
    info: str

    def closed_by(self, line: str) -> bool:
        """Whether a line ends the block: the same character, at least as many, and nothing behind it."""
        other = fence(line)
        return other is not None and not other.info and other.run.startswith(self.run)


def fence(line: str) -> Fence | None:
    """The fence that a line opens or closes, by CommonMark. None for any other line."""
    match = _matched(_FENCE, line)
    if match is None or (match[1][0] == "`" and "`" in match[2]):
        return None
    return Fence(match[1], match[2].strip())


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block of a text: its info string, its lines, and whether it is closed."""

    info: str
    lines: list[str]
    closed: bool

    @property
    def text(self) -> str:
        """Its content."""
        return "\n".join(self.lines)


def fenced_blocks(lines: list[str]) -> Iterator[Block]:
    """The fenced blocks of a text, in order. The last may be open."""
    opened: Fence | None = None
    start = 0
    for number, line in enumerate(lines):
        after = fence_after(line, opened)
        if opened is not None and after is None:
            yield Block(opened.info, lines[start:number], closed=True)
        elif opened is None and after is not None:
            start = number + 1
        opened = after
    if opened is not None:
        yield Block(opened.info, lines[start:], closed=False)


def in_fence(text: str) -> bool:
    """Whether a text ends within a fenced block."""
    opened: Fence | None = None
    for line in text.split("\n"):
        opened = fence_after(line, opened)
    return opened is not None


def fence_after(line: str, opened: Fence | None) -> Fence | None:
    """The fence that is open after a line."""
    if "`" not in line and "~" not in line:
        return opened
    if opened is None:
        return fence(line)
    return None if opened.closed_by(line) else opened


def heading(line: str) -> str | None:
    """The path in a line `FILE: path`, without emphasis, quotes and a leading `./`. None for any other line."""
    match = _matched(_HEADING, line)
    return (match[1].strip("`*\"' ").removeprefix("./") or None) if match else None


def removal(line: str) -> str | None:
    """The path in a line `DELETE: path`, read as a heading is. None for any other line."""
    match = _matched(_REMOVAL, line)
    return (match[1].strip("`*\"' ").removeprefix("./") or None) if match else None


def is_separator(line: str) -> bool:
    """Whether a line is `---`, which sets answers apart."""
    return _matched(_SEPARATOR, line) is not None


def opens_search(line: str) -> bool:
    """Whether a line is `<<<<<<< SEARCH`."""
    return _matched(_SEARCH, line) is not None


def divides_edit(line: str) -> bool:
    """Whether a line is `=======`."""
    return _matched(_DIVIDER, line) is not None


def closes_replace(line: str) -> bool:
    """Whether a line is `>>>>>>> REPLACE`."""
    return _matched(_REPLACE, line) is not None


def _matched(pattern: re.Pattern[str], line: str) -> re.Match[str] | None:
    return pattern.fullmatch(line.rstrip()) if len(line) <= _MAX_MARK else None
