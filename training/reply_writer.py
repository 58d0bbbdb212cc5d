"""Replies: given programs, written as a model would write them, in the form that a prompt requests."""

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher

from evolve.answers.chain import ChainFormat, ChainParser
from evolve.answers.edit import apply_answer
from evolve.errors import AnswerError, ProgramError
from evolve.program import Program
from evolve.prompt.control_tokens import neutralise, restore
from evolve.prompt.text import fenced
from evolve.similarity.fingerprint import fingerprint


def write_reply(
    chain_format: ChainFormat, edits: str, language: str, parent: Program, children: Sequence[Program]
) -> str:
    """A completion with these children as changes of their parent.

    Args:
        chain_format: separation of the answers.
        edits: `rewrite`: an answer holds its changed files, whole. `diff`: SEARCH/REPLACE edits.
        language: of the problem, for the fences.
        parent: the program that the prompt shows.
        children: in the order of the answers. A single child if the format is `single`.
    """
    info = "" if chain_format.kind == "fences" else re.sub(r"[^\w+#-]", "", language)
    bodies = [_diff(parent, child) if edits == "diff" else _rewrite(parent, child, info) for child in children]
    if chain_format.kind == "tags":
        names = [f"{chain_format.tag}_{number}" for number in range(1, len(bodies) + 1)]
        return "\n".join(f"<{name}>\n{body}\n</{name}>" for name, body in zip(names, bodies, strict=True))
    if chain_format.kind == "fences" and edits == "diff":
        bodies = [f"```\n{body}\n```" for body in bodies]
    return "\n---\n".join(bodies)


def reads_back(
    reply: str, chain_format: ChainFormat, edits: str, language: str, parent: Program, children: Sequence[Program]
) -> bool:
    """Whether a run that is given this reply would make exactly these children of it."""
    parser = ChainParser(chain_format, len(children))
    answers = [*parser.feed(reply), *parser.close()]
    try:
        found = [apply_answer(parent, restore(answer.text), edits, language).program for answer in answers]
    except (AnswerError, ProgramError):
        return False
    return [fingerprint(each, language) for each in found] == [fingerprint(each, language) for each in children]


def _changed(parent: Program, child: Program) -> list[tuple[str, str]]:
    before = dict(parent.files)
    return [(path, text) for path, text in child.files if before.get(path) != text]


def _rewrite(parent: Program, child: Program, info: str) -> str:
    blocks = [(path, fenced(neutralise(text.rstrip("\n")), info)) for path, text in _changed(parent, child)]
    several = not (parent.single and child.single)
    return "\n".join(f"FILE: {path}\n{block}" if several else block for path, block in blocks)


def _diff(parent: Program, child: Program) -> str:
    before, several = dict(parent.files), not (parent.single and child.single)
    parts = []
    for path, text in _changed(parent, child):
        edits = "\n".join(_edits(before.get(path, "").split("\n"), text.split("\n")))
        parts.append(f"FILE: {path}\n{edits}" if several else edits)
    return neutralise("\n".join(parts))


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
        if _places(text, old[low:high]) != 1:
            return False
        text[low + shift : high + shift] = new[start:end]
        shift += (end - start) - (high - low)
    return True


def _places(lines: Sequence[str], wanted: Sequence[str]) -> int:
    """Number of places with these consecutive lines, ignoring indentation. 0 for blank lines."""
    if not any(line.strip() for line in wanted):
        return 0
    size, bare = len(wanted), [line.strip() for line in lines]
    sought = [line.strip() for line in wanted]
    return sum(bare[place : place + size] == sought for place in range(len(bare) - size + 1))
