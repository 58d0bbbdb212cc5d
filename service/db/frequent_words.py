"""Words that stand in millions of rows, each stored as one character.

A word of the list below is stored as the character at its place in the alphabet, and every other text as it is. A text
that would then read as something else, a single character for one, stands behind an equals sign. The places are those
of databases: a new word comes to the end, with a revision that rewrites the rows that have it in full.
"""

import string

from sqlalchemy import Text

from service.db.columns import read_text, stored_text
from service.db.encoded_type import EncodedType

_ALPHABET = string.digits + string.ascii_letters
_WORDS = (
    # kinds of events
    "candidate.created", "candidate.evaluated", "individual.inserted", "proposal.answered", "proposal.created",
    # roles of parents
    "parent", "crossover", "inspiration",
    # how far candidates came
    "pending", "evaluated", "duplicate", "rejected",
    # outcomes of evaluations
    "ok", "invalid", "error", "timeout", "memory", "crash", "output", "stage", "cancelled", "lost",
    # their isolation
    "strong/separate", "medium/separate", "weak/separate", "none/separate",
    "strong/shared", "medium/shared", "weak/shared", "none/shared",
)  # fmt: skip
_CODES = dict(zip(_WORDS, _ALPHABET, strict=False))
_OF_CODES = {code: word for word, code in _CODES.items()}
_ESCAPE = "="


def stored_word(text: str) -> str:
    """A text as columns of `FrequentWord` hold it."""
    if (code := _CODES.get(text)) is not None:
        return code
    return (_ESCAPE if len(text) == 1 or text.startswith(_ESCAPE) else "") + stored_text(text)


def read_word(stored: str) -> str:
    """The text of what a column of `FrequentWord` holds; a character of no word is itself."""
    if len(stored) == 1:
        return _OF_CODES.get(stored, stored)
    return read_text(stored.removeprefix(_ESCAPE))


class FrequentWord(EncodedType[str]):
    """A column of texts that are mostly a few words. The database can compare them for equality, not sort them."""

    impl = Text
    cache_ok = True
    encode, decode = staticmethod(stored_word), staticmethod(read_word)
