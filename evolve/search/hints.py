"""Hints: what a person suggests to a run that is at work."""

from evolve.change_events import HintGiven
from evolve.configuration.checks import plain_text
from evolve.errors import ConfigurationError

MAX_HINT_CHARACTERS, MAX_HINT_PROPOSALS = 2000, 10_000


class Hints:
    """The hints of a run, as its events tell them.

    Attributes:
        given: all of them, by id.
        standing: the one that stands in prompts; None: none does.
        left: for how many proposals more.
    """

    def __init__(self) -> None:
        self.given: dict[str, HintGiven] = {}
        self.standing: HintGiven | None = None
        self.left = 0

    def give(self, hint: HintGiven) -> None:
        """Let a hint stand in place of any other; an empty text ends that."""
        self.given[hint.change_id] = hint
        self.left = hint.proposals if hint.text else 0
        self.standing = hint if self.left else None

    def use(self, hint_id: str) -> None:
        """Count a proposal whose prompt holds a hint; empty: it holds none.

        Raises:
            KeyError: that hint does not stand.
        """
        if not hint_id:
            return
        if self.standing is None or self.standing.change_id != hint_id:
            raise KeyError(hint_id)
        self.left -= 1
        if not self.left:
            self.standing = None


def check_hint(text: str, proposals: int) -> None:
    """Check a hint; an empty text ends the one that stands.

    Raises:
        ConfigurationError: it is too long, holds control characters, or stands for no number of proposals.
    """
    plain_text("a hint", text, MAX_HINT_CHARACTERS)
    if not 1 <= proposals <= MAX_HINT_PROPOSALS:
        raise ConfigurationError(f"a hint stands for 1 to {MAX_HINT_PROPOSALS} proposals, not {proposals}")
