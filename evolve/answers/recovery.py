"""Recovery: answers in another form than requested, accepted if their meaning is clear."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evolve.answers.markup import (
    Block,
    closes_replace,
    divides_edit,
    fence,
    fenced_blocks,
    heading,
    in_fence,
    opens_search,
    removal,
)
from evolve.answers.python_source import parse_python, top_level_names

UNTAGGED, JSON_TEXT = "untagged", "json"
_PROGRAM_KEYS = ("code", "program", "solution", "source", "new_code", "python", "answer")
_LIST_KEYS = ("answers", "programs", "solutions", "candidates")
# Blocks in these are words to people or commands to a shell, never the program that was asked for.
_OTHER_LANGUAGES = frozenset({"bash", "sh", "shell", "console", "text", "txt", "output", "plaintext", "markdown"})
# Another share of the parent's lines is a part of a program, where its language is not parsed.
_MIN_SHARE = 0.6


MAX_PROSE = 2_000
_PLACEHOLDERS = frozenset(
    {
        "",
        "...",
        "\u2026",
        "(a whole program)",
        "(a whole answer)",
        "(the whole of this file)",
        "(the new region)",
        "(edits)",
    }
)
# A line of words: at least three in small letters, and no sign that programs are full of.
_PROSE = re.compile(r"(?=(?:.*?\b[a-z]{2,}\b){3})[^{}=;<>()\[\]]*")
_MENTION = re.compile(r" [^{}=;<>()\[\]\n]*\s*")


@dataclass(frozen=True, slots=True)
class RecoveredAnswers:
    """Answers of a completion that were not set apart as asked: their texts, and how they were found."""

    texts: list[str]
    kind: str


def recover(text: str, limit: int, *, cut: bool) -> RecoveredAnswers:
    """The answers of a completion that holds none in the requested format.

    For a single answer, it is the whole completion, if that holds a fenced block or edits. The reader of the answer
    finds the program in it. For several, each fenced block is an answer, unless blocks are edits or files, which belong
    together.

    Args:
        text: the completion, without reasoning.
        limit: maximum number of answers.
        cut: the completion was cut off. An open block is then not an answer.
    """
    lines = text.split("\n")
    blocks = [block for block in fenced_blocks(lines) if block.text.strip() and (block.closed or not cut)]
    answers = _json_answers(text if not blocks else blocks[-1].text)
    if answers:
        return RecoveredAnswers(answers[:limit], JSON_TEXT)
    programs = [block for block in blocks if block.info.lower() not in _OTHER_LANGUAGES] or blocks
    whole = holds_edits(text) or any(heading(line) or removal(line) for line in lines)
    if cut and limit == 1 and in_fence(text):
        return RecoveredAnswers([], UNTAGGED)  # what it was about to write is not there
    if limit == 1 or whole:
        kept = [_refenced(block) for block in programs] if cut else [text]
        return RecoveredAnswers(["\n".join(kept)] if programs or (whole and not cut) else [], UNTAGGED)
    return RecoveredAnswers([_refenced(block) for block in programs][:limit], UNTAGGED)


def is_placeholder(text: str) -> bool:
    """Whether an answer only repeats the outline of the reply: dots, or the placeholder for a program."""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    return bool(lines) and " ".join(line for line in lines if fence(line) is None) in _PLACEHOLDERS


def is_fragment(text: str) -> bool:
    """Whether an answer is words to a reader alone, as those of a model that reasons about its answers."""
    lines = [line for line in text.split("\n") if line.strip()]
    if any(map(removal, lines)):  # it takes a file of a repository away, and need not say more
        return False
    return bool(lines) and all(fence(line) is None and _PROSE.fullmatch(line.strip()) for line in lines)


def is_mention(text: str) -> bool:
    """Whether an unclosed tag was only named in a sentence, which continues after it in the same line."""
    return bool(text.strip()) and _MENTION.fullmatch(text) is not None


def holds_edits(text: str) -> bool:
    """Whether a text holds a whole SEARCH/REPLACE block."""
    if "SEARCH" not in text:
        return False
    lines = text.split("\n")
    return all(any(map(is_mark, lines)) for is_mark in (opens_search, divides_edit, closes_replace))


def json_program(text: str) -> str | None:
    """The program in a text that is a JSON object with a key such as `code`. None for other texts."""
    value = _json_object(text)
    if value is None:
        return None
    found = [value[key] for key in _PROGRAM_KEYS if isinstance(value.get(key), str) and value[key].strip()]
    return found[0] if len(found) == 1 else None


def is_whole(sources: Mapping[str, str], text: str, language: str) -> bool:
    """Whether a text holds a whole program instead of edits, and not a part of a program.

    A Python program defines everything that the parent defines at its top level. Other languages: at least 60 % of its
    lines.
    """
    if len(sources) != 1:
        return any(heading(line) is not None for line in text.split("\n"))
    if json_program(text) is not None:
        return True
    blocks = [block.text for block in fenced_blocks(text.split("\n")) if block.closed]
    (parent,), largest = sources.values(), max(blocks or [text], key=len)
    if language == "python":
        wanted, found = _top_names(parent), _top_names(largest)
        return bool(wanted and found and wanted <= found)
    if not blocks:
        return False
    return largest.count("\n") + 1 >= _MIN_SHARE * (parent.count("\n") + 1)


def _top_names(text: str) -> set[str] | None:
    try:
        return set(top_level_names(parse_python(text + "\n").body))
    except SyntaxError:
        return None


def _refenced(block: Block) -> str:
    longest = max((len(line) - len(line.lstrip("`")) for line in block.lines), default=0)
    run = "`" * max(3, longest + 1)
    return f"{run}{block.info}\n{block.text}\n{run}"


def _json_answers(text: str) -> list[str]:
    value = _json_object(text)
    if value is None:
        return []
    lists = [value[key] for key in _LIST_KEYS if isinstance(value.get(key), list)]
    if len(lists) == 1:
        entries = [json_program(json.dumps(entry)) if isinstance(entry, dict) else entry for entry in lists[0]]
        return [entry for entry in entries if isinstance(entry, str) and entry.strip()]
    program = json_program(text)
    return [] if program is None else [program]


def _json_object(text: str) -> dict[str, Any] | None:
    body = text.strip()
    if not (body.startswith("{") and body.endswith("}")):
        blocks = [block for block in fenced_blocks(body.split("\n")) if block.closed and block.info.lower() == "json"]
        body = blocks[0].text.strip() if len(blocks) == 1 else ""
    try:
        value = json.loads(body) if body.startswith("{") else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
