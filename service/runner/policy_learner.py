"""Has the policy of a run trained while it is driven, and opens the versions that come of it."""

import asyncio
from collections.abc import Callable
from functools import partial

import structlog

from evolve.change_events import PolicyUpdated
from evolve.configuration import RunConfig
from evolve.errors import ConfigurationError
from evolve.identity import update_id
from evolve.search.dispatcher import Dispatcher
from evolve.search.learning import DueUpdate
from evolve.search.state import SearchState
from service.errors import ServiceError, StorageAwayError
from service.ports import Clock, OpenVersion, RunTrainer, UpdateOrder, UpdateResult
from service.runner.storage_retry import StorageRetry

POLL_SECONDS = 0.5
PATIENCE_SECONDS = 5.0  # trainers look for jobs every second
WAITING = "an update of the policy waits for a trainer: start one with evolve trainer"
_log = structlog.get_logger("runner")


class PolicyLearner:
    """Has one update at a time trained, beside the loop.

    The training is a job of a trainer. It goes on when this process ends, and whoever drives the run next finds it.

    Args:
        run_id: of the run.
        config: of the run.
        start: name of its policy.
        state: of the search.
        dispatcher: asks the versions.
        trainer: trains. None: nobody does.
        open_version: opens a version.
        retry: with which storage is asked.
        clock: measures updates.
        wake: is called when an update has ended.

    Raises:
        ConfigurationError: the configuration asks for updates, and nobody trains.
    """

    def __init__(
        self,
        run_id: str,
        config: RunConfig,
        start: str,
        *,
        state: SearchState,
        dispatcher: Dispatcher,
        trainer: RunTrainer | None,
        open_version: OpenVersion | None,
        retry: StorageRetry,
        clock: Clock,
        wake: Callable[[], None],
    ) -> None:
        if config.learning.every and (trainer is None or open_version is None):
            raise ConfigurationError("learning.every needs a run that is stored, with a policy that can be trained")
        self._run_id, self._config, self._start = run_id, config, start
        self._state, self._dispatcher = state, dispatcher
        self._trainer, self._open = trainer, open_version
        self._retry, self._clock, self._wake = retry, clock, wake
        self._task: asyncio.Task[PolicyUpdated] | None = None
        self._due: tuple[DueUpdate, int] | None = None
        self._job, self.waiting = "", ""

    async def reopen(self) -> None:
        """Open the versions of earlier sittings that may still be asked.

        Raises:
            NotFoundError, StorageError, UsageError: one of them is not there any more.
        """
        learning = self._state.changes.learning
        needed = {entry.created.policy for entry in self._state.open.values()}
        needed |= {update.policy for update in learning.asked}
        for update in learning.versions:
            if update.policy in needed:
                await self._add(update.policy, update.model)

    def turn(self, *, written: int, committed: int) -> PolicyUpdated | None:
        """The next update, once it has ended; begins one that is due, once storage has the answers it is made from.

        Args:
            written: sequence of the run's last event.
            committed: sequence of the last event that storage has.
        """
        if self._task is not None:
            if not self._task.done():
                return None
            task, self._task = self._task, None
            self._job = self.waiting = ""
            return task.result()
        if self._due is None and self._state.changes.learning.due and self._settled(written, committed):
            unfinished = [*self._state.open, *(one.proposal_number for one in self._state.pending.values())]
            self._due = self._state.changes.learning.next(self._state.asked, unfinished), written
        if self._due is not None and committed >= self._due[1]:
            self._task = asyncio.create_task(self._update(self._due[0]))
            self._task.add_done_callback(lambda _: self._wake())
            self._due = None
        return None

    def _settled(self, written: int, committed: int) -> bool:
        """Whether a batch may be cut now: in a fixed order where nothing is under way to storage, else always."""
        return not self._config.deterministic.window or written == committed

    async def cancel(self, *, ended: bool = False) -> None:
        """Let go of an update that is under way. Its job goes on, unless the run has ended."""
        task, self._task = self._task, None
        if task is None:
            return
        task.cancel()
        await asyncio.wait([task])
        if ended and self._job and self._trainer is not None:
            try:
                await self._retry.call(partial(self._trainer.cancel, self._job))
            except ServiceError as error:  # it has ended by itself, or trains in vain
                _log.info("update.uncancelled", run_id=self._run_id, reason=str(error))

    async def _update(self, due: DueUpdate) -> PolicyUpdated:
        began = self._clock.monotonic()
        try:
            found = await self._trained(due)
            if found.policy:
                await self._add(found.policy, found.model)
        except StorageAwayError:
            raise
        except ServiceError as error:  # the run goes on without this version
            found = UpdateResult(reason=" ".join(str(error).split()))
        if found.reason:
            _log.warning("update.failed", run_id=self._run_id, number=due.number, reason=found.reason)
        return PolicyUpdated(
            change_id=update_id(self._run_id, due.number),
            by="",
            number=due.number,
            policy=found.policy,
            start=self._start,
            base=due.newest or self._start,
            answered=due.answered,
            through=due.through,
            model=found.model,
            job=self._job,
            figures=found.figures,
            seconds=round(self._clock.monotonic() - began, 3),
            reason=found.reason,
        )

    async def _trained(self, due: DueUpdate) -> UpdateResult:
        """Have an update trained, and wait for its end."""
        assert self._trainer is not None, "checked when this was made"
        learning = self._config.learning
        settings = {
            "objective": learning.objective,
            "k": due.k,
            "rate": learning.rate,
            "divergence": learning.divergence,
            "replay": learning.replay,
            "seed": self._config.seed,
        }
        order = UpdateOrder(
            number=due.number, newest=due.newest, after=due.after, through=due.through, settings=settings
        )
        began = self._clock.monotonic()
        self._job = await self._retry.call(partial(self._trainer.submit, order))
        while (found := await self._retry.call(partial(self._trainer.result, self._job))) is None:
            late = self._clock.monotonic() - began > PATIENCE_SECONDS and self._config.deterministic.window
            waits = bool(late) and await self._retry.call(partial(self._trainer.waits, self._job))
            self.waiting = WAITING if waits else ""
            await asyncio.sleep(POLL_SECONDS)
        return found

    async def _add(self, policy: str, model: str) -> None:
        assert self._open is not None, "checked when this was made"
        self._dispatcher.add(await self._open(policy, model))
