"""Programs that can no longer become valid Python, found while a model writes them."""

import codeop
import re
import warnings

from evolve.answers.syntax_trees import syntax_tree

# A look parses all that stands there: the next comes when this much, and a quarter, has been added.
MIN_CHARACTERS = 512
_GROWTH = 1.25
MAX_LENGTH = 50_000
_FENCE = re.compile(r"^```(?:python|py)[ \t]*\n", re.MULTILINE | re.IGNORECASE)
_END = re.compile(r"^(?:```|</)", re.MULTILINE)
_EDITS = "<<<<<<<"
_INCOMPLETE = "incomplete input"
# Python's own prompt asks with the second whether a line is to follow.
_FLAGS: int = codeop.PyCF_ALLOW_INCOMPLETE_INPUT  # type: ignore[attr-defined]  # not in its stubs


class BrokenPrefixDetector:
    """Detects that the first fenced Python program of a completion can no longer become valid.

    Only complete lines count, and only faults that no further line can repair: an unmatched bracket or two names in a
    row. An open bracket or string is not a fault.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._next_look = MIN_CHARACTERS

    def feed(self, text: str) -> str:
        """Take the next piece of the completion. Returns the permanent fault of its program, or an empty text."""
        self._pieces.append(text)
        self._length += len(text)
        if not self._next_look <= self._length <= MAX_LENGTH:
            return ""
        self._next_look = max(self._length + MIN_CHARACTERS, int(self._length * _GROWTH))
        return complaint("".join(self._pieces))


def complaint(completion: str) -> str:
    """The permanent fault of the first fenced Python program of a completion, which need not be complete."""
    opened = _FENCE.search(completion)
    if opened is None or _EDITS in completion:
        return ""
    code = completion[opened.end() :].rpartition("\n")[0] + "\n"
    if _END.search(code):  # the program is complete, and judged as an answer
        return ""
    if code[:1] in (" ", "\t"):  # a part of a program, which stands in a block
        code = f"if True:\n{code}"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            syntax_tree(code, flags=_FLAGS)
    except SyntaxError as error:
        return "" if _INCOMPLETE in str(error.msg) else f"the program is not valid Python: {error.msg}"
    except (ValueError, OverflowError, RecursionError, MemoryError):
        return ""
    return ""
