"""Learning within a run: when its policy is to be updated, and which versions of it are asked."""

from collections.abc import Collection
from dataclasses import dataclass

from evolve.change_events import PolicyUpdated
from evolve.configuration.learning import LearningConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class DueUpdate:
    """An update that is due.

    Attributes:
        number: from 1.
        newest: the version to train on; empty: the policy of the start.
        answered: proposals answered by now.
        after, through: its batch are the answered proposals behind the first number, up to the second.
        k: of its objective.
    """

    number: int
    newest: str
    answered: int
    after: int
    through: int
    k: int


class Learning:
    """The updates of a run's policy, as its events tell them.

    Attributes:
        answered: proposals that policies answered.
        updates: all of them, in order, those without a version among them.
    """

    def __init__(self, config: LearningConfig) -> None:
        self._config = config
        self.answered = 0
        self.updates: list[PolicyUpdated] = []

    @property
    def due(self) -> bool:
        """Whether the next update is to be made."""
        if not self._config.every or len(self.updates) >= self._config.updates:
            return False
        last = self.updates[-1].answered if self.updates else 0
        return self.answered >= max(self._config.after, last + self._config.every)

    @property
    def versions(self) -> list[PolicyUpdated]:
        """The updates that made a version, in order."""
        return [update for update in self.updates if update.policy]

    @property
    def asked(self) -> list[PolicyUpdated]:
        """The versions that are asked."""
        return self.versions[-self._config.versions :]

    def next(self, asked: int, unfinished: Collection[int]) -> DueUpdate:
        """The next update.

        Args:
            asked: number of the latest proposal.
            unfinished: numbers of proposals that await answers or evaluations.
        """
        number = len(self.updates) + 1
        return DueUpdate(
            number=number,
            newest=self.versions[-1].policy if self.versions else "",
            answered=self.answered,
            after=self.updates[-1].through if self.updates else 0,
            through=min(unfinished, default=asked + 1) - 1,
            k=self._config.k_of(number),
        )
