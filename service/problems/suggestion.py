"""The nearest known word for an unknown word."""

import difflib
from collections.abc import Iterable


def hint(word: str, known: Iterable[str]) -> str:
    """`: did you mean 'x'?` for a near miss, else `: known are a, b, c`. Empty if no word is known.

    Dotted words are also compared by their last part, so a key in the wrong table finds its place.
    """
    names = sorted(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.6)
    if not near:
        tails = {name.rpartition(".")[2]: name for name in reversed(names)}
        near = [tails[tail] for tail in difflib.get_close_matches(word.rpartition(".")[2], tails, n=1, cutoff=0.75)]
    if near:
        return f": did you mean {near[0]!r}?"
    return f": known are {', '.join(names)}" if 0 < len(names) <= 12 else ""
