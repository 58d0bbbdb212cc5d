"""Hints: what a person suggests to a run that is at work."""

from dataclasses import dataclass

from evolve.change_events import HintGiven
from evolve.configuration.checks import plain_text
from evolve.errors import ConfigurationError

MAX_HINT_CHARACTERS, MAX_HINT_PROPOSALS = 2000, 10_000


@dataclass(slots=True, kw_only=True)
class StandingHint:
    """A hint that is not used up; `left`: for how many proposals more."""

    change: HintGiven
    left: int


class Hints:
    """The hints of a run, as its events tell them.

    Attributes:
        given: all of them, by id.
        standing: those that stand in prompts, by their island; None: of all islands.
    """

    def __init__(self) -> None:
        self.given: dict[str, HintGiven] = {}
        self.standing: dict[int | None, StandingHint] = {}

    def give(self, hint: HintGiven) -> None:
        """Let a hint stand in place of any other of its island, or of all islands; an empty text ends these."""
        self.given[hint.change_id] = hint
        if hint.island is None:
            self.standing.clear()
        self.standing.pop(hint.island, None)
        if hint.text and hint.proposals:
            self.standing[hint.island] = StandingHint(change=hint, left=hint.proposals)

    def of(self, island: int) -> HintGiven | None:
        """The hint in the next prompt of an island: its own before that of all islands; None: neither stands."""
        standing = self.standing.get(island) or self.standing.get(None)
        return standing.change if standing else None

    def use(self, hint_id: str) -> None:
        """Count a proposal whose prompt holds a hint; empty: it holds none.

        Raises:
            KeyError: that hint does not stand.
        """
        if not hint_id:
            return
        standing = self.standing.get(self.given[hint_id].island)
        if standing is None or standing.change.change_id != hint_id:
            raise KeyError(hint_id)
        standing.left -= 1
        if not standing.left:
            del self.standing[standing.change.island]


def check_hint(text: str, proposals: int, island: int | None, islands: int) -> None:
    """Check a hint; an empty text ends the one that stands.

    Args:
        text: of the hint.
        proposals: for how many it stands.
        island: whose proposals it is for; None: those of all.
        islands: how many the run has.

    Raises:
        ConfigurationError: it is too long, holds control characters, stands for no number of proposals, or is for an
            island that the run does not have.
    """
    plain_text("a hint", text, MAX_HINT_CHARACTERS)
    if not 1 <= proposals <= MAX_HINT_PROPOSALS:
        raise ConfigurationError(f"a hint stands for 1 to {MAX_HINT_PROPOSALS} proposals, not {proposals}")
    if island is not None and not 0 <= island < islands:
        raise ConfigurationError(f"the run has no island {island}: its islands are 0 to {islands - 1}")
