"""Scanners: they find the answers in the text of a completion, with a scanner for each separation of answers."""

import re
from dataclasses import dataclass, field
from typing import Protocol

from evolve.answers.markup import Fence, closes_replace, fence, heading, in_fence, is_separator, opens_search
from evolve.answers.reasoning import END_MARK, END_MARKS, after_reasoning
from evolve.answers.recovery import MAX_PROSE, is_fragment, is_mention, is_placeholder

_NUMBER = r"[ _-]?[0-9]{0,6}(?:[ \t]{1,8}[\w-]{1,40}=[^<>\n]{0,80})?[ \t]{0,8}"
_MAX_END = max(map(len, END_MARKS))
_MAX_TAG = 200
_MAX_HELD = 64
_FIRST_TAGGED = re.compile(
    r"\s{0,200}<answer[_-]?1?>(?P<answer>.*?)</?answer[_-]?[0-9]{0,3}>", re.DOTALL | re.IGNORECASE
)
_UNFINISHED_NUMBER = re.compile(r"[ _-]?[0-9]{0,6}(?:[ \t][^<>\n]{0,130})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedAnswer:
    """An answer of a chain: its place among the answers, from 0, and its text without the format around it."""

    index: int
    text: str


class Scanner(Protocol):
    """Finds answers in text that comes in pieces, and puts them into an outbox."""

    def feed(self, text: str) -> None:
        """Take the next piece."""

    def close(self, cut: bool) -> None:
        """Take the end. `cut`: the completion was cut off, and an open answer does not count."""


@dataclass(slots=True, kw_only=True)
class AnswerBuffer:
    """Complete answers, and counts of the dropped parts. A hostile text must not grow a list of reasons."""

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
    ready: list[ParsedAnswer] = field(default_factory=list)

    def write(self, text: str) -> None:
        """Add to the answer being written."""
        self.length += len(text)
        if self.length <= self.longest and self.taken < self.limit:
            self.parts.append(text)

    @property
    def written(self) -> str | None:
        """The current answer while it is short. None: it is long, or past a limit and not kept."""
        kept = self.length <= min(self.longest, MAX_PROSE) and self.taken < self.limit
        return "".join(self.parts) if kept else None

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
            self.ready.append(ParsedAnswer(index=self.taken, text=text))
            self.taken += 1

    def drop_cut(self) -> None:
        """End the answer being written, which was cut off."""
        self.discard()
        self.cut += 1

    def collect(self) -> list[ParsedAnswer]:
        """The answers completed since the last call."""
        ready, self.ready = self.ready, []
        return ready

    def close(self) -> None:
        """End the completion. It is now known whether it held anything like an answer."""
        self.missing = not (self.taken or self.beyond or self.empty or self.prose or self.long or self.cut)

    def reasons(self) -> list[str]:
        """The dropped parts, with a sentence for each reason."""
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
    """The text without blank lines at its start and white space at its end. The first line keeps its indentation."""
    body = text.rstrip()
    start = len(body) - len(body.lstrip())
    return body[body.rfind("\n", 0, start) + 1 :]


class TagScanner:
    """`<answer_1> ... </answer_1>`: an opening tag also ends the previous answer.

    A model that reasons aloud names the tags before it answers. A placeholder (`<answer_1> ... </answer_1>`) is not an
    answer. Prose is held back until the completion ends, and dropped if it is reasoning.
    """

    def __init__(self, tag: str, outbox: AnswerBuffer, programs: bool) -> None:
        self._programs = programs
        self._tag = tag.lower()
        self._pattern = re.compile(
            rf"<(?P<closing>/?){re.escape(tag)}{_NUMBER}>|(?P<end>{END_MARK.pattern})", re.IGNORECASE | re.ASCII
        )
        self._outbox = outbox
        self._tail = ""
        self._inside = False
        self._prose: list[str] = []

    def feed(self, text: str) -> None:
        """Take the next piece."""
        text = self._tail + text
        position = 0
        for match in self._pattern.finditer(text):
            self._write(text[position : match.start()])
            if match["end"]:
                self._end_reasoning(match["end"])
            elif match["closing"]:
                self._close()
            else:
                self._open()
            position = match.end()
        # A tag holds one `<`, so only the last one can begin a tag that is still being written.
        start = text.rfind("<", position)
        hold = start if start >= 0 and self._unfinished(text[start:]) else len(text)
        self._write(text[position:hold])
        self._tail = text[hold:]

    def close(self, cut: bool) -> None:
        """Take the end. `cut`: the completion was cut off."""
        if not self._tail.lower().startswith("</" + self._tag):
            self._write(self._tail)
        self._tail = ""
        if self._inside and cut:
            self._outbox.drop_cut()
        elif self._inside:
            self._take()
        self._inside = False
        for text in self._prose[: self._outbox.limit - self._outbox.taken]:
            self._outbox.write(text)
            self._outbox.take()

    def _write(self, text: str) -> None:
        if self._inside and text:
            self._outbox.write(text)

    def _take(self) -> None:
        """End the answer being written: hand it on, hold it back or pass it over."""
        text = self._outbox.written if self._programs else None
        if text is not None and is_placeholder(text):
            self._outbox.discard()
        elif text is not None and is_fragment(text) and len(self._prose) < self._outbox.limit:
            self._prose.append(self._outbox.discard())
        else:
            self._outbox.take()

    def _open(self) -> None:
        # A tag right inside another one (`<answer_1><answer_1>`) opens one answer, not an empty one and another.
        if self._inside and (self._outbox.length > 0 and not self._blank()):
            text = self._outbox.written if self._programs else None
            self._outbox.discard() if text is not None and is_mention(text) else self._take()
        self._inside = True

    def _blank(self) -> bool:
        # What is past a limit is not kept, and counts as an answer whatever it is.
        parts, whole = self._outbox.parts, self._outbox.length <= self._outbox.longest
        return whole and bool(parts) and not any(part.strip() for part in parts)

    def _close(self) -> None:
        if self._inside:
            self._take()
        self._inside = False

    def _end_reasoning(self, mark: str) -> None:
        """The previous text was reasoning, unless the mark is in the program of an answer."""
        if self._inside and in_fence("".join(self._outbox.parts)):
            self._write(mark)
            return
        self._outbox.discard()
        self._prose.clear()
        self._inside = False

    def _unfinished(self, text: str) -> bool:
        lowered = text[:_MAX_TAG].lower()
        if len(lowered) < _MAX_END and any(end.startswith(lowered) for end in END_MARKS):
            return True
        name = lowered[1:].removeprefix("/")
        if len(name) < len(self._tag):
            return self._tag.startswith(name)
        return name.startswith(self._tag) and _UNFINISHED_NUMBER.fullmatch(name[len(self._tag) :]) is not None


class FenceScanner:
    """Fenced blocks, with a line `---` between answers.

    Several blocks between two separators are a single answer if they are files (a heading `FILE: path`) or edits (a
    line `<<<<<<< SEARCH`). Otherwise each block is an answer, because a policy may forget the separators. A separator
    inside a block belongs to the block, unless another block opens right after it. Then the block was left open.
    """

    def __init__(self, outbox: AnswerBuffer) -> None:
        self._outbox = outbox
        self._line: list[str] = []
        self._fence: Fence | None = None
        self._editing = False
        self._blocks = 0
        self._grouped = False
        self._held: list[str] = []

    def feed(self, text: str) -> None:
        """Take the next piece."""
        first, *others = text.split("\n")
        self._line.append(first)
        for other in others:
            line = "".join(self._line)
            self._line = [other]
            self._take_line(line)

    def close(self, cut: bool) -> None:
        """Take the end. `cut`: the completion was cut off."""
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
        elif 0 < len(self._held) < _MAX_HELD and not line.strip():
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
        """End the answer. A part without a block is prose around the answers. Blank text at the ends is ignored."""
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


class SingleScanner:
    """The whole completion is an answer, from the end of reasoning on."""

    def __init__(self, outbox: AnswerBuffer) -> None:
        self._outbox = outbox

    def feed(self, text: str) -> None:
        """Take the next piece."""
        self._outbox.write(text)

    def close(self, cut: bool) -> None:
        """Take the end. `cut`: the completion was cut off."""
        if cut:
            self._outbox.drop_cut()
            return
        long = self._outbox.length > self._outbox.longest
        said = self._outbox.discard() if not long else ""
        self._outbox.write(_untagged(after_reasoning(said))) if not long else None
        self._outbox.take()


def _untagged(text: str) -> str:
    """The first answer of a text with unrequested numbered tags. Any other text stays unchanged."""
    found = _FIRST_TAGGED.match(text)
    return found["answer"] if found is not None else text
