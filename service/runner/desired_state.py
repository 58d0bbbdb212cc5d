"""Orders: what is wanted of a run while it is driven."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from typing import Any

from evolve.change_events import RequestedChange
from service.ports import CANCELLED, PAUSED, Intent


class DesiredState(StrEnum):
    """What shall become of a run; `left`: this process lets go of it, and another may go on at once."""

    RUNNING = "running"
    PAUSED = "paused"
    CANCELLED = "cancelled"
    LEFT = "left"


class RunOrders:
    """What is wanted of a run, given by whoever holds them to the loop that drives it.

    To be called in the thread of that loop, which hears of every change at once.
    """

    def __init__(self) -> None:
        self._intent = Intent()
        self._leaving = False
        self._taken: dict[str, Any] = {}
        self._made: set[str] = set()
        self._changed = asyncio.Event()

    @property
    def desired(self) -> DesiredState:
        """What shall become of the run; leaving comes before everything, for the next runner finds the rest."""
        if self._leaving:
            return DesiredState.LEFT
        return {PAUSED: DesiredState.PAUSED, CANCELLED: DesiredState.CANCELLED}.get(
            self._intent.desired_state, DesiredState.RUNNING
        )

    @property
    def by(self) -> str:
        """Who wanted it last."""
        return self._intent.by

    def want(self, intent: Intent) -> None:
        """Take in what people want now, in place of what they wanted before."""
        if intent == self._intent:
            return
        self._intent = intent
        self._taken = {key: value for key, value in self._taken.items() if key in intent.budget}
        self._changed.set()

    def pause(self, by: str) -> None:
        """Want the run paused."""
        self.want(replace(self._intent, desired_state=PAUSED, by=by))

    def leave(self) -> None:
        """Want this process to let go of the run as it stands; it is neither paused nor ended by that."""
        self._leaving = True
        self._changed.set()

    def take_budget(self) -> Mapping[str, Any]:
        """Wanted values of the budget's keys that were not taken yet, each handed out once."""
        fresh = {
            key: value
            for key, value in self._intent.budget.items()
            if key not in self._taken or self._taken[key] != value
        }
        self._taken |= fresh
        return fresh

    def take_changes(self) -> Sequence[RequestedChange]:
        """The wanted changes that were not taken yet, each handed out once, the oldest first."""
        fresh = [change for change in self._intent.changes if change.data.change_id not in self._made]
        self._made |= {change.data.change_id for change in fresh}
        return fresh

    async def changed(self) -> None:
        """Wait for the next change; what changed since the last call counts."""
        await self._changed.wait()
        self._changed.clear()
