"""What was changed of a run at work beside its search, as a fold of its events."""

from collections.abc import Callable

from evolve.change_events import (
    ChangeData,
    HintGiven,
    InsightsWritten,
    PolicyUpdated,
    PriorityGiven,
    PriorityLifted,
    SettingsChanged,
)
from evolve.configuration import InsightsConfig, LearningConfig
from evolve.event_types import ProposalCreated
from evolve.proposal import Individual
from evolve.search.hints import Hints
from evolve.search.insights import Insights
from evolve.search.learning import Learning
from evolve.search.priorities import Priorities

MANUAL = "manual"  # the operator of a candidate that a person brought


class Changes:
    """What was changed of a run.

    Attributes:
        made: ids of all changes.
        hints: the hints among them.
        priorities: of candidates.
        insights: the versions of its insights.
        learning: the updates of its policy.
        manual: numbers of the proposals that hold programs of people.
        settings: what was changed of its configuration, in order.
        budget: values that keys of its budget were given, by key.
    """

    def __init__(self, insights: InsightsConfig | None = None, learning: LearningConfig | None = None) -> None:
        self.made: set[str] = set()
        self.hints, self.priorities = Hints(), Priorities()
        self.insights = Insights(insights or InsightsConfig())
        self.learning = Learning(learning or LearningConfig())
        self.manual: set[int] = set()
        self.settings: list[SettingsChanged] = []
        self.budget: dict[str, float | str | None] = {}

    def make(self, change: ChangeData, individual: Callable[[str], Individual]) -> None:
        """Take note of a change.

        Args:
            change: the change.
            individual: gives the individual of a candidate that it names.

        Raises:
            KeyError: it lifts what does not stand.
        """
        self.made.add(change.change_id)
        if isinstance(change, SettingsChanged):
            self.settings.append(change)
        if isinstance(change, HintGiven):
            self.hints.give(change)
        if isinstance(change, InsightsWritten):
            self.insights.write(change)
        if isinstance(change, PolicyUpdated):
            self.learning.update(change)
        if isinstance(change, PriorityGiven):
            self.priorities.give(change, individual(change.candidate_id))
        if isinstance(change, PriorityLifted):
            self.priorities.lift(change.candidate_id)

    def use(self, created: ProposalCreated) -> None:
        """Count a proposal that has a hint, or starts from a candidate with a priority.

        Raises:
            KeyError: one of them does not stand.
        """
        self.hints.use(created.hint)
        self.priorities.use(created.priority)
