"""Whether there is anything to learn from: rewards that differ, before reinforcement learning and while it runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from training.adapter_files import Report
from training.errors import NothingToLearnError
from training.records import Records

PATIENCE = 5  # updates without any difference, after which there will be none
_CURE = "Run evolve train sft first, to teach the model the requested form, or add --keep-going to train anyway."


def check_signals(read: Sequence[Records]) -> None:
    """Check the rewards of the model's answers in the records of one or several problems.

    Raises:
        NothingToLearnError: of no problem, two scored answers differ in their rewards.
    """
    if any(len(np.unique(records.rewards, axis=0)) > 1 for records in read):
        return
    count, asked = sum(len(records.rewards) for records in read), sum(records.prompts for records in read)
    scored = "1 scored answer" if count == 1 else f"{count} scored answers"
    worth = ", all with the same rewards" if count > 1 else ""
    prompts = "1 prompt" if asked == 1 else f"{asked} prompts"
    raise NothingToLearnError(f"The records hold nothing to learn from: {prompts} and {scored}{worth}. {_CURE}")


class SignalWatch:
    """Passes updates on, and ends a training whose first updates all had groups of equal rewards."""

    def __init__(self, report: Report, *, stops: bool) -> None:
        """Report to `report`. If `stops` is false, it only reports."""
        self._report = report
        self._watching = stops
        self._seen: list[Mapping[str, Any]] = []

    def __call__(self, line: Mapping[str, Any]) -> None:
        """Take the log line of an update. Others are passed on.

        Raises:
            NothingToLearnError: it is the last of so many without a difference.
        """
        self._report(line)
        if self._watching and "group_std" in line:
            self._seen.append(line)
            self._watching = line.get("group_std") == 0.0
            if len(self._seen) == PATIENCE:
                self.close()

    def close(self) -> None:
        """End the training.

        Raises:
            NothingToLearnError: no update had different rewards, so the adapter did not change.
        """
        if not self._watching or not self._seen:
            return
        mean = {name: np.mean([line.get(name, 0.0) for line in self._seen]) for name in ("set_reward", "unread")}
        count = len(self._seen)
        updates = "The first update" if count == 1 else f"The first {count} updates"
        raise NothingToLearnError(
            f"{updates} had nothing to learn from: set_reward {mean['set_reward']:.3f}, group_std 0.000, unread"
            f" {mean['unread']:.3f}. {_CURE}"
        )
