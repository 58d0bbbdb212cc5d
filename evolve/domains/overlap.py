"""How much texts and collections have in common: the scores of question answering, from 0 to 1."""

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Hashable

_ARTICLES = frozenset({"a", "an", "the"})
_WORD = re.compile(r"\S+")


def words(text: str, articles: bool = True) -> list[str]:
    """The words of a text in lower case without punctuation, and without articles if those are not to count.

    The normalisation of SQuAD (arXiv 1606.05250), for all of Unicode's punctuation.
    """
    kept = "".join(symbol for symbol in text.lower() if not unicodedata.category(symbol).startswith("P"))
    return [word for word in _WORD.findall(kept) if articles or word not in _ARTICLES]


def normalised(text: str, articles: bool = True) -> str:
    """A text in its form for comparisons: its words, or the whole text if it has none."""
    return " ".join(words(text, articles)) or text.strip()


def same(text: str, other: str, articles: bool = True) -> bool:
    """Whether two texts have the same words. Texts without words are compared unchanged."""
    return normalised(text, articles) == normalised(other, articles)


def f1(found: Collection[Hashable], wanted: Collection[Hashable]) -> float:
    """Harmonic mean of precision and recall over items that may occur several times. 1 if neither has any."""
    if not found and not wanted:
        return 1.0
    shared = sum((Counter(found) & Counter(wanted)).values())
    return 2.0 * shared / (len(found) + len(wanted))
