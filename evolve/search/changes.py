"""What was changed of a run at work beside its search, as a fold of its events."""

from evolve.change_events import ChangeData, HintGiven, InsightsWritten
from evolve.configuration import InsightsConfig
from evolve.search.hints import Hints
from evolve.search.insights import Insights

MANUAL = "manual"  # the operator of a candidate that a person brought


class Changes:
    """What was changed of a run.

    Attributes:
        made: ids of all changes.
        hints: the hints among them.
        insights: the versions of its insights.
        manual: numbers of the proposals that hold programs of people.
    """

    def __init__(self, insights: InsightsConfig | None = None) -> None:
        self.made: set[str] = set()
        self.hints = Hints()
        self.insights = Insights(insights or InsightsConfig())
        self.manual: set[int] = set()

    def make(self, change: ChangeData) -> None:
        """Take note of a change."""
        self.made.add(change.change_id)
        if isinstance(change, HintGiven):
            self.hints.give(change)
        if isinstance(change, InsightsWritten):
            self.insights.write(change)
