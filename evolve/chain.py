"""Chains: one completion of a policy, taken apart into its answers while it is still being written."""

import re
from dataclasses import dataclass, field
from typing import Protocol

from evolve.errors import ConfigurationError
from evolve.markup import Fence, closes_replace, fence, heading, is_separator, opens_search
from evolve.reasoning import NAMES, ReasoningFilter

LONGEST_ANSWER = 100_000
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,39}")
_NUMBER = r"[ _-]?[0-9]{0,6}[ \t]{0,8}"
_ENDS_IN_NUMBER = re.compile(r".*[_-]?[0-9]")
_MOST_HELD = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainFormat:
    """How the answers of a chain are set apart.

    Attributes:
        kind: `tags`, `fences` or `single`.
        tag: name of the numbered tags, without the number; empty for the other kinds.
    """

    kind: str
    tag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """One answer of a chain: its place among the answers taken, from 0, and its text without the format around it."""

    index: int
    text: str


def parse_format(text: str) -> ChainFormat:
    """Read the name of a format: `tags:NAME`, `fences` or `single`.

    Raises:
        ConfigurationError: it is none of them.
    """
    if text in {"fences", "single"}:
        return ChainFormat(kind=text)
    kind, _, tag = text.partition(":")
    if kind != "tags":
        raise ConfigurationError(f"format = {text!r} is unknown: choose tags:NAME, fences or single")
    if not _NAME.fullmatch(tag) or _ENDS_IN_NUMBER.fullmatch(tag) or tag.lower() in NAMES:
        raise ConfigurationError(
            f"format = {text!r} needs a tag name of letters, digits, - and _ that does not end in a digit, such as"
            " tags:answer"
        )
    return ChainFormat(kind="tags", tag=tag)


def example(chain_format: ChainFormat, m: int, body: str = "...") -> str:
    """A skeleton of the reply that the format expects: `m` answers, each holding `body`."""
    if chain_format.kind == "tags":
        names = [f"{chain_format.tag}_{number}" for number in range(1, m + 1)]
        return "\n".join(f"<{name}>\n{body}\n</{name}>" for name in names)
    if chain_format.kind == "fences":
        return "\n---\n".join([f"```\n{body}\n```"] * m)
    return body


class ChainParser:
    """Takes the answers out of a completion as its text arrives, in whatever pieces.

    Tolerant: numbers of tags may be missing, repeated or out of order, prose may stand around, a block may be left
    open; reasoning in `<think>` in front is passed over. The work is linear in the text however it is cut up; what is
    remembered is the answer being written and a few counts. Any text is parsed without an exception.
    """

    def __init__(self, chain_format: ChainFormat, limit: int, longest: int = LONGEST_ANSWER) -> None:
        """Take at most `limit` answers of at most `longest` characters."""
        self._outbox = _Outbox(limit=limit, longest=longest)
        self._reasoning = ReasoningFilter()
        self._scanner: _Scanner
        match chain_format.kind:
            case "tags":
                self._scanner = _Tags(chain_format.tag, self._outbox)
            case "fences":
                self._scanner = _Fences(self._outbox)
            case _:
                self._scanner = _Single(self._outbox)

    def feed(self, text: str) -> list[Parsed]:
        """Take the next piece of the completion; gives the answers that it completes."""
        self._scanner.feed(self._reasoning.feed(text))
        return self._outbox.collect()

    def close(self, cut: bool = False) -> list[Parsed]:
        """End the completion; gives the answers that its end completes.

        Args:
            cut: the completion was cut off (finish reason `length`): an answer still open is dropped, not taken.
        """
        self._scanner.feed(self._reasoning.close())
        self._scanner.close(cut)
        self._outbox.close()
        return self._outbox.collect()

    @property
    def dropped(self) -> list[str]:
        """What made no answer, one sentence for each reason."""
        return self._outbox.reasons()


class _Scanner(Protocol):
    def feed(self, text: str) -> None: ...

    def close(self, cut: bool) -> None: ...


@dataclass(slots=True, kw_only=True)
class _Outbox:
    """Answers ready to be handed on, and counts of what was not: a hostile text must not grow a list of reasons."""

    limit: int
    longest: int
    taken: int = 0
    beyond: int = 0
    empty: int = 0
    prose: int = 0
    long: int = 0
    cut: int = 0
    missing: bool = False
    parts: list[str] = field(default_factory=list)
    length: int = 0
    ready: list[Parsed] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Add to the answer being written."""
        self.length += len(text)
        if self.length <= self.longest and self.taken < self.limit:
            self.parts.append(text)

    def discard(self) -> str:
        """End the answer being written without taking it."""
        text = "".join(self.parts)
        self.parts.clear()
        self.length = 0
        return text

    def take(self) -> None:
        """End the answer being written and hand it on if it can be."""
        full, long = self.taken >= self.limit, self.length > self.longest
        text = _trim(self.discard())
        if full:
            self.beyond += 1
        elif long:
            self.long += 1
        elif not text:
            self.empty += 1
        else:
            self.ready.append(Parsed(index=self.taken, text=text))
            self.taken += 1

    def drop_cut(self) -> None:
        self.discard()
        self.cut += 1

    def collect(self) -> list[Parsed]:
        ready, self.ready = self.ready, []
        return ready

    def close(self) -> None:
        self.missing = not (self.taken or self.beyond or self.empty or self.prose or self.long or self.cut)

    def reasons(self) -> list[str]:
        counted = (
            (self.beyond, f"beyond the {self.limit} asked for"),
            (self.empty, "without text"),
            (self.prose, "without a fenced block"),
            (self.long, f"longer than {self.longest} characters"),
            (self.cut, "cut off by the end of the completion"),
        )
        reasons = [f"{count} answer{'s' if count > 1 else ''} {why}" for count, why in counted if count]
        return [*reasons, "the completion holds no answer in the format asked for"] if self.missing else reasons


def _trim(text: str) -> str:
    """Without blank lines in front and white space behind; the first line keeps its indentation."""
    body = text.rstrip()
    start = len(body) - len(body.lstrip())
    return body[body.rfind("\n", 0, start) + 1 :]


class _Tags:
    """`<answer_1> ... </answer_1>`: an opening tag also ends the answer before it."""

    def __init__(self, tag: str, outbox: _Outbox) -> None:
        self._tag = tag.lower()
        self._pattern = re.compile(rf"<(/?){re.escape(tag)}{_NUMBER}>", re.IGNORECASE | re.ASCII)
        self._rest = re.compile(_NUMBER)
        self._outbox = outbox
        self._tail = ""
        self._inside = False

    def feed(self, text: str) -> None:
        text = self._tail + text
        position = 0
        for match in self._pattern.finditer(text):
            self._write(text[position : match.start()])
            self._close() if match[1] else self._open()
            position = match.end()
        # A tag holds one `<`, so only the last one can begin a tag that is still being written.
        start = text.rfind("<", position)
        hold = start if start >= 0 and self._unfinished(text[start:]) else len(text)
        self._write(text[position:hold])
        self._tail = text[hold:]

    def close(self, cut: bool) -> None:
        if not self._tail.lower().startswith("</" + self._tag):
            self._write(self._tail)
        self._tail = ""
        if self._inside and cut:
            self._outbox.drop_cut()
        elif self._inside:
            self._outbox.take()
        self._inside = False

    def _write(self, text: str) -> None:
        if self._inside and text:
            self._outbox.write(text)

    def _open(self) -> None:
        # A tag right inside another one (`<answer_1><answer_1>`) opens one answer, not an empty one and another.
        if self._inside and (self._outbox.length > 0 and not self._blank()):
            self._outbox.take()
        self._inside = True

    def _blank(self) -> bool:
        # What is past a limit is not kept, and counts as an answer whatever it is.
        parts, whole = self._outbox.parts, self._outbox.length <= self._outbox.longest
        return whole and bool(parts) and not any(part.strip() for part in parts)

    def _close(self) -> None:
        if self._inside:
            self._outbox.take()
        self._inside = False

    def _unfinished(self, text: str) -> bool:
        name = text[1:60].removeprefix("/").lower()
        if len(name) < len(self._tag):
            return self._tag.startswith(name)
        return name.startswith(self._tag) and self._rest.fullmatch(name[len(self._tag) :]) is not None


class _Fences:
    """Fenced blocks, answers apart by a line `---`.

    Several blocks between two separators are one answer when they are files (a heading `FILE: path`) or edits (a line
    `<<<<<<< SEARCH`); else each block is an answer, for a policy that forgets the separators. A separator inside a
    block belongs to the block, unless another block is opened right behind it: then the block was left open.
    """

    def __init__(self, outbox: _Outbox) -> None:
        self._outbox = outbox
        self._line: list[str] = []
        self._fence: Fence | None = None
        self._editing = False
        self._blocks = 0
        self._grouped = False
        self._held: list[str] = []

    def feed(self, text: str) -> None:
        first, *others = text.split("\n")
        self._line.append(first)
        for other in others:
            line = "".join(self._line)
            self._line = [other]
            self._take_line(line)

    def close(self, cut: bool) -> None:
        line, self._line = "".join(self._line), []
        if cut:
            self._outbox.write(line)
            return self._cut_off()
        self._take_line(line)
        self._held.clear()
        self._end(last=True)
        return None

    def _take_line(self, line: str) -> None:
        if self._fence is not None:
            self._inside(line, self._fence)
        elif not self._editing and is_separator(line):
            self._end()
        else:
            self._outside(line)

    def _outside(self, line: str) -> None:
        opened = fence(line)
        if opened is not None:
            if self._blocks and not self._grouped:
                self._end()
            self._fence = opened
            self._blocks += 1
        self._group(line)
        self._outbox.write(line + "\n")

    def _inside(self, line: str, current: Fence) -> None:
        if current.closed_by(line):
            self._flush_held()
            self._fence = None
        elif self._held and (opened := fence(line)) is not None and opened.info:
            self._held.clear()
            self._end()
            return self._outside(line)
        elif is_separator(line):
            self._flush_held()
            self._held.append(line)
            return None
        elif 0 < len(self._held) < _MOST_HELD and not line.strip():
            self._held.append(line)
            return None
        self._flush_held()
        self._group(line)
        self._outbox.write(line + "\n")
        return None

    def _group(self, line: str) -> None:
        if opens_search(line):
            self._grouped = True
            self._editing = self._fence is None
        elif heading(line) is not None:
            self._grouped = True
        elif closes_replace(line):
            self._editing = False

    def _flush_held(self) -> None:
        for line in self._held:
            self._outbox.write(line + "\n")
        self._held.clear()

    def _end(self, last: bool = False) -> None:
        """End the answer; a part without a block is prose around the answers, and blank at the ends is nothing."""
        if self._blocks or self._grouped:
            self._outbox.take()
        elif self._outbox.discard().strip() and not last and self._outbox.taken:
            self._outbox.prose += 1
        self._fence, self._editing, self._blocks, self._grouped = None, False, 0, False

    def _cut_off(self) -> None:
        if self._blocks or self._grouped:
            self._outbox.drop_cut()
        else:
            self._outbox.discard()


class _Single:
    """The whole completion is one answer."""

    def __init__(self, outbox: _Outbox) -> None:
        self._outbox = outbox

    def feed(self, text: str) -> None:
        self._outbox.write(text)

    def close(self, cut: bool) -> None:
        if cut:
            self._outbox.drop_cut()
        else:
            self._outbox.take()
