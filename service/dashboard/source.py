"""Sources as pages show them: coloured by what a word is, every character seen, and never longer than a page bears."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath

from markupsafe import Markup
from pygments.lexer import Lexer
from pygments.lexers import CLexer, CppLexer, JavascriptLexer, PythonLexer, RustLexer
from pygments.token import Token, _TokenType

from service.dashboard.formatting import MAX_LINE, visible

MAX_CHARACTERS = 200_000
MAX_LINES = 10_000
MAX_FILES = 50
# Behind so many characters of a file there are no colours: a reader of languages is slow.
MAX_COLOURED = 40_000
# Readers that texts made for that hold for two seconds at most within these bounds; others (Java) they hold for hours.
LEXERS: Mapping[str, type[Lexer]] = {
    ".py": PythonLexer, ".c": CLexer, ".h": CLexer, ".cc": CppLexer, ".cpp": CppLexer, ".hpp": CppLexer,
    ".js": JavascriptLexer, ".mjs": JavascriptLexer, ".rs": RustLexer,
}  # fmt: skip
# What a word is, as a class of the stylesheet; the first that its token belongs to decides, and the rest is plain.
CLASSES = (
    (Token.Comment, "s-comment"),
    (Token.Literal.String, "s-text"),
    (Token.Literal.Number, "s-number"),
    (Token.Keyword, "s-keyword"),
    (Token.Operator.Word, "s-keyword"),
    (Token.Name.Function, "s-name"),
    (Token.Name.Class, "s-name"),
    (Token.Name.Decorator, "s-name"),
    (Token.Name.Builtin, "s-builtin"),
    (Token.Name.Tag, "s-keyword"),
    (Token.Name.Attribute, "s-builtin"),
)
Piece = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownFile:
    """One file of a candidate as it stands on a page.

    Attributes:
        lines: as markup, in order; a line that is too long is cut and says so.
        omitted: characters behind the last line shown.
    """

    path: str
    lines: Sequence[Markup]
    characters: int
    omitted: int


def shown_files(files: Sequence[tuple[str, str]]) -> list[ShownFile]:
    """Files with as much of their text as a page bears: the first ones first."""
    room, shown = MAX_CHARACTERS, []
    for path, text in files[:MAX_FILES]:
        lines = highlighted(path, text, room)
        whole = text.split("\n", len(lines))[: len(lines)]
        room -= sum(min(len(line), MAX_LINE) + 1 for line in whole)
        omitted = max(0, len(text) - sum(len(line) + 1 for line in whole))
        shown.append(ShownFile(path=path, lines=lines, characters=len(text), omitted=omitted))
    return shown


@lru_cache(maxsize=32)
def highlighted(path: str, text: str, room: int = MAX_CHARACTERS) -> tuple[Markup, ...]:
    """The first lines of a text, coloured by the language that its name speaks of.

    Everything that is in these lines is shown, in its place: a reading that loses a character is not used.

    Args:
        path: of the file.
        text: all of it.
        room: characters that may be shown; a long line takes only what is left when it is cut.
    """
    whole = list(_fitting(text, room))
    cut = [line[:MAX_LINE] for line in whole]
    rows = _rows("\n".join(cut), _lexer(path)) if cut else []
    return tuple(
        Markup("").join([*map(_marked, row), _more(len(full) - len(short))])
        for row, full, short in zip(rows, whole, cut, strict=True)
    )


def _fitting(text: str, room: int) -> Iterator[str]:
    lines = text.split("\n", MAX_LINES + 1)
    if not lines[-1]:
        lines.pop()
    for line in lines[:MAX_LINES]:
        room -= min(len(line), MAX_LINE) + 1
        if room < 0:
            return
        yield line


def shortened(line: str, maximum: int = MAX_LINE) -> Markup:
    """One line of a text without colours, cut where it is too long."""
    return visible(line[:maximum]) + _more(len(line) - maximum)


def _more(omitted: int) -> Markup:
    if omitted <= 0:
        return Markup("")
    return Markup('<span class="cut">… {} more characters on this line</span>').format(f"{omitted:,}")


def _lexer(path: str) -> Lexer | None:
    found = LEXERS.get(PurePosixPath(path).suffix)
    return found() if found else None


def _rows(text: str, lexer: Lexer | None) -> list[list[Piece]]:
    """The pieces of every line."""
    pieces = [("", text)]
    if lexer is not None:
        coloured = text[:MAX_COLOURED]
        read = [(_class(kind), value) for _, kind, value in lexer.get_tokens_unprocessed(coloured)]
        if "".join(value for _, value in read) == coloured:
            pieces = [*read, ("", text[MAX_COLOURED:])]
    rows: list[list[Piece]] = [[]]
    for kind, value in _joined(pieces):
        first, *others = value.split("\n")
        rows[-1].append((kind, first))
        rows += [[(kind, other)] for other in others]
    return rows


def _joined(pieces: Sequence[Piece]) -> Iterator[Piece]:
    """Neighbours of one class as one piece: half the markup."""
    for kind, group in groupby(pieces, itemgetter(0)):
        yield kind, "".join(value for _, value in group)


def _class(kind: _TokenType) -> str:
    return next((name for token, name in CLASSES if token in kind.split()), "")


def _marked(piece: Piece) -> Markup:
    kind, text = piece
    shown = visible(text)
    return Markup(f'<span class="{kind}">{shown}</span>') if kind and text else shown  # noqa: S704 - a class of ours
