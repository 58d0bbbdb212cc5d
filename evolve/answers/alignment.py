"""Alignment: the part of an answer without markers that replaces the region of its parent.

Models leave EVOLVE-BLOCK markers out more often than they keep them. If the answer repeats the lines around the region,
or if a Python answer defines the same names as the region, its part is known. Everything else is refused, never
guessed.
"""

import ast
from collections.abc import Iterable, Sequence

from evolve.answers.python_source import parse_python, top_level_names

Lines = list[str]


def unframed(
    head: Sequence[str], region: Sequence[str], tail: Sequence[str], answer: Lines, python: bool
) -> Lines | None:
    """The lines of an answer that replace a region. None if they are unknown.

    Args:
        head, tail: lines of the parent before and after the region, without the markers.
        region: its lines in the parent.
        answer: lines of the answer, without markers.
        python: whether they are Python source.
    """
    inner = _between(head, tail, answer)
    if inner is not None:
        return inner
    if python:
        return _defined(head, region, tail, answer)
    return None if any(line.strip() for line in (*head, *tail)) else answer


def _between(head: Sequence[str], tail: Sequence[str], answer: Lines) -> Lines | None:
    """The answer between the parent's outer lines, ignoring blank lines and white space at line ends.

    It may leave out outer lines that are farther from the region, such as a docstring or imports.
    """
    start = _overlap(head, answer)
    behind = _overlap(list(reversed(tail)), list(reversed(answer)))
    if start is None or behind is None or start + behind > len(answer):
        return None
    return answer[start : len(answer) - behind] if start or behind else None


def _overlap(outer: Sequence[str], answer: Sequence[str]) -> int | None:
    """The number of lines of an answer that repeat the outer lines nearest to the region, as many as possible.

    None: it repeats no line with a word in it, although there are some.
    """
    filled = [line for line in outer if line.strip()]
    if not filled:
        return 0
    for first in range(len(filled)):
        count = _repeated(filled[first:], answer)
        if count is not None:
            return count if any(map(str.isalnum, "".join(filled[first:]))) else None
    return None


def _repeated(outer: Sequence[str], answer: Sequence[str]) -> int | None:
    """The number of lines of an answer that repeat all outer lines in order. None: it does not repeat all."""
    position = 0
    for line in filter(None, (line.strip() for line in outer)):
        while position < len(answer) and not answer[position].strip():
            position += 1
        if position == len(answer) or answer[position].strip() != line:
            return None
        position += 1
    return position


def _defined(head: Sequence[str], region: Sequence[str], tail: Sequence[str], answer: Lines) -> Lines | None:
    """The statements of a Python answer without those that define the parent's names outside its region.

    The names of the region that the frame uses must be there. Otherwise the answer is only a part of a program.
    """
    try:
        frame = [*_statements(head), *_statements(tail)]
        own, statements = _statements(region), _statements(answer)
    except SyntaxError:
        return None
    framed = set(top_level_names(frame))
    wanted = (set(top_level_names(own)) - framed) & (_used(frame) or set(top_level_names(own)))
    kept = [one for one in statements if not _belongs(one, framed, frame)]
    if not wanted or not wanted <= set(top_level_names(kept)):
        return None
    dropped = [one for one in statements if one not in kept]
    return _without(answer, dropped)


def names_used(outer: Sequence[str], region: Sequence[str]) -> tuple[str, ...]:
    """The names that Python lines define and the lines around them use. Empty if they are unknown.

    Args:
        outer: lines of the program outside the region.
        region: its lines.
    """
    try:
        used, own = _used(_statements(outer)), list(top_level_names(_statements(region)))
    except SyntaxError:
        return ()
    return tuple(dict.fromkeys(name for name in own if name in used))


def _statements(lines: Sequence[str]) -> list[ast.stmt]:
    return list(parse_python("\n".join([*lines, ""])).body)


def _used(statements: Iterable[ast.stmt]) -> set[str]:
    nodes = (node for statement in statements for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def _belongs(statement: ast.stmt, framed: set[str], frame: Sequence[ast.stmt]) -> bool:
    """Whether a statement belongs to the frame: it defines the same names, or does the same."""
    names = set(top_level_names([statement]))
    if names:
        return names <= framed
    if isinstance(statement, ast.Import | ast.ImportFrom | ast.Expr):
        return any(ast.dump(statement) == ast.dump(one) for one in frame)
    return isinstance(statement, ast.If) and any(
        isinstance(one, ast.If) and _same_test(one, statement) for one in frame
    )


def _same_test(one: ast.If, other: ast.If) -> bool:
    """Whether both depend on the same: such as `if __name__ == "__main__"`."""
    return ast.dump(one.test) == ast.dump(other.test)


def _without(lines: Lines, dropped: Iterable[ast.stmt]) -> Lines:
    gone = {number for one in dropped for number in range(_first_line(one), (one.end_lineno or one.lineno) + 1)}
    kept = [line for number, line in enumerate(lines, start=1) if number not in gone]
    filled = [number for number, line in enumerate(kept) if line.strip()]
    return kept[filled[0] : filled[-1] + 1] if filled else []


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(one.lineno for one in decorators)])
