"""Replies: given programs, written as a model would write them, in the form that a prompt requests."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Self

from evolve.answers.chain import ChainFormat, ChainParser
from evolve.answers.repository_edits import child_of
from evolve.errors import AnswerError, ProgramError
from evolve.program import Program
from evolve.prompt.control_tokens import neutralise, restore
from evolve.prompt.text import fenced
from evolve.repository import Repository
from evolve.similarity.fingerprint import fingerprint


def write_reply(
    chain_format: ChainFormat,
    edits: str,
    language: str,
    parent: Program,
    children: Sequence[Program],
    repository: Repository | None = None,
) -> str:
    """A completion with these children as changes of their parent.

    Args:
        chain_format: separation of the answers.
        edits: `rewrite`: an answer holds its changed files, whole. `diff`: SEARCH/REPLACE edits.
        language: of the problem, for the fences.
        parent: the program that the prompt shows.
        children: in the order of the answers. A single child if the format is `single`.
        repository: over whose commit the programs lie; None: they are whole.
    """
    changes = [_Changes.between(parent, child, repository) for child in children]
    info = "" if chain_format.kind == "fences" else re.sub(r"[^\w+#-]", "", language)
    bodies = [_diff(change) if edits == "diff" else _rewrite(change, info) for change in changes]
    if chain_format.kind == "tags":
        names = [f"{chain_format.tag}_{number}" for number in range(1, len(bodies) + 1)]
        return "\n".join(f"<{name}>\n{body}\n</{name}>" for name, body in zip(names, bodies, strict=True))
    if chain_format.kind == "fences" and edits == "diff":
        bodies = [f"```\n{body}\n```" for body in bodies]
    return "\n---\n".join(bodies)


def reads_back(
    reply: str,
    chain_format: ChainFormat,
    edits: str,
    language: str,
    parent: Program,
    children: Sequence[Program],
    repository: Repository | None = None,
) -> bool:
    """Whether a run that is given this reply would make exactly these children of it."""
    parser = ChainParser(chain_format, len(children))
    answers = [*parser.feed(reply), *parser.close()]
    try:
        found = [child_of(repository, parent, restore(answer.text), edits, language).program for answer in answers]
    except (AnswerError, ProgramError):
        return False
    return [fingerprint(each, language) for each in found] == [fingerprint(each, language) for each in children]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """What a child does to its parent: files with their text before, if there was one, and their text now."""

    written: Sequence[tuple[str, str | None, str]]
    removed: Sequence[str]
    named: bool

    @classmethod
    def between(cls, parent: Program, child: Program, repository: Repository | None) -> Self:
        """The changes. Files are named where a program has several, or lies over a repository."""
        if repository is None:
            before, after = dict(parent.files), dict(child.files)
        else:
            before, after = map(dict, repository.sides(parent, child))
        return cls(
            written=[(path, before.get(path), text) for path, text in after.items() if before.get(path) != text],
            removed=[path for path in before if path not in after] if repository is not None else [],
            named=repository is not None or not (parent.single and child.single),
        )

    def body(self, texts: Iterable[str]) -> str:
        """An answer of the texts of the written files."""
        parts = [
            f"FILE: {path}\n{text}" if self.named else text
            for (path, _, _), text in zip(self.written, texts, strict=True)
        ]
        return "\n".join([*parts, *(f"DELETE: {path}" for path in self.removed)])


def _rewrite(changes: _Changes, info: str) -> str:
    return changes.body(fenced(neutralise(text.rstrip("\n")), info) for _, _, text in changes.written)


def _diff(changes: _Changes) -> str:
    return neutralise(changes.body(_edited(before, text) for _, before, text in changes.written))


def _edited(before: str | None, text: str) -> str:
    if before is None:
        return f"<<<<<<< SEARCH\n=======\n{text.rstrip(chr(10))}\n>>>>>>> REPLACE"
    return "\n".join(_edits(before.split("\n"), text.split("\n")))


def _edits(old: Sequence[str], new: Sequence[str]) -> Iterator[str]:
    """SEARCH/REPLACE edits with as many lines around each change as it takes to find its place."""
    context = 0
    while True:
        # A matcher changes what it keeps when it groups: each context needs one of its own.
        grouped = SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(context)
        groups = [(group[0][1], group[-1][2], group[0][3], group[-1][4]) for group in grouped]
        if context > len(old) or _found(old, new, groups):
            break
        context = 2 * context + 1
    for low, high, start, end in groups:
        search, replace = "\n".join(old[low:high]), "\n".join(new[start:end])
        yield f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE"


def _found(old: Sequence[str], new: Sequence[str], groups: Sequence[tuple[int, int, int, int]]) -> bool:
    """Whether each edit has a unique place in the text after the previous edits."""
    text, shift = list(old), 0
    for low, high, start, end in groups:
        wanted = old[low:high]
        if _places(text, wanted) != 1 or _places(text, _trimmed(wanted)) != 1:
            return False
        text[low + shift : high + shift] = new[start:end]
        shift += (end - start) - (high - low)
    return True


def _trimmed(lines: Sequence[str]) -> Sequence[str]:
    """Lines without the blank ones around them, which a reader may pass over."""
    kept = [place for place, line in enumerate(lines) if line.strip()]
    return lines[kept[0] : kept[-1] + 1] if kept else ()


def _places(lines: Sequence[str], wanted: Sequence[str]) -> int:
    """Number of places with these consecutive lines, ignoring indentation. 0 for blank lines."""
    if not any(line.strip() for line in wanted):
        return 0
    size, bare = len(wanted), [line.strip() for line in lines]
    sought = [line.strip() for line in wanted]
    return sum(bare[place : place + size] == sought for place in range(len(bare) - size + 1))
