"""Edits: an answer applied to its parent makes a child, or fails with a sentence."""

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

from evolve.answers.markup import Fence, fence, fence_after, fenced_blocks, heading
from evolve.answers.patch import patch
from evolve.answers.python_source import is_python, parse_python
from evolve.answers.recovery import holds_edits, is_whole, json_program
from evolve.answers.regions import enforce, guarded
from evolve.errors import AnswerError, ProgramError
from evolve.program import Program

_PLAIN_LANGUAGES = {"", "text", "txt", "plain", "markdown", "md", "prompt"}
# What answers lack that are written as they should be.
TOO_NEAR = "the program is too near to a program of its island"
EQUALS_PARENT = "the answer equals its parent"
CHANGES_NOTHING = "the answer changes nothing inside the EVOLVE-BLOCK regions"
_SENTENCE = re.compile(r"[A-Z\"'*][^{}=;<>]*[.:!?][\"'*]?")


MARKERS, EDITS, REWRITE, PARENT_COPY, JSON_CODE = "markers", "edits", "rewrite", "parent_copy", "json_code"


@dataclass(frozen=True, slots=True)
class Child:
    """The program that an answer makes, and the recoveries that this needed.

    Attributes:
        recovered: `markers` that were missing and restored, `edits` instead of a rewrite, a `rewrite` instead of edits,
            a `parent_copy` beside the new program, `json_code`: JSON around it.
    """

    program: Program
    recovered: tuple[str, ...] = ()


def apply_answer(parent: Program, text: str, edits: str, language: str) -> Child:
    """Make the child that an answer describes.

    `rewrite`: the answer is the new text of a program of one file, or files with headings `FILE: path`. Files that it
    does not name stay. A fence around a file is removed. In prose with fenced blocks, the largest closed block that is
    not the parent is the program. Prose without a block is not a program. SEARCH/REPLACE blocks are read as edits.
    `diff`: SEARCH/REPLACE blocks (see `evolve.answers.patch`). A whole program instead is read as a rewrite.

    If the parent has EVOLVE-BLOCK regions, changes outside of them are undone. Line endings become the parent's.

    Args:
        parent: the parent program.
        text: the answer, without the format of its chain.
        edits: `rewrite` or `diff`.
        language: the problem's language. A Python file that does not parse is refused, unless the program is longer
            than `MAX_PARSED`.

    Raises:
        AnswerError: the answer makes no child. The text is a sentence for the next prompt.
    """
    reader = AnswerReader({path: unix(content) for path, content in parent.files}, language.lower())
    changes = reader.changes(unix(text), edits)
    changes = {path: content for path, content in changes.items() if content != reader.sources.get(path)}
    written = _replace(parent, changes)
    if guarded(parent):
        _check_unmarked(written, changes, language)
    enforced = enforce(parent, written, language)
    child = enforced.program
    changed = [path for path, content in child.files if differs(content, dict(parent.files).get(path))]
    if not changed:
        outside = changes and guarded(parent)
        raise AnswerError(CHANGES_NOTHING if outside else EQUALS_PARENT)
    for path in changed:
        if is_python(path, child, language):
            check_syntax(path, dict(child.files)[path], child.single)
    return Child(child, (*reader.recovered, *((MARKERS,) if enforced.restored else ())))


def replace_files(parent: Program, files: Mapping[str, str], language: str) -> Program:
    """Make the child that a person wrote: the parent with other texts of some of its files.

    Nothing is corrected, unlike in answers: a change outside the EVOLVE-BLOCK regions is refused.

    Args:
        parent: the parent program.
        files: text by path.
        language: the problem's language. A Python file that does not parse is refused.

    Raises:
        AnswerError: the files make no child. The text is one sentence.
    """
    old = dict(parent.files)
    written = _replace(parent, {path: unix(text) for path, text in files.items()})
    changed = [path for path, text in written.files if differs(text, old.get(path))]
    if not changed:
        raise AnswerError("the program equals its parent")
    if guarded(parent):
        _check_frame(parent, written, language)
    for path in changed:
        if is_python(path, written, language):
            check_syntax(path, dict(written.files)[path], written.single)
    return written


def _check_frame(parent: Program, written: Program, language: str) -> None:
    for path in dict(written.files).keys() - dict(parent.files).keys():
        raise AnswerError(f"the program adds {path}, but only the EVOLVE-BLOCK regions may change")
    allowed = dict(enforce(parent, written, language).program.files)
    for path, text in written.files:
        lines, frame = unix(text).rstrip().split("\n"), unix(allowed[path]).rstrip().split("\n")
        if lines != frame:
            pairs = enumerate(zip_longest(lines, frame), start=1)
            number = next(number for number, (one, other) in pairs if one != other)
            where = f"line {number}" + ("" if written.single else f" of {path}")
            raise AnswerError(f"{where} is outside the EVOLVE-BLOCK regions: keep it as the parent has it")


def _replace(parent: Program, changes: Mapping[str, str]) -> Program:
    old = dict(parent.files)
    for path in changes.keys() - old.keys():
        clash = [other for other in {**old, **changes} if other.startswith(path + "/") or path.startswith(other + "/")]
        if clash:
            raise AnswerError(f"the answer adds {path}, which cannot exist beside {clash[0]}")
    try:
        return parent.replace({path: with_endings_of(text, old.get(path, "")) for path, text in changes.items()})
    except ProgramError as error:
        raise AnswerError(str(error)) from error


def unix(text: str) -> str:
    """A text whose lines end in LF."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def with_endings_of(text: str, model: str) -> str:
    """The text with the line endings of the model, and with one at its end."""
    text = text if text.endswith("\n") or not text else text + "\n"
    return text.replace("\n", "\r\n") if "\r\n" in model else text


def differs(text: str, other: str | None) -> bool:
    """Whether two texts differ in more than line ends and blank lines at the end."""
    return other is None or (text != other and unix(text).rstrip() != unix(other).rstrip())


def _check_unmarked(child: Program, changes: Mapping[str, str], language: str) -> None:
    """Say of Python without markers that does not parse just that, and not that it lacks markers."""
    for path in changes:
        text = dict(child.files)[path]
        if "EVOLVE-BLOCK" not in text and is_python(path, child, language):
            check_syntax(path, text, child.single)


def check_syntax(path: str, text: str, single: bool) -> None:
    """Check that a text is Python.

    Args:
        path: of the file, which the error names.
        text: of the file.
        single: whether the program has no other file, so that the error need not name it.

    Raises:
        AnswerError: it is not.
    """
    try:
        parse_python(text)
    except SyntaxError as error:
        place = f"line {error.lineno or 1}" + ("" if single else f" of {path}")
        raise AnswerError(f"the program is not valid Python: {error.msg} in {place}") from error


@dataclass(slots=True)
class AnswerReader:
    """An answer's changes to a parent's files, and its deviations from the requested form."""

    sources: Mapping[str, str]
    language: str
    recovered: list[str] = field(default_factory=list)

    def changes(self, text: str, edits: str) -> dict[str, str]:
        """The new texts of the files that an answer changes, by path."""
        patched = holds_edits(text)
        if edits == "diff" and not patched and is_whole(self.sources, text, self.language):
            self.recovered.append(REWRITE)
            return self._rewrite(text)
        if edits != "diff" and patched:
            self.recovered.append(EDITS)
            return patch(self.sources, text)
        return patch(self.sources, text) if edits == "diff" else self._rewrite(text)

    def _rewrite(self, text: str) -> dict[str, str]:
        sections = _sections(text)
        if len(self.sources) > 1:
            if not sections:
                raise AnswerError("the answer names no file: head each changed file by a line FILE: path")
            return {path: self.body(content, path) for path, content in sections}
        path = next(iter(self.sources))
        if not sections or not _headed(text):
            return {path: self.body(text, path)}
        if len(sections) > 1 or sections[0][0] != path:
            other = next((name for name, _ in sections if name != path), path)
            raise AnswerError(f"the answer writes {other}, but the program is the one file {path}")
        return {path: self.body(sections[0][1], path)}

    def body(self, text: str, path: str) -> str:
        """The text of a file from an answer."""
        program = json_program(text)
        if program is not None:
            self.recovered.append(JSON_CODE)
            return program
        lines = text.strip().split("\n")
        blocks = list(fenced_blocks(lines))
        if len(blocks) == 1 and len(blocks[0].lines) == len(lines) - 2:
            return blocks[0].text
        language = self.language
        if (
            language in _PLAIN_LANGUAGES
            or not blocks
            or (fence(lines[0]) is None and _is_python_program(text, language))
        ):
            return _unfenced(text, language)
        return self._largest([block.text for block in blocks if block.closed] or [blocks[0].text], path)

    def _largest(self, texts: list[str], path: str) -> str:
        """The largest text other than the parent's. An answer may quote the parent before it."""
        own = self.sources.get(path, "").strip()
        others = [text for text in texts if text.strip() != own]
        if others and len(others) < len(texts):
            self.recovered.append(PARENT_COPY)
        return max(others or texts, key=len)


def _headed(text: str) -> bool:
    """Whether a heading comes first, or is outside code in an answer that fences its code."""
    first = next(line for line in text.split("\n") if line.strip())
    return heading(first) is not None or any(True for _ in fenced_blocks(text.split("\n")))


def _sections(text: str) -> list[tuple[str, str]]:
    """The files that headings outside fenced blocks name, in order, each with the text up to the next heading."""
    found: list[tuple[str, list[str]]] = []
    opened: Fence | None = None
    for line in text.split("\n"):
        path = heading(line) if opened is None else None
        if path is not None:
            found.append((path, []))
            continue
        opened = fence_after(line, opened)
        if found:
            found[-1][1].append(line)
    return [(path, "\n".join(lines)) for path, lines in found]


def _unfenced(text: str, language: str) -> str:
    if not text.strip():
        raise AnswerError("the answer holds no program text")
    if language not in _PLAIN_LANGUAGES and _is_prose(text, language):
        raise AnswerError("the answer is prose without a fenced program")
    return text.strip("\n")


def _is_python_program(text: str, language: str) -> bool:
    """Whether fences are inside the text, as in a docstring, instead of around programs."""
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
    """Whether a statement has an effect. Words that happen to parse (`Sorry`, `No`) have none."""
    return not isinstance(statement, ast.Expr) or isinstance(statement.value, ast.Call | ast.Await)


def _mostly_sentences(text: str) -> bool:
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    sentences = sum(1 for line in lines if line.count(" ") >= 2 and _SENTENCE.fullmatch(line))
    return 2 * sentences >= len(lines)
