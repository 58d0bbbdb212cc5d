"""The numerals of a text in any language, found without a grammar: outside strings, comments and names."""

import re
from functools import cache
from pathlib import PurePosixPath

from service.policy.syntax.numeral import SPELLING, Numeral, read

_HASH = "python ruby shell bash sh perl r julia yaml toml elixir nim make tcl"
_SLASHES = (
    "c c++ cpp cuda java javascript typescript go rust swift kotlin c# csharp scala verilog systemverilog php dart zig"
    " json glsl hlsl opencl js jsx ts tsx rs"
)
_DASHES = "lua sql haskell ada vhdl elm"
_SEMICOLON = "lisp scheme clojure racket asm ini"
_PERCENT = "matlab octave latex erlang prolog"
_BLOCK = r"/\*.*?(?:\*/|\Z)"
_COMMENTS = {
    **dict.fromkeys(_HASH.split(), r"\#[^\n]*"),
    **dict.fromkeys(_SLASHES.split(), rf"//[^\n]*|{_BLOCK}"),
    **dict.fromkeys(_DASHES.split(), r"--\[\[.*?(?:\]\]|\Z)|\{-.*?(?:-\}|\Z)|--[^\n]*"),
    **dict.fromkeys(_SEMICOLON.split(), r";[^\n]*"),
    **dict.fromkeys(_PERCENT.split(), r"%[^\n]*"),
    "fortran": r"![^\n]*",
    "ocaml": r"\(\*.*?(?:\*\)|\Z)",
}
_UNKNOWN = rf"\#[^\n]*|//[^\n]*|{_BLOCK}"
_SUFFIXES = {
    ".py": "python", ".pyi": "python", ".rb": "ruby", ".sh": "shell", ".pl": "perl", ".r": "r", ".jl": "julia",
    ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".c": "c", ".h": "c", ".cc": "c++", ".cpp": "c++",
    ".hpp": "c++", ".cu": "cuda", ".java": "java", ".js": "javascript", ".mjs": "javascript", ".ts": "typescript",
    ".go": "go", ".rs": "rust", ".swift": "swift", ".kt": "kotlin", ".cs": "c#", ".scala": "scala", ".v": "verilog",
    ".sv": "systemverilog", ".php": "php", ".dart": "dart", ".zig": "zig", ".json": "json", ".lua": "lua",
    ".sql": "sql", ".hs": "haskell", ".adb": "ada", ".vhd": "vhdl", ".lisp": "lisp", ".scm": "scheme",
    ".clj": "clojure", ".rkt": "racket", ".s": "asm", ".ini": "ini", ".m": "matlab", ".tex": "latex",
    ".erl": "erlang", ".f90": "fortran", ".ml": "ocaml",
}  # fmt: skip
_PROSE = frozenset({".md", ".rst", ".txt", ".lock", ".csv", ".tsv", ".svg", ".html"})
_STRINGS = r"'''.*?(?:'''|\Z)|\"\"\".*?(?:\"\"\"|\Z)|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|`(?:\\.|[^`\\])*`"
# The innermost of those around a numeral; all of them would take memory by the square of a hostile depth.
_MAX_BRACKETS = 20
_OPEN, _CLOSE = "([{", ")]}"
# After one of these (or at the start of a line) a minus is the number's own sign, not a subtraction.
_BEFORE_SIGN = frozenset("([{,=:;<>?&|*/%+!~\n")


def language_of(path: str, language: str) -> str | None:
    """The language of a file by its suffix, or else the problem's. None for prose and data, which are not tuned."""
    suffix = PurePosixPath(path).suffix.lower()
    return None if suffix in _PROSE else _SUFFIXES.get(suffix, language.lower())


def numerals(text: str, language: str) -> tuple[Numeral, ...]:
    """Every numeral of a text outside of strings, comments and names, with the brackets around it."""
    found: list[Numeral] = []
    open_brackets: list[int] = []
    for match in _tokens(language).finditer(text):
        bracket = match["bracket"]
        if bracket and bracket in _OPEN:
            open_brackets.append(match.start())
        elif bracket and open_brackets:
            open_brackets.pop()
        elif match["number"]:
            start = _signed_start(text, match.start())
            numeral = read(text[start : match.end()], start, tuple(open_brackets[-_MAX_BRACKETS:]))
            if numeral is not None:
                found.append(numeral)
    return tuple(found)


@cache
def _tokens(language: str) -> re.Pattern[str]:
    comment = _COMMENTS.get(language, _UNKNOWN)
    # Behind a name and a point stands a field (`pair.0`), not a number.
    number = r"(?<![\w)\]]\.)(?:" + SPELLING.pattern.replace(r"|\.\d", r"|(?<![\w.)\]])\.\d") + ")"
    pattern = (
        rf"(?P<comment>{comment})|(?P<string>{_STRINGS})|[^\W\d]\w*|(?P<number>{number})|(?P<bracket>[()\[\]{{}}])"
    )
    return re.compile(pattern, re.DOTALL)


def _signed_start(text: str, start: int) -> int:
    if text[start - 1 : start] != "-":
        return start
    before = text[: start - 1].rstrip(" \t")[-1:]
    return start - 1 if not before or before in _BEFORE_SIGN else start
