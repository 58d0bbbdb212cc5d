"""Foreign text made fit for a prompt: inert, visible, and shut in a fence that it cannot close."""

import re

from evolve.program import Program
from evolve.prompt.control_tokens import neutralise

_BACKTICKS = re.compile(r"`+")
# C0 and C1 controls but for tab and newline, characters that reorder or hide what a reader sees, halves of characters.
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
_CUT = "\n[... {count} characters left out ...]\n"


def fenced(text: str, info: str = "") -> str:
    """A text in a fence with more backticks than any run inside it. The text between the fences is unchanged."""
    longest = max(map(len, _BACKTICKS.findall(text))) if "`" in text else 0
    fence = "`" * max(3, longest + 1)
    return f"{fence}{info}\n{text}\n{fence}"


def inert(text: str) -> str:
    """A foreign text with its control characters made visible and its control tokens broken."""
    unix = text.replace("\r\n", "\n")
    return neutralise(_INVISIBLE.sub(lambda match: f"\\u{ord(match[0]):04x}", unix))


def one_line(text: str, longest: int = 400) -> str:
    """A foreign text on one line, cut to a length, without the backticks that open a fence."""
    flat = " ".join(inert(text).split()).replace("`", "'")
    return flat if len(flat) <= longest else flat[: longest - 3] + "..."


def shown(program: Program, language: str) -> str:
    """A program's source in a fence, or each file in its own fence under a line `FILE: path`."""
    if program.single:
        return fenced_source(program.files[0][1], language)
    return "\n".join(f"FILE: {one_line(path)}\n{fenced_source(text, language)}" for path, text in program.files)


def fenced_source(text: str, language: str) -> str:
    """Source in a fence that names its language."""
    return fenced(inert(text.rstrip("\n")), re.sub(r"[^\w+#-]", "", language))


def cut_middle(text: str, longest: int) -> str:
    """A text of at most about `longest` characters: its beginning, and its end, which holds the result."""
    if len(text) <= longest:
        return text
    if longest <= 0:
        return ""
    head = longest // 2
    tail = longest - head
    return text[:head] + _CUT.format(count=len(text) - longest) + text[-tail:]
