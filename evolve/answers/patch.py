"""Patches: SEARCH/REPLACE blocks, found in a program's files and applied."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from evolve.answers.markup import closes_replace, divides_edit, heading, opens_search
from evolve.errors import AnswerError

MAX_BLOCKS = 200
_MAX_PLACES = 64


@dataclass(frozen=True, slots=True)
class _Block:
    path: str | None
    search: list[str]
    replacement: list[str]


def patch(sources: Mapping[str, str], text: str, *, new: bool = False) -> dict[str, str]:
    """The files after every SEARCH/REPLACE block of a text, each applied to the result of the previous block.

    A heading `FILE: path` before a block names the file. Without it, the block must fit a single file. SEARCH matches
    whole lines in three ways:

    * exactly, at the first place if there are several
    * ignoring white space at line ends and blank lines around, if the place is unique
    * ignoring a uniform indentation, if the place is unique. The replacement then gets the same indentation

    Args:
        sources: text of each file by its path.
        text: holds the blocks.
        new: whether the only file does not exist yet, so that a block with an empty SEARCH is its text.

    Raises:
        AnswerError: there is no block, or a block is broken, empty, not found or not unique, or there are too many.
    """
    blocks = list(_blocks(text.split("\n")))
    if not blocks:
        raise AnswerError("the answer holds no SEARCH/REPLACE block")
    if len(blocks) > MAX_BLOCKS:
        raise AnswerError(f"the answer holds more than {MAX_BLOCKS} SEARCH/REPLACE blocks")
    files = dict(sources)
    for block in blocks:
        if new and not any(line.strip() for line in block.search):
            files = {path: _joined(content, block.replacement) for path, content in files.items()}
            continue
        path, content = _replaced(files, block)
        files[path] = content
    return files


def _blocks(lines: Iterable[str]) -> Iterator[_Block]:
    path: str | None = None
    search: list[str] | None = None
    replacement: list[str] | None = None
    for line in lines:
        if search is None:
            path = heading(line) or path
            search = [] if opens_search(line) else None
        elif replacement is None:
            if closes_replace(line) or opens_search(line):
                raise AnswerError("a SEARCH block has no ======= before its end")
            if divides_edit(line):
                replacement = []
            else:
                search.append(line)
        elif closes_replace(line):
            yield _Block(path, search, replacement)
            search = replacement = None
        elif opens_search(line):
            raise AnswerError("a SEARCH block is not closed by >>>>>>> REPLACE before the next one begins")
        else:
            replacement.append(line)
    if search is not None:
        raise AnswerError("the last SEARCH block is not closed by >>>>>>> REPLACE")


def _joined(text: str, lines: list[str]) -> str:
    return "\n".join([*(text.split("\n") if text else []), *lines])


def _replaced(files: Mapping[str, str], block: _Block) -> tuple[str, str]:
    wanted = next((line.strip() for line in block.search if line.strip()), None)
    if wanted is None:
        raise AnswerError("a SEARCH block is empty: name the lines to replace")
    if block.path is not None and block.path not in files:
        raise AnswerError(f"the answer edits {block.path}, which the program does not have")
    names = [block.path] if block.path is not None else list(files)
    for matching in (_exact, _but_for_line_ends, _but_for_indentation):
        found = [(name, content) for name in names if (content := matching(files[name], block)) is not None]
        if len(found) > 1:
            raise AnswerError(f"the SEARCH block starting with {_quote(wanted)} fits several files: add FILE: path")
        if found:
            return found[0]
    raise AnswerError(f"the SEARCH block starting with {_quote(wanted)} is not in the program")


def _quote(line: str) -> str:
    return repr(line if len(line) <= 80 else line[:77] + "...")


def _exact(text: str, block: _Block) -> str | None:
    lines = text.split("\n")
    places = _places(lines, block.search)
    return _splice(lines, places[0], len(block.search), block.replacement) if places else None


def _but_for_line_ends(text: str, block: _Block) -> str | None:
    lines = text.split("\n")
    search = _without_blank_ends([line.rstrip() for line in block.search])
    places = _places([line.rstrip() for line in lines], search)
    if not places:
        return None
    return _splice(lines, _unique(places, search), len(search), block.replacement)


def _but_for_indentation(text: str, block: _Block) -> str | None:
    lines = text.split("\n")
    search = _without_blank_ends(block.search)
    places = _places([line.strip() for line in lines], [line.strip() for line in search])
    shifts = ((place, _shift(search, lines[place : place + len(search)])) for place in places)
    fitting = {place: shift for place, shift in shifts if shift is not None}
    if not fitting:
        return None
    place = _unique(list(fitting), search)
    added, removed = fitting[place]
    moved = [added + line.removeprefix(removed) if line.strip() else line for line in block.replacement]
    return _splice(lines, place, len(search), moved)


def _places(lines: list[str], search: list[str]) -> list[int]:
    """The first few line numbers where the searched lines occur. The search uses joined text, in linear time."""
    text, wanted = "\n".join(["", *lines, ""]), "\n".join(["", *search, ""])
    places: list[int] = []
    line, seen = 0, 0
    position = text.find(wanted)
    while position >= 0 and len(places) < _MAX_PLACES:
        line += text.count("\n", seen, position)
        seen = position
        places.append(line)
        position = text.find(wanted, position + 1)
    return places


def _shift(search: list[str], lines: list[str]) -> tuple[str, str] | None:
    """Indentation to add to, and to remove from, each searched line to get the program's. None if not uniform."""
    pairs = [(_indentation(a), _indentation(b)) for a, b in zip(search, lines, strict=True) if a.strip()]
    first, target = pairs[0]
    if target.endswith(first):
        added, removed = target[: len(target) - len(first)], ""
    elif first.endswith(target):
        added, removed = "", first[: len(first) - len(target)]
    else:
        return None
    uniform = all(a.startswith(removed) and added + a[len(removed) :] == b for a, b in pairs)
    return (added, removed) if uniform else None


def _indentation(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _without_blank_ends(lines: list[str]) -> list[str]:
    filled = [number for number, line in enumerate(lines) if line.strip()]
    return lines[filled[0] : filled[-1] + 1]


def _unique(places: list[int], search: list[str]) -> int:
    if len(places) > 1:
        raise AnswerError(f"the SEARCH block starting with {_quote(search[0].strip())} fits several places")
    return places[0]


def _splice(lines: list[str], place: int, count: int, replacement: list[str]) -> str:
    return "\n".join([*lines[:place], *replacement, *lines[place + count :]])
