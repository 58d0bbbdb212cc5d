"""EVOLVE-BLOCK regions: the parts of a program that may change, between markers in any comment syntax."""

import re
from dataclasses import dataclass

from evolve.answers.alignment import names_used, unframed
from evolve.answers.python_source import is_python
from evolve.errors import AnswerError, ProblemError
from evolve.program import Program

# A marker stands alone in its comment: before it come comment signs (or the comment words of Basic, m4, Fortran).
_MARKER = re.compile(r"[^\w\n]*(?:(?:REM|rem|dnl|C|c)[^\w\n]+)?EVOLVE-BLOCK-(START|END)\b")
# OpenEvolve takes a marker behind code too. Here it guards nothing, and is told.
_BEHIND_CODE = re.compile(r".*(?:#|//|--|;|%|/\*|<!--)\s*EVOLVE-BLOCK-(START|END)\s*(?:\*/|-->)?\s*")
_HINT = "EVOLVE-BLOCK-"
MIN_FRAME_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Region:
    """The lines between a pair of markers: `start` up to, not including, `end`, counted from 0."""

    start: int
    end: int


def regions(text: str) -> list[Region]:
    """The regions of a file, in order. Empty if it has no markers.

    Raises:
        AnswerError: the markers do not pair up.
    """
    found, complaint = _pair(text.split("\n"))
    if complaint:
        raise AnswerError(complaint)
    return found


def guarded(program: Program) -> bool:
    """Whether a program has markers around its regions."""
    return any(_HINT in text and _markers(text.split("\n")) for _, text in program.files)


def asks_region(program: Program) -> bool:
    """Whether a rewrite of a program is requested as the content of its region alone.

    This holds if a single file has one region and at least a fifth of its text is outside. A rewrite of the whole would
    repeat that text in each answer.
    """
    if not program.single:
        return False
    lines = program.text.split("\n")
    slots, complaint = _pair(lines)
    if complaint or len(slots) != 1:
        return False
    inside = sum(len(line) + 1 for line in lines[slots[0].start : slots[0].end])
    return len(program.text) - inside >= MIN_FRAME_SHARE * len(program.text)


@dataclass(frozen=True, slots=True)
class RegionFrame:
    """A program with a single region: the lines before, between and after its markers."""

    head: tuple[str, ...]
    region: tuple[str, ...]
    tail: tuple[str, ...]


def framed(program: Program) -> RegionFrame | None:
    """A program split at its only region. None if it has another number of regions, or several files."""
    lines = program.text.split("\n") if program.single else []
    slots, _ = _pair(lines)
    if len(slots) != 1:
        return None
    (slot,) = slots
    head, region, tail = lines[: slot.start - 1], lines[slot.start : slot.end], lines[slot.end + 1 :]
    return RegionFrame(head=tuple(head), region=tuple(region), tail=tuple(tail))


def names_of_region(program: Program, language: str) -> tuple[str, ...]:
    """The names that a program's only region defines for the lines around it. Empty if they are unknown."""
    parts = framed(program)
    if parts is None or not is_python(program.files[0][0], program, language):
        return ()
    return names_used([*parts.head, *parts.tail], parts.region)


def check_markers(program: Program) -> None:
    """Check a seed's markers.

    Raises:
        ProblemError: they do not pair up in some file.
    """
    for path, text in program.files:
        _, complaint = _pair(text.split("\n"))
        if complaint:
            raise ProblemError(f"{path}: {complaint}")


def unread_markers(program: Program) -> list[str]:
    """A sentence for each marker after code, where it marks no region."""
    return [
        f"{path}: EVOLVE-BLOCK-{match[1]} in line {number} is after code and marks no region: give it its own line"
        for path, text in program.files
        if _HINT in text
        for number, line in enumerate(text.split("\n"), start=1)
        if (match := _BEHIND_CODE.fullmatch(line)) and not _MARKER.match(line)
    ]


@dataclass(frozen=True, slots=True)
class EnforcedProgram:
    """A child within the regions of its parent. `restored` says whether missing markers were restored."""

    program: Program
    restored: bool = False


def enforce(parent: Program, child: Program, language: str = "") -> EnforcedProgram:
    """The child with everything outside its parent's regions as the parent has it.

    The content of the child's regions goes into the parent's frame, so nothing outside changes. The parent's files
    without markers are restored. A program without any marker may change anywhere. If a file has one region and the
    child left its markers out, it is aligned with its parent (see `evolve.answers.alignment`).

    Raises:
        AnswerError: a file's regions do not correspond to its parent's, or a file was added.
    """
    if not guarded(parent):
        return EnforcedProgram(child)
    changed = dict(child.files)
    added = [path for path in changed if path not in dict(parent.files)]
    if added:
        raise AnswerError(f"the answer adds {added[0]}, but only the EVOLVE-BLOCK regions may change")
    files, restored = {}, False
    for path, text in parent.files:
        other = changed.get(path, text)
        python = is_python(path, parent, language)
        aligned = _restored(text, other, python, asks_region(parent)) if other != text else None
        restored |= aligned is not None
        files[path] = aligned if aligned is not None else _transplant(path, text, other)
    return EnforcedProgram(parent.replace(files), restored)


def _restored(parent: str, child: str, python: bool, asked: bool) -> str | None:
    """A child without markers in the frame of its parent. None if it has markers, or cannot be aligned.

    If only the region was requested (`asked`), a child that cannot be aligned is the region.
    """
    frame, answer = parent.split("\n"), child.split("\n")
    slots, _ = _pair(frame)
    if len(slots) != 1 or _markers(answer):
        return None
    (slot,) = slots
    head, region, tail = frame[: slot.start - 1], frame[slot.start : slot.end], frame[slot.end + 1 :]
    inner = unframed(head, region, tail, answer, python)
    inner = answer if inner is None and asked else inner
    return None if inner is None else "\n".join([*frame[: slot.start], *inner, *frame[slot.end :]])


def _transplant(path: str, parent: str, child: str) -> str:
    if child == parent or _HINT not in parent:
        return parent
    frame, source = parent.split("\n"), child.split("\n")
    slots, _ = _pair(frame)
    blocks, complaint = _pair(source)
    if complaint:
        raise AnswerError(f"{path}: {complaint}")
    if len(blocks) != len(slots):
        raise AnswerError(
            f"{path} has {_count(len(slots))} in the parent and {_count(len(blocks))} in the answer: keep the markers"
        )
    lines: list[str] = []
    position = 0
    for slot, block in zip(slots, blocks, strict=True):
        lines += frame[position : slot.start] + source[block.start : block.end]
        position = slot.end
    return "\n".join(lines + frame[position:])


def _count(blocks: int) -> str:
    return f"{blocks} EVOLVE-BLOCK region{'' if blocks == 1 else 's'}"


def _markers(lines: list[str]) -> list[tuple[int, str]]:
    matched = ((number, _MARKER.match(line)) for number, line in enumerate(lines) if _HINT in line)
    return [(number, match[1]) for number, match in matched if match]


def _pair(lines: list[str]) -> tuple[list[Region], str]:
    found: list[Region] = []
    opened: int | None = None
    for number, kind in _markers(lines):
        if kind == "START" and opened is not None:
            return [], f"EVOLVE-BLOCK-START in line {number + 1} is inside the region of line {opened + 1}"
        if kind == "END" and opened is None:
            return [], f"EVOLVE-BLOCK-END in line {number + 1} has no EVOLVE-BLOCK-START before it"
        if kind == "END" and opened is not None:
            found.append(Region(opened + 1, number))
        opened = number if kind == "START" else None
    if opened is not None:
        return [], f"EVOLVE-BLOCK-START in line {opened + 1} has no EVOLVE-BLOCK-END after it"
    return found, ""
