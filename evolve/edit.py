"""Edits: what an answer says, applied to its parent, is a child; or a sentence on why it makes none."""

import ast
import re
import warnings
from collections.abc import Iterator, Mapping
from functools import lru_cache

from evolve.errors import AnswerError, ProgramError
from evolve.markup import Fence, fence, heading, opens_search
from evolve.patch import patch
from evolve.program import Program
from evolve.regions import enforce, guarded

_PLAIN_LANGUAGES = {"", "text", "txt", "plain", "markdown", "md", "prompt"}
# Characters of a program beyond which its syntax is not looked at. Parsing takes up to 4 us and 600 bytes a character:
# a quarter of a second and 65 MB here, four seconds and half a gigabyte for the longest program that there may be.
LONGEST_PARSED = 100_000
# A tree takes about a hundred times the memory of its text.
_LONGEST_KEPT = 20_000
_SENTENCE = re.compile(r"[A-Z\"'*][^{}=;<>]*[.:!?][\"'*]?")


def apply_answer(parent: Program, text: str, edits: str, language: str) -> Program:
    """Make the child that an answer describes.

    `rewrite`: the answer is the new text of a program of one file, or files headed by `FILE: path`; files that it does
    not name stay. A fence around a file is taken off. Out of prose with fenced blocks the largest closed block is
    taken; prose without one is no program.
    `diff`: SEARCH/REPLACE blocks (see `evolve.patch`).

    Where the parent has EVOLVE-BLOCK regions, what the answer changes outside them is undone. Line endings become the
    parent's.

    Args:
        parent: the program that the answer was asked about.
        text: the answer, without the format of its chain.
        edits: `rewrite` or `diff`.
        language: the problem's language; a Python file that does not parse is refused, unless the program is longer
            than `LONGEST_PARSED`.

    Raises:
        AnswerError: the answer makes no child; the text is one sentence for the next prompt.
    """
    sources = {path: _unix(content) for path, content in parent.files}
    text = _unix(text)
    changes = patch(sources, text) if edits == "diff" else _rewrite(sources, text, language.lower())
    changes = {path: content for path, content in changes.items() if content != sources.get(path)}
    child = enforce(parent, _replace(parent, changes))
    changed = [path for path, content in child.files if _differs(content, dict(parent.files).get(path))]
    if not changed:
        outside = changes and guarded(parent)
        raise AnswerError(
            "the answer changes nothing inside the EVOLVE-BLOCK regions" if outside else "the answer equals its parent"
        )
    for path in changed:
        if is_python(path, child, language):
            _check_syntax(path, dict(child.files)[path], child.single)
    return child


def is_python(path: str, program: Program, language: str) -> bool:
    """Whether a file of a program is Python source, of which the syntax is looked at: a long program is text."""
    if language.lower() != "python" or program.size > LONGEST_PARSED:
        return False
    return path.endswith((".py", ".pyi")) or program.single


def parse_python(text: str) -> ast.Module:
    """Parse Python source without the warnings that compiling it would give.

    An answer is parsed when it is checked and again for its fingerprint: the last few trees are kept, so that it costs
    once. They are shared and must not be changed.

    Raises:
        SyntaxError: it is none; `lineno` and `msg` say why. Too deep a nesting counts as one, and too long a text.
    """
    if len(text) > LONGEST_PARSED:
        raise SyntaxError("too long to be parsed")
    return _kept_tree(text) if len(text) <= _LONGEST_KEPT else _tree(text)


def _tree(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (RecursionError, MemoryError, OverflowError) as error:
        raise SyntaxError("nested too deeply") from error
    except ValueError as error:
        raise SyntaxError(str(error)) from error


_kept_tree = lru_cache(maxsize=8)(_tree)


def _replace(parent: Program, changes: Mapping[str, str]) -> Program:
    old = dict(parent.files)
    for path in changes.keys() - old.keys():
        clash = [other for other in {**old, **changes} if other.startswith(path + "/") or path.startswith(other + "/")]
        if clash:
            raise AnswerError(f"the answer adds {path}, which cannot stand beside {clash[0]}")
    try:
        return parent.replace({path: _like(text, old.get(path, "")) for path, text in changes.items()})
    except ProgramError as error:
        raise AnswerError(str(error)) from error


def _unix(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _like(text: str, model: str) -> str:
    """With the line endings of the model, and ending with one."""
    text = text if text.endswith("\n") or not text else text + "\n"
    return text.replace("\n", "\r\n") if "\r\n" in model else text


def _differs(text: str, other: str | None) -> bool:
    return other is None or (text != other and _unix(text).rstrip() != _unix(other).rstrip())


def _check_syntax(path: str, text: str, single: bool) -> None:
    try:
        parse_python(text)
    except SyntaxError as error:
        place = f"line {error.lineno or 1}" + ("" if single else f" of {path}")
        raise AnswerError(f"the program is not valid Python: {error.msg} in {place}") from error


def _rewrite(sources: Mapping[str, str], text: str, language: str) -> dict[str, str]:
    if any(opens_search(line) for line in text.split("\n") if line.startswith("<")):
        raise AnswerError("the answer holds SEARCH/REPLACE edits where a whole program was asked for")
    sections = _sections(text)
    if len(sources) > 1:
        if not sections:
            raise AnswerError("the answer names no file: head each changed file by a line FILE: path")
        return {path: _body(content, language) for path, content in sections}
    path = next(iter(sources))
    if not sections or not _headed(text):
        return {path: _body(text, language)}
    if len(sections) > 1 or sections[0][0] != path:
        other = next((name for name, _ in sections if name != path), path)
        raise AnswerError(f"the answer writes {other}, but the program is the one file {path}")
    return {path: _body(sections[0][1], language)}


def _headed(text: str) -> bool:
    """Whether a heading stands first, or outside code in an answer that fences its code."""
    first = next(line for line in text.split("\n") if line.strip())
    return heading(first) is not None or any(True for _ in _fenced(text.split("\n")))


def _sections(text: str) -> list[tuple[str, str]]:
    """The files that headings outside fenced blocks name, in order, each with the text up to the next heading."""
    found: list[tuple[str, list[str]]] = []
    opened: Fence | None = None
    for line in text.split("\n"):
        path = heading(line) if opened is None else None
        if path is not None:
            found.append((path, []))
            continue
        opened = _after(line, opened)
        if found:
            found[-1][1].append(line)
    return [(path, "\n".join(lines)) for path, lines in found]


def _after(line: str, opened: Fence | None) -> Fence | None:
    """The fence that is open after a line."""
    if "`" not in line and "~" not in line:
        return opened
    if opened is None:
        return fence(line)
    return None if opened.closed_by(line) else opened


def _fenced(lines: list[str]) -> Iterator[tuple[list[str], bool]]:
    """The contents of the fenced blocks, each with whether it is closed."""
    opened: Fence | None = None
    start = 0
    for number, line in enumerate(lines):
        after = _after(line, opened)
        if opened is not None and after is None:
            yield lines[start:number], True
        elif opened is None and after is not None:
            start = number + 1
        opened = after
    if opened is not None:
        yield lines[start:], False


def _body(text: str, language: str) -> str:
    """The text of one file out of what an answer says of it."""
    lines = text.strip().split("\n")
    blocks = list(_fenced(lines))
    if len(blocks) == 1 and len(blocks[0][0]) == len(lines) - 2:
        return "\n".join(blocks[0][0])
    if language in _PLAIN_LANGUAGES or not blocks or (fence(lines[0]) is None and _is_python_program(text, language)):
        return _unfenced(text, language)
    closed = ["\n".join(block) for block, complete in blocks if complete]
    return max(closed, key=len) if closed else "\n".join(blocks[0][0])


def _unfenced(text: str, language: str) -> str:
    if not text.strip():
        raise AnswerError("the answer holds no program text")
    if language not in _PLAIN_LANGUAGES and _is_prose(text, language):
        raise AnswerError("the answer is prose without a fenced program")
    return text.strip("\n")


def _is_python_program(text: str, language: str) -> bool:
    """Whether fences in the text stand inside it, in a docstring, rather than around programs."""
    if language != "python":
        return False
    try:
        return any(map(_acts, parse_python(text.strip("\n") + "\n").body))
    except SyntaxError:
        return False


def _is_prose(text: str, language: str) -> bool:
    if language == "python":
        try:
            statements = parse_python(text.strip("\n") + "\n").body
        except SyntaxError:
            return _mostly_sentences(text)
        return not any(_acts(statement) for statement in statements)
    return _mostly_sentences(text)


def _acts(statement: ast.stmt) -> bool:
    """Whether a statement does something; words that happen to parse (`Sorry`, `No`) do not."""
    return not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call | ast.Await)


def _mostly_sentences(text: str) -> bool:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    sentences = sum(1 for line in lines if line.count(" ") >= 2 and _SENTENCE.fullmatch(line))
    return 2 * sentences >= len(lines)
