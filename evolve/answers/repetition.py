"""Repetition loops: a completion that only says the same again, found while it is being written."""

MIN_CHARACTERS = 3_000
MIN_REPEATS = 20
_MAX_PERIOD = MIN_CHARACTERS // MIN_REPEATS
# A look takes microseconds: nothing beside the characters between two looks.
_LOOK_EVERY = 512


class RepetitionDetector:
    """Detects that the end of a text repeats a piece for `MIN_CHARACTERS`, at least `MIN_REPEATS` times.

    Small models fall into such loops and leave them only at the token limit. Only exact repetition counts. A long table
    of numbers is not a repetition unless all its rows are equal.
    """

    def __init__(self) -> None:
        self._tail = ""
        self._pieces: list[str] = []
        self._unseen = 0

    def feed(self, text: str) -> bool:
        """Take the next piece of the text. Returns whether the text repeats itself now."""
        self._pieces.append(text)
        self._unseen += len(text)
        if self._unseen < _LOOK_EVERY:
            return False
        self._tail = "".join([self._tail, *self._pieces])[-MIN_CHARACTERS:]
        self._pieces.clear()
        self._unseen = 0
        return len(self._tail) == MIN_CHARACTERS and repeats(self._tail)


def repeats(tail: str) -> bool:
    """Whether a text consists of a repeated piece of at most a twentieth of its length."""
    # The end of the text stands one period before, where it has one: only that period is tried.
    end = tail[-_MAX_PERIOD:]
    before = tail.rfind(end, 0, len(tail) - 1)
    period = len(tail) - len(end) - before
    return before >= 0 and period <= _MAX_PERIOD and tail[:-period] == tail[period:]
