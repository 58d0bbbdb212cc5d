"""Scores programs in the sandbox: the service's evaluator for runs on this machine."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from time import monotonic
from typing import Any, cast

from evolve.evaluation import PLAIN, Evaluation, ScoringRequest, fitness
from evolve.problem import Integrity, Problem
from evolve.program import Program
from evolve.statistics.repeats import enough
from service.errors import InvalidProblemError, NoRoomError, RefusedError
from service.ports import DeviceState
from service.sandbox import scratch, selftest
from service.sandbox.container_runtime import ContainerImage
from service.sandbox.device_monitor import DeviceMonitor
from service.sandbox.device_pool import DevicePool
from service.sandbox.folder import SandboxFolders, prepare
from service.sandbox.host import FolderGoneError, KeeperLine, SandboxError
from service.sandbox.keeper_pool import KeeperPool
from service.sandbox.keeper_task import scoring_task
from service.sandbox.layers import REACHABLE, IsolationLevel, Layer
from service.sandbox.reply import combine, read_drawing, read_reply
from service.sandbox.repository_base import SETUP_SECONDS, keep_setup, kept_setup, lay_setup, read_base

_TRIES = 2
_FINE = {"ok", "stage", "cancelled"}
_SPARE_SECONDS = 10.0


@dataclass(slots=True)
class _Slot:
    """One evaluation at a time. No keeper: the next evaluation makes one.

    Attributes:
        suspect: a keeper failed here; a known-good program must pass before the next evaluation.
    """

    number: int
    keeper: KeeperLine | None = None
    suspect: bool = False


class SandboxEvaluator:
    """Scores programs, each in process trees of its own; every way a program can fail is an outcome.

    Attributes:
        report: what the self-test found.
        image: of the container that everything runs in; None: no container.
    """

    def __init__(
        self,
        problem: Problem,
        places: SandboxFolders,
        slots: int,
        force: IsolationLevel,
        image: ContainerImage | None = None,
        devices: DevicePool | None = None,
    ) -> None:
        self._problem, self._places, self._slots, self.image = problem, places, slots, image
        self._devices, self._cells = devices, len(devices.devices) if devices else slots
        # In containers, each slot has its own: what a program does to the others of its container, it does to itself.
        pools = range(self._cells if image else 1)
        self._keeper_pools = [KeeperPool(problem, places, force, image, devices) for _ in pools]
        self._of_devices: dict[str, _Slot] = {}
        self._used: set[str] = set()
        self._free: asyncio.Queue[_Slot] = asyncio.Queue()
        self._inputs = self._held_out = ""
        self._base = read_base(places.problem, problem.bundle, problem.evaluator)
        self.report = selftest.Report(IsolationLevel.NONE, (), ())

    @property
    def slots(self) -> int:
        """Evaluations it runs at once."""
        return min(self._slots, self._cells)

    @property
    def has_devices(self) -> bool:
        """Whether each of its evaluations has a device to itself."""
        return self._devices is not None

    def device_states(self) -> Sequence[DeviceState]:
        """How the devices were found to be that its evaluations had, by now."""
        found = self._devices.monitor.states if self._devices else ()
        return [state for state in found if state.name in self._used]

    @property
    def waiting(self) -> str:
        """Nothing: it has its own processes."""
        return ""

    @property
    def folder(self) -> Path:
        """Where its files lie while it is open."""
        return self._places.base

    @property
    def level(self) -> IsolationLevel:
        """The level that the self-test found."""
        return self.report.level

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Every layer, on or off with its reason."""
        if self.image is None:
            return self.report.layers
        meaning = f"{self.image.runtime}, image {self.image.digest}: no capabilities, nothing of it can be written"
        return (Layer("container", True, meaning), *self.report.layers)

    @property
    def isolation(self) -> str:
        """Level and integrity, such as `strong/separate`; then the image, as `medium/separate/318ae1052b50`."""
        image = f"/{self.image.short_id}" if self.image else ""
        return f"{self.level}/{self._problem.evaluator.integrity}{image}"

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        """Score one program, as often as the problem says, or draw it; cancelling the call ends its processes.

        Raises:
            FolderGoneError: files of the sandbox were removed under it, so that nothing can be scored any more.
            NoRoomError: a program failed while the disk is full, which need not be its fault.
        """
        # What is held out is scored by the objectives alone: measures span a grid, which nothing of it enters.
        problem = replace(self._problem, measures=()) if scoring.holdout else self._problem
        async with self._slot() as slot:
            began = monotonic()
            if scoring.render:
                found = read_drawing(await self._ask(slot, self._task(program, evaluation_id, scoring, 0)))
            else:
                found = await self._scored(slot, problem, program, evaluation_id, scoring)
            return replace(found, seconds=monotonic() - began, isolation=self.isolation)

    async def _scored(
        self, slot: _Slot, problem: Problem, program: Program, evaluation_id: str, scoring: ScoringRequest
    ) -> Evaluation:
        """What comes of all repeats, after the warm-ups, of which only a failure counts."""
        for _ in range(problem.evaluator.warmups):
            reply = await self._ask(slot, self._task(program, evaluation_id, scoring, 0))
            warm = read_reply(reply, problem, traced=scoring.traced)
            if not warm.ok:
                return warm
        rounds: list[Evaluation] = []
        worth: list[float] = []
        while not enough(problem.evaluator, worth, scoring.early_stop_threshold):
            reply = await self._ask(slot, self._task(program, evaluation_id, scoring, len(rounds)))
            rounds.append(read_reply(reply, problem, traced=scoring.traced))
            value = fitness(problem, rounds[-1])
            if value is None:
                break
            worth.append(value)
        return combine(rounds)

    @asynccontextmanager
    async def _slot(self) -> AsyncIterator[_Slot]:
        """A slot for one task; of a problem with devices the slot of one that nobody else has."""
        if self._devices is not None:
            async with self._devices.take() as device:
                self._used.add(device.name)
                yield self._of_devices[device.name]
                await self._devices.monitor.measure(device)
            return
        slot = await self._free.get()
        try:
            yield slot
        finally:
            self._free.put_nowait(slot)

    async def start(self) -> None:
        """Start the processes and test the sandbox.

        Raises:
            InvalidProblemError: the interpreter cannot be used.
            SandboxError: the processes do not start.
        """
        pools = self._keeper_pools
        started = await asyncio.gather(*(self._start(pool, number) for number, pool in enumerate(pools)))
        slots = sorted((slot for some in started for slot in some), key=lambda slot: slot.number)
        for slot in slots:
            self._free.put_nowait(slot)
        if self._devices is not None:
            self._of_devices = {self._devices.devices[slot.number].name: slot for slot in slots}
        self.report = await selftest.judge(cast("KeeperLine", slots[0].keeper), pools[0], self._problem.limits)

    async def _start(self, pool: KeeperPool, first: int) -> list[_Slot]:
        """The slots of a pool, one after the other."""
        numbers = range(first, self._cells, len(self._keeper_pools))
        return [_Slot(number, await pool.keeper(number)) for number in numbers]

    async def compute_inputs(self) -> None:
        """Ask the evaluator for its inputs, and for those that it holds out, once.

        Raises:
            InvalidProblemError: the evaluator cannot give them.
        """
        spec = self._problem.evaluator
        if spec.integrity is Integrity.SHARED or spec.text:
            return
        self._inputs = self._held_out = await self._computed("inputs", self._places.inputs)
        if spec.holdout:
            self._held_out = await self._computed("holdout_inputs", self._places.held_out) or self._inputs

    async def set_up(self) -> None:
        """Run the setup of a repository, once for its commit, and keep what it leaves for every evaluation.

        Raises:
            InvalidProblemError: it fails.
        """
        if not self._base.setup:
            return
        result = await asyncio.to_thread(kept_setup, self._base.key)
        if result is None:
            result = await self._set_up()
            await asyncio.to_thread(keep_setup, self._base.key, result)
        await asyncio.to_thread(lay_setup, self._places.problem, result)

    async def _set_up(self) -> Mapping[str, Any]:
        task = {"id": "setup", "do": "setup", "seed": 0, "files": {}, "evaluator": self._problem.evaluator.file}
        async with self._slot() as slot:
            reply = await self._ask(slot, task | {"seconds": SETUP_SECONDS}, SETUP_SECONDS)
        result = reply.get("result")
        if reply["outcome"] != "ok" or not isinstance(result, Mapping) or "made" not in result:
            said = result.get("error") if isinstance(result, Mapping) else None
            raise InvalidProblemError([str(said or f"repository.setup: {reply.get('reason', 'it gave no result')}")])
        return result

    async def _computed(self, function: str, place: Path) -> str:
        """The file with what a function of the evaluator gives; empty where it has none."""
        task = {"id": function, "do": "inputs", "function": function, "seed": 0}
        async with self._slot() as slot:
            reply = await self._ask(slot, task | {"evaluator": self._problem.evaluator.file})
        if reply["outcome"] != "ok":
            raise InvalidProblemError([f"{function}(): {reply['reason']}"])
        if reply["result"] is None:
            return ""
        await asyncio.to_thread(self._places.keep_inputs, reply["result"], place)
        return str(place)

    async def close(self) -> None:
        """End every process and remove every file."""
        await asyncio.gather(*(pool.close() for pool in self._keeper_pools))
        if self._devices is not None:
            self._devices.close()
        await asyncio.to_thread(self._places.remove)

    async def _ask(self, slot: _Slot, task: Mapping[str, Any], seconds: float = 0.0) -> Mapping[str, Any]:
        """Have a task done; once more, by another keeper, when the sandbox fails. What fails must not fail for us."""
        timeout_seconds = 2 * (seconds or self._problem.limits.wall_seconds) + _SPARE_SECONDS
        complaint = ""
        for _ in range(_TRIES):
            try:
                keeper = await self._keeper(slot)
                reply = await keeper.ask(task, timeout_seconds)
                if reply["outcome"] not in _FINE:
                    await self._require_files()
                if reply["outcome"] != "lost":
                    return reply
                complaint = reply["reason"]
            except (FolderGoneError, NoRoomError):
                raise
            except (SandboxError, InvalidProblemError) as error:
                complaint = str(error)
            await self._bury(slot)
        return {"outcome": "lost", "reason": f"the sandbox was lost {_TRIES} times over it: {complaint}"}

    async def _keeper(self, slot: _Slot) -> KeeperLine:
        """The keeper of a slot, which is made when there is none, and tried after a failure.

        Raises:
            SandboxError: it does not start, or does not score a known-good program.
            FolderGoneError: files of the sandbox were removed.
        """
        if slot.keeper is not None and slot.keeper.gone:
            await self._bury(slot)
        if slot.keeper is None:
            await self._require_files()
            slot.keeper = await self._pool_of(slot).keeper(slot.number)
        if slot.suspect:
            await selftest.require_canary(slot.keeper)
            slot.suspect = False
        return slot.keeper

    async def _require_files(self) -> None:
        kept = [path for path in (self._inputs, self._held_out) if path]
        missing = await asyncio.to_thread(self._places.missing, *kept)
        if missing:
            raise FolderGoneError(
                f"somebody removed {missing} while the sandbox used it; keep cleaners out of it, and resume the run"
            )
        await asyncio.to_thread(scratch.require_room, self._places.base)

    async def _bury(self, slot: _Slot) -> None:
        keeper, slot.keeper, slot.suspect = slot.keeper, None, True
        if keeper is not None:
            await self._pool_of(slot).bury(keeper)

    def _pool_of(self, slot: _Slot) -> KeeperPool:
        return self._keeper_pools[slot.number % len(self._keeper_pools)]

    def _task(self, program: Program, evaluation_id: str, scoring: ScoringRequest, repeat: int) -> dict[str, Any]:
        inputs = self._held_out if scoring.holdout else self._inputs
        return scoring_task(
            self._problem, program, evaluation_id, scoring, repeat, inputs=inputs, links=self._base.links
        )


@asynccontextmanager
async def open_evaluator(
    problem: Problem,
    folder: Path,
    slots: int,
    *,
    require: IsolationLevel | None,
    force: IsolationLevel | None = None,
    image: ContainerImage | None = None,
    devices: DeviceMonitor | None = None,
) -> AsyncIterator[SandboxEvaluator]:
    """An evaluator for one problem, warm and tested; closing it leaves no process and no file.

    Args:
        problem: what is scored, and within which limits.
        folder: the problem's folder, copied at once.
        slots: evaluations at once.
        require: the weakest level that will do; None: any.
        force: use no layer above this level.
        image: of a container round all of it; None: there is none.
        devices: of which each evaluation has one to itself; None, or none of them: evaluations have no accelerator.

    Raises:
        RefusedError: the host does not reach the level required, or the lock of a device cannot be opened.
        InvalidProblemError: the folder or the evaluator cannot be used.
    """
    pool = DevicePool(devices, slots) if devices is not None and devices.devices else None
    cells = len(pool.devices) if pool else slots
    places = await _prepared(folder, cells, other_users=image is not None)
    evaluator = SandboxEvaluator(problem, places, slots, force or IsolationLevel.STRONG, image, pool)
    try:
        await evaluator.start()
        if require is not None and not evaluator.level.reaches(require):
            raise RefusedError(selftest.refusal(evaluator.report, require))
        if problem.evaluator.scorer_read and not evaluator.level.reaches(IsolationLevel.MEDIUM):
            raise RefusedError(
                f"evaluator.scorer_read needs a sandbox that reaches medium, and this one reaches {evaluator.level}:"
                " below, programs can read what the evaluator reads"
            )
        await evaluator.compute_inputs()
        await evaluator.set_up()
        yield evaluator
    finally:
        await _to_the_end(evaluator.close())


async def _prepared(folder: Path, slots: int, *, other_users: bool) -> SandboxFolders:
    preparing = asyncio.ensure_future(asyncio.to_thread(prepare, folder, slots, other_users=other_users))
    try:
        return await asyncio.shield(preparing)
    except asyncio.CancelledError:  # the thread makes its folder all the same
        (await preparing).remove()
        raise


async def _to_the_end(closing: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(closing)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:  # who is in a hurry must still not leave processes behind
        await task
        raise


def isolation_warnings(evaluator: SandboxEvaluator) -> list[str]:
    """What programs can do under less than the sandbox's best, and what they cannot; empty: nothing."""
    why = selftest.shortcomings(evaluator.report)
    if evaluator.level == "none":
        return [f"programs run without isolation and with all your rights ({why})"]
    if evaluator.level == "weak":
        return [f"isolation is weak: programs can read files and use the network ({why})"]
    return [layer.reason for layer in evaluator.layers if layer.name == REACHABLE and not layer.on]
