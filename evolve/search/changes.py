"""What people changed of a run at work, as a fold of its events."""

from evolve.change_events import ChangeData, HintGiven
from evolve.search.hints import Hints

MANUAL = "manual"  # the operator of a candidate that a person brought


class Changes:
    """What people changed of a run.

    Attributes:
        made: ids of all changes.
        hints: the hints among them.
        manual: numbers of the proposals that hold programs of people.
    """

    def __init__(self) -> None:
        self.made: set[str] = set()
        self.hints = Hints()
        self.manual: set[int] = set()

    def make(self, change: ChangeData) -> None:
        """Take note of a change."""
        self.made.add(change.change_id)
        if isinstance(change, HintGiven):
            self.hints.give(change)
