"""How much texts and collections have in common: the scores of question answering, from 0 to 1."""

import re
import string
from collections import Counter
from collections.abc import Collection, Hashable

_ARTICLE = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def words(text: str, articles: bool = True) -> list[str]:
    """The words of a text in lower case without punctuation, and without articles if those are not to count.

    The normalisation of SQuAD (arXiv 1606.05250): the punctuation is that of ASCII, `$` and `+` included.
    """
    kept = text.lower().translate(_PUNCTUATION)
    return (kept if articles else _ARTICLE.sub(" ", kept)).split()


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
