"""Continuations: the first lines of a program, which a policy is to go on from in place of writing the whole.

A small model that is asked for a program loses names and constants that the evaluator needs. Given the beginning of the
parent as the beginning of its own reply, it keeps them, and writes fewer tokens. How much is given is drawn, so that
children differ from the parent now in a few lines, now in most.
"""

from collections.abc import Sequence

import numpy as np

CONTINUE = "continue"
# Of the generator that draws where the beginning ends, beside those of policy, parent and form.
_STREAM = 4
MAX_SHARE = 0.6  # of the lines
_DEFINITIONS = ("def ", "async def ", "class ")


def first_lines(text: str, language: str, seed: int) -> str:
    """The first lines of a program, up to a line that is drawn; without blanks at the end, which chat templates trim.

    Python: at least the first definition and the line behind it; anything else: at least the first line. At most
    `MAX_SHARE` of the lines, unless that is less than the least, and never all of them.

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
