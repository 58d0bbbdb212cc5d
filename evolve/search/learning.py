"""Learning within a run: when its policy is to be updated, and which versions of it are asked."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from evolve.change_events import PolicyUpdated
from evolve.configuration.learning import LearningConfig
from evolve.proposal import Candidate


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
        answered: how many proposals policies answered.
        unlearnt: numbers of those that no update had in its batch, in the order of the answers.
        updates: all of them, in order, those without a version among them.
    """

    def __init__(self, config: LearningConfig) -> None:
        self._config = config
        self.answered = 0
        self.unlearnt: list[int] = []
        self.updates: list[PolicyUpdated] = []

    @property
    def due(self) -> bool:
        """Whether there are answers enough for the next update."""
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

    def answer(self, number: int) -> None:
        """Take note that a policy answered a proposal."""
        self.answered += 1
        if self._config.every:
            self.unlearnt.append(number)

    def update(self, made: PolicyUpdated) -> None:
        """Take note of an update."""
        self.updates.append(made)
        self.unlearnt = [number for number in self.unlearnt if number > made.through]

    def next(self, asked: int, unanswered: Collection[int], pending: Mapping[str, Candidate]) -> DueUpdate | None:
        """The next update. None: it is not due, or waits, because nothing that it could learn from is finished.

        Args:
            asked: number of the latest proposal.
            unanswered: numbers of proposals that await answers.
            pending: candidates that await evaluations, by id.
        """
        if not self.due:
            return None
        unfinished = [*unanswered, *(candidate.proposal_number for candidate in pending.values())]
        number = len(self.updates) + 1
        after, through = self.updates[-1].through if self.updates else 0, min(unfinished, default=asked + 1) - 1
        if not any(answered <= through for answered in self.unlearnt):
            return None
        return DueUpdate(
            number=number,
            newest=self.versions[-1].policy if self.versions else "",
            answered=self.answered,
            after=after,
            through=through,
            k=self._config.k_of(number),
        )
