"""Closing: what a run found is examined before it ends, on what was held out and under other seeds."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing

from evolve.configuration import RunConfig
from evolve.events import Event
from evolve.ports import Evaluator
from evolve.problem import Problem
from evolve.search.holdout_audit import AuditPlan, closing_event, examine
from evolve.search.state import SearchState
from service.ports import RunLog
from service.runner.storage_retry import undisturbed


class RunExaminations:
    """The examinations at the end of one run.

    Args:
        write: takes events for the log.

    Attributes:
        done: what of them the run's events tell.
    """

    def __init__(
        self,
        run_id: str,
        problem: Problem,
        config: RunConfig,
        evaluator: Evaluator,
        log: RunLog,
        write: Callable[[Sequence[Event]], None],
    ) -> None:
        self.done = AuditPlan()
        self._run_id, self._problem, self._config = run_id, problem, config
        self._evaluator, self._log, self._write = evaluator, log, write

    @property
    def left(self) -> int:
        """Examinations under way, or on their way."""
        return len(self.done.due)

    @property
    def waiting(self) -> str:
        """Why they cannot go on at present; empty: they can, or there are none."""
        return self._evaluator.waiting if self.left else ""

    def plan(self, reason: str, state: SearchState) -> None:
        """Decide what is examined, unless that was decided before."""
        if self.done.reason:
            return
        members = [member for island in state.islands for member in island.archive.members]
        plan = closing_event(self._problem, reason, state.best, members, state.seeds)
        if plan is not None:
            self._tell(Event(plan))

    async def work(self) -> None:
        """Do what is due; every result is written as it comes."""
        due = self.done.due
        ids = list(dict.fromkeys(one.candidate_id for one in due))
        found = await undisturbed(lambda: self._log.candidates(self._run_id, ids))
        programs = {candidate.id: candidate.program for candidate in found}
        maximum = self._config.concurrency.evaluations
        async with aclosing(examine(self._problem, due, programs, self._evaluator, maximum)) as results:
            async for event in results:
                self._tell(event)

    def _tell(self, event: Event) -> None:
        self.done.apply(event)
        self._write([event])


async def ended(task: "asyncio.Task[None]") -> None:
    """End a task, and raise what it failed by."""
    task.cancel()
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
