"""Where the answers of a completion stand, in characters and in tokens, so that each can get its own advantage."""

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

from evolve.multiobjective.scalarization import Floats

AnswerSpan = tuple[int, int, int]  # the answer from 0, its first place, and the one behind its last
SpansOf = Callable[[str], Sequence[AnswerSpan]]
TextOf = Callable[[Sequence[int]], str]

_NUMBERED = re.compile(r"<([A-Za-z][A-Za-z-]{0,40})_([1-9]\d{0,3})>.*?</\1_\2>", re.DOTALL)


def numbered_spans(text: str) -> list[AnswerSpan]:
    """Answer i of a completion stands from `<tag_i>` to `</tag_i>`, whatever the tag is called."""
    return [(int(found[2]) - 1, found.start(), found.end()) for found in _NUMBERED.finditer(text)]


def token_spans(ids: Sequence[int], spans: Sequence[AnswerSpan], text_of: TextOf) -> list[AnswerSpan]:
    """The tokens of answers whose characters are known.

    Args:
        ids: the tokens of the completion.
        spans: in characters of the whole text.
        text_of: the text of the first tokens, which grows with them.
    """
    lengths = _Lengths(ids, text_of)
    return [(answer, bisect_left(lengths, start + 1) - 1, bisect_left(lengths, end)) for answer, start, end in spans]


def spread_advantages(chain: float, answers: Floats, spans: Sequence[AnswerSpan], width: int) -> list[float]:
    """The advantage of each of `width` tokens: that of the answer it belongs to, else that of the chain.

    A completion of one answer is that answer as a whole.
    """
    if len(answers) == 1:
        return [float(answers[0])] * width
    spread = [chain] * width
    for answer, start, end in spans:
        if answer < len(answers):
            stop = min(end, width)
            spread[start:stop] = [float(answers[answer])] * max(stop - start, 0)
    return spread


class _Lengths(Sequence[int]):
    """The length of the text of the first n tokens, for n = 0 to all of them, found as it is asked for."""

    def __init__(self, ids: Sequence[int], text_of: TextOf) -> None:
        self._ids, self._text_of = ids, text_of
        self._known: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._ids) + 1

    def __getitem__(self, count: int) -> int:  # type: ignore[override]  # bisect asks for single places
        if count not in self._known:
            self._known[count] = len(self._text_of(self._ids[:count]))
        return self._known[count]
