"""A source file for the mutator: its mutable parts, and drafts of changes."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from service.policy.syntax.numeral import Numeral
from service.policy.syntax.scan import numerals
from service.policy.syntax.tree import Tree, parse, read_tree

PYTHON = "python"
_WORD = re.compile(r"[^\W\d]\w*")
_TOUCHING = re.compile(r"[\w.]")
_MARKER = "EVOLVE-BLOCK-"
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class TextChange:
    """One stretch of a text and what takes its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Draft:
    """A planned mutation.

    Attributes:
        changes: stretches of the text without overlap.
        account: a description in words.
        safe: whether a text that parses also parses after the changes, so that no check is needed.
    """

    changes: tuple[TextChange, ...]
    account: str
    safe: bool = False


class SourceText:
    """A file of a program. Derived values are computed once, at first use."""

    def __init__(self, path: str, text: str, language: str, spans: Sequence[tuple[int, int]] | None = None) -> None:
        self.path = path
        self.text = text
        self.language = language
        self.spans = tuple(spans) if spans is not None else ((0, len(text)),)
        self._lows = [low for low, _ in self.spans]

    @cached_property
    def tree(self) -> Tree | None:
        """The places of a Python text. None for other languages, for text that does not parse, and for long text."""
        return read_tree(self.text) if self.language == PYTHON else None

    @cached_property
    def numerals(self) -> tuple[Numeral, ...]:
        """The numerals that may change, in order."""
        found = self.tree.numerals if self.tree is not None else numerals(self.text, self.language)
        return tuple(numeral for numeral in found if self.editable(numeral.start, numeral.end))

    @cached_property
    def groups(self) -> tuple[tuple[Numeral, ...], ...]:
        """Numerals in the same bracket, for each bracket around two or more."""
        members: dict[int, list[Numeral]] = {}
        for numeral in self.numerals:
            for group in numeral.groups:
                members.setdefault(group, []).append(numeral)
        return tuple(tuple(group) for group in members.values() if len(group) > 1)

    @cached_property
    def numeral_keys(self) -> dict[tuple[str, int, int], Numeral]:
        """Numerals by their line without numbers, the index of that line among equal lines, and their place in it.

        Two programs with a common key differ there only in the number.
        """
        keys: dict[tuple[str, int, int], Numeral] = {}
        seen: dict[str, int] = {}
        for members in self._by_line():
            line = self._skeleton(members)
            turn = seen[line] = seen.get(line, -1) + 1
            keys.update({(line, turn, index): numeral for index, numeral in enumerate(members)})
        return keys

    @cached_property
    def words(self) -> frozenset[str]:
        """Every name and keyword of the text."""
        return frozenset(_WORD.findall(self.text))

    def editable(self, start: int, end: int) -> bool:
        """Whether a stretch of the text may change."""
        span = bisect_right(self._lows, start) - 1  # they are in order, and none overlap
        return span >= 0 and end <= self.spans[span][1]

    def apply(self, draft: Draft) -> str:
        """The text with a draft's changes made."""
        pieces, last = [], 0
        for change in sorted(draft.changes, key=lambda change: change.start):
            pieces += [self.text[last : change.start], change.text]
            last = change.end
        return "".join([*pieces, self.text[last:]])

    def sound(self, draft: Draft, text: str) -> bool:
        """Whether the text of a draft still parses if this text did, and keeps the markers of its regions."""
        if draft.safe:
            return True
        same_markers = text.count(_MARKER) == self.text.count(_MARKER)
        return same_markers and (self.tree is None or parse(text) is not None)

    def apart(self, start: int, end: int) -> bool:
        """Whether no letter, digit or point touches a stretch of the text."""
        return not _TOUCHING.fullmatch(self.text[max(0, start - 1) : start]) and not _TOUCHING.fullmatch(
            self.text[end : end + 1]
        )

    def line(self, offset: int) -> int:
        """The number of the line at an offset, from 1."""
        return self.text.count("\n", 0, offset) + 1

    def tell(self, change: TextChange) -> str:
        """A change in words."""
        return (
            f"line {self.line(change.start)}: {_short(self.text[change.start : change.end])} -> {_short(change.text)}"
        )

    def _by_line(self) -> list[list[Numeral]]:
        lines: dict[int, list[Numeral]] = {}
        line, last = -1, 0
        for numeral in self.numerals:  # in order, so that a long line is not searched from its beginning for each
            line = max(line, self.text.rfind("\n", last, numeral.start))
            last = numeral.start
            lines.setdefault(line, []).append(numeral)
        return list(lines.values())

    def _skeleton(self, members: list[Numeral]) -> str:
        start = self.text.rfind("\n", 0, members[0].start) + 1
        end = self.text.find("\n", members[-1].end)
        pieces = []
        for numeral in members:
            pieces.append(self.text[start : numeral.start])
            start = numeral.end
        return "\0".join([*pieces, self.text[start : end if end >= 0 else len(self.text)]])


def _short(text: str) -> str:
    flat = " ".join(text.split()) or "nothing"
    return flat if len(flat) <= _SHOWN else f"{flat[: _SHOWN - 3]}..."
