"""Continuations: the first lines of a program, which a policy continues instead of writing the whole.

A small model that writes a whole program loses names and constants that the evaluator needs. If its reply starts with
the start of the parent, it keeps them, and writes fewer tokens. The length of the start is drawn, so children differ
from the parent in a few lines or in most.
"""

from collections.abc import Sequence

import numpy as np

CONTINUE = "continue"
# Of the generator that draws where the beginning ends, beside those of policy, parent and form.
_STREAM = 4
MAX_SHARE = 0.6  # of the lines
_DEFINITIONS = ("def ", "async def ", "class ")


def first_lines(text: str, language: str, seed: int) -> str:
    """The first lines of a program, up to a drawn line, without blanks at the end, which chat templates trim.

    For Python, they contain at least the first definition and the next line. For other languages, they contain at least
    the first line. They are at most `MAX_SHARE` of the lines, unless that is less than the minimum, and never all of
    them.

    Args:
        text: of the program.
        language: of the problem.
        seed: of the proposal.
    """
    lines = text.split("\n")
    minimum = min(_minimum(lines, language), len(lines) - 1)
    maximum = max(minimum, round(MAX_SHARE * len(lines)))
    count = int(np.random.default_rng([seed, _STREAM]).integers(minimum, maximum, endpoint=True))
    return "\n".join(lines[:count]).rstrip()


def _minimum(lines: Sequence[str], language: str) -> int:
    if language.lower() != "python":
        return 1
    defined = (number for number, line in enumerate(lines) if line.startswith(_DEFINITIONS))
    return next(defined, 0) + 2
