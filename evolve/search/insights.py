"""Insights: what a run has learnt, in a short text of which each version is an event."""

from dataclasses import replace

from evolve.change_events import InsightsWritten
from evolve.configuration import InsightsConfig
from evolve.configuration.checks import MAX_PLAIN_CHARACTERS, plain_text
from evolve.errors import ConfigurationError
from evolve.identity import insights_id
from evolve.proposal import Charge, CompletedReply

_EDITED = 2  # of the run's own versions, those that a person may just have edited
FACTS, ANALYST, PERSON, EARLIER_RUN = "facts", "analyst", "person", "earlier_run"
MAX_INSIGHTS_CHARACTERS = MAX_PLAIN_CHARACTERS
MAX_KEPT_CHARACTERS = MAX_INSIGHTS_CHARACTERS // 2
PURPOSE = "insights"
_OF_PEOPLE = frozenset({PERSON, EARLIER_RUN})


class Insights:
    """The insights of a run, as its events tell them.

    Attributes:
        versions: all of them, by id, in order.
        standing: the version that stands in prompts; None: none does.
        kept: lines that people or an earlier run wrote, which the run's own versions repeat.
        owed: what the analyst took, and no completion has paid yet.
        evaluations: those at which the run wrote its last version.
    """

    def __init__(self, config: InsightsConfig) -> None:
        self._every = config.every
        self.evaluations = 0
        self.versions: dict[str, InsightsWritten] = {}
        self.standing: InsightsWritten | None = None
        self.kept = ""
        self.owed: tuple[Charge, ...] = ()

    @property
    def text(self) -> str:
        """The text that stands in prompts; empty: none does."""
        return self.standing.text if self.standing else ""

    def due(self, evaluations: int) -> bool:
        """Whether the run is to write the next version, after so many evaluations.

        It is at each multiple of the interval, so a version that came late does not delay those after it.
        """
        return self._every > 0 and evaluations // self._every > self.evaluations // self._every

    def write(self, written: InsightsWritten) -> None:
        """Let a version stand in place of the one before it."""
        before, text = self.text, written.text
        self.versions[written.change_id] = written
        self.standing = written if text else None
        self.owed += written.charges
        if written.source not in _OF_PEOPLE:
            self.evaluations = written.evaluations
        else:
            # A person may have edited the version before the one that stands, which came in the meantime.
            lately = [one.text for one in self.versions.values() if one.source not in _OF_PEOPLE][-_EDITED:]
            own = {line for text_of_run in (before, *lately) for line in text_of_run.splitlines()}
            own -= set(self.kept.splitlines())
            lines = [line for line in text.splitlines() if line not in own]
            self.kept = _whole_lines("\n".join(lines), MAX_KEPT_CHARACTERS)

    def bill(self, completed: CompletedReply) -> CompletedReply:
        """A completion that also pays what the analyst took."""
        return replace(completed, charges=(*completed.charges, *self.owed)) if self.owed else completed


def check_analyst(config: InsightsConfig, analyst: str | None) -> None:
    """Refuse an analyst that nobody asks.

    Args:
        config: of the run's insights.
        analyst: its name; None: the run has none.

    Raises:
        ConfigurationError: the run writes no insights.
    """
    if analyst is not None and not config.every:
        raise ConfigurationError(
            f"the policy {analyst} is an analyst, and the run writes no insights: set insights.every, or leave it out"
        )


def first_insights(run_id: str, text: str) -> list[InsightsWritten]:
    """The version that a run begins with; none where its configuration has no text."""
    if not text.strip():
        return []
    change_id = insights_id(run_id, 1)
    return [InsightsWritten(change_id=change_id, by="", text=text.strip(), source=EARLIER_RUN, evaluations=0)]


def joined_text(kept: str, text: str) -> str:
    """A version that the run writes: what it keeps of people, then what it found, as far as there is room."""
    return _whole_lines("\n".join(filter(None, [kept, text])), MAX_INSIGHTS_CHARACTERS)


def check_insights(text: str) -> None:
    """Check a version that a person wrote.

    Raises:
        ConfigurationError: it is too long, or holds control characters.
    """
    plain_text("insights", text, MAX_INSIGHTS_CHARACTERS)


def _whole_lines(text: str, maximum: int) -> str:
    if len(text) <= maximum:
        return text
    return text[: maximum + 1].rpartition("\n")[0] or text[:maximum]
