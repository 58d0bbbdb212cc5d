"""Has the policy of a run trained while it is driven, and opens the versions that come of it."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import structlog

from evolve.change_events import PolicyUpdated
from evolve.configuration import RunConfig
from evolve.errors import ConfigurationError
from evolve.identity import update_id
from evolve.search.dispatcher import Dispatcher
from evolve.search.learning import DueUpdate
from evolve.search.state import SearchState
from service.errors import ServiceError, StorageAwayError, UnreachableError
from service.ports import Clock, RunTrainer, RunVersions, UpdateOrder, UpdateResult
from service.runner.storage_retry import StorageRetry

POLL_SECONDS = 0.5
UNLOAD_SECONDS = 10.0
RELOAD_SECONDS = 30.0
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
        versions: loads, opens and unloads versions.
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
        versions: RunVersions | None,
        retry: StorageRetry,
        clock: Clock,
        wake: Callable[[], None],
    ) -> None:
        if config.learning.every and (trainer is None or versions is None):
            raise ConfigurationError("learning.every needs a run that is stored, with a policy that can be trained")
        self._run_id, self._config, self._start = run_id, config, start
        self._state, self._dispatcher = state, dispatcher
        self._trainer, self._versions = trainer, versions
        self._retry, self._clock, self._wake = retry, clock, wake
        self._task: asyncio.Task[PolicyUpdated] | None = None
        self._due: tuple[DueUpdate, int] | None = None
        self._serving: asyncio.Task[None] | None = None  # loads or unloads a version
        self._reload_at = 0.0
        self._retired: set[str] = set()
        self._made = UpdateResult()
        self._job, self.waiting = "", ""

    async def reopen(self) -> None:
        """Open the versions of earlier sittings that may still be asked.

        One that its server does not load is away, as any policy that cannot be asked.

        Raises:
            NotFoundError, StorageError, UsageError: one of them is not there any more.
        """
        needed = self._needed
        for update in self._state.changes.learning.versions:
            if update.policy not in needed:
                continue
            try:
                await self._run_versions.load(update.policy, update.model)
            except UnreachableError as error:
                _log.warning("version.unloaded", run_id=self._run_id, version=update.policy, reason=str(error))
            await self._add(update.policy, update.model)

    @property
    def _run_versions(self) -> RunVersions:
        assert self._versions is not None, "checked when this was made"
        return self._versions

    @property
    def _needed(self) -> set[str]:
        """The versions that are asked, or have been and have not answered."""
        learning = self._state.changes.learning
        open_ones = {entry.created.policy for entry in self._state.open.values()}
        return open_ones | {update.policy for update in learning.asked}

    def turn(self, *, written: int, committed: int) -> PolicyUpdated | None:
        """The next update, once it has ended; begins one that is due, once storage has the answers it is made from.

        Args:
            written: sequence of the run's last event.
            committed: sequence of the last event that storage has.
        """
        self._serve()
        if self._task is not None:
            if not self._task.done():
                return None
            task, self._task = self._task, None
            self._job = self.waiting = ""
            return task.result()
        state = self._state
        if self._due is None and self._settled(written, committed):
            due = state.changes.learning.next(state.asked, state.open, state.pending)
            self._due = None if due is None else (due, written)
        if self._due is not None and committed >= self._due[1]:
            self._task = asyncio.create_task(self._update(self._due[0]))
            self._task.add_done_callback(lambda _: self._wake())
            self._due = None
        return None

    def _settled(self, written: int, committed: int) -> bool:
        """Whether a batch may be cut now: in a fixed order where nothing is under way to storage, else always."""
        return not self._config.deterministic.window or written == committed

    def _serve(self) -> None:
        """Begin to unload a version that is not asked any more, or to load again those that are away."""
        if self._serving is not None and not self._serving.done():
            return
        learning = self._state.changes.learning
        if len(learning.versions) > len(learning.asked) + len(self._retired):
            needed = self._needed
            for update in learning.versions:
                if update.policy not in needed and update.policy not in self._retired:
                    self._dispatcher.remove(update.policy)
                    self._serving = asyncio.create_task(self._unload(update.policy, update.model))
                    return
        away = [update for update in learning.asked if update.policy in self._dispatcher.away]
        if away and self._clock.monotonic() >= self._reload_at:
            self._reload_at = self._clock.monotonic() + RELOAD_SECONDS
            self._serving = asyncio.create_task(self._reload(away))

    async def _reload(self, updates: Sequence[PolicyUpdated]) -> None:
        """Have versions loaded that were: a server that has started again does not know them."""
        for update in updates:
            try:
                await self._run_versions.load(update.policy, update.model)
            except ServiceError as error:
                _log.warning("version.unloaded", run_id=self._run_id, version=update.policy, reason=str(error))

    async def _unload(self, policy: str, model: str) -> None:
        try:
            async with asyncio.timeout(UNLOAD_SECONDS):
                await self._run_versions.unload(policy, model)
        except (ServiceError, TimeoutError) as error:  # it takes room, and is not asked
            _log.warning("version.loaded", run_id=self._run_id, version=policy, reason=str(error))
        self._retired.add(policy)

    async def cancel(self, *, ended: bool = False) -> None:
        """Let go of an update that is under way. Its job goes on, unless the run has ended.

        Args:
            ended: unload all versions but the newest, too: nobody asks them.
        """
        await self._cancel_update(ended=ended)
        if self._serving is not None:
            self._serving.cancel()
            await asyncio.wait([self._serving])
        if ended:
            versions = {update.policy: update.model for update in self._state.changes.learning.versions}
            left = dict([*versions.items()][:-1])
            if self._made.policy and self._made.policy not in versions:  # its update was not recorded
                left[self._made.policy] = self._made.model
            await asyncio.gather(*(self._unload(*one) for one in left.items() if one[0] not in self._retired))

    async def _cancel_update(self, *, ended: bool) -> None:
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
                self._made = found
                await self._run_versions.load(found.policy, found.model)
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
        self._dispatcher.add(await self._run_versions.open(policy, model))
