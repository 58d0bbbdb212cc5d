"""Who evaluates a run is decided here: the workers of a queue, those of this process, its sandbox, or a function."""

import asyncio
import os
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from evolve.problem import Problem
from service.config import SandboxSettings, Settings
from service.errors import RefusedError, UsageError
from service.ports import WORKERS, Bundle, EvaluatorFactory, EvaluatorRequest, OpenedEvaluator
from service.problems.bundle import unpack
from service.problems.evaluator_environment import with_environment
from service.queue.evaluator import open_local_evaluator, open_redis_evaluator
from service.sandbox import scratch
from service.sandbox.container_runtime import image_of
from service.sandbox.device_monitor import DeviceMonitor, open_monitor
from service.sandbox.devices import find_devices
from service.sandbox.evaluator import SandboxEvaluator, isolation_warnings, open_evaluator
from service.sandbox.layers import IsolationLevel
from service.sandbox.permissions import read_level, refuse_too_much, refuse_unpermitted
from service.sandbox.read_paths import private_places, refuse_ungranted, with_paths
from service.usecases.extensions import with_commands

if TYPE_CHECKING:
    from service.queue.memory import MemoryBroker
    from service.sandbox.function import Attempt, Source


def queue_url(settings: Settings, override: str | None) -> str | None:
    """The queue to use, or None. An empty address means no queue."""
    if override is None and settings.queue.url is not None:
        return settings.queue.url.get_secret_value() or None
    return override or None


def choose_evaluators(
    settings: Settings,
    *,
    queue: str | None = None,
    broker: "MemoryBroker | None" = None,
    function: "Callable[[Source], Awaitable[Attempt]] | None" = None,
    database: str = "",
    require: str | None = None,
    serving: bool = False,
) -> EvaluatorFactory:
    """Decide who evaluates.

    A function wins over everything else. Then come the workers of a queue, those of this process, and its sandbox.

    Args:
        settings: of this installation.
        queue: Redis to use instead of the one of the settings. An empty address means no queue.
        broker: the queue of this process.
        function: makes one call of the caller's own function.
        database: address of the database, in place of the settings' one.
        require: weakest isolation of the sandbox. None means that of the settings.
        serving: whether the sandbox runs problems for others, and so requires the isolation of a service.

    Raises:
        UsageError: an isolation is required of workers, which have their own.
    """
    if function is not None:
        return FunctionEvaluators(function)
    if (url := queue_url(settings, queue)) is not None:
        if require is not None:
            raise UsageError("workers set their own isolation: set sandbox.require where you start them")
        return QueueEvaluators(settings, url)
    if broker is not None:
        return LocalQueueEvaluators(settings, broker)
    return SandboxEvaluators(settings, database=database, require=require, serving=serving)


class SandboxEvaluators:
    """The port EvaluatorFactory over the sandbox of this process; see `choose_evaluators`."""

    def __init__(
        self,
        settings: Settings,
        *,
        database: str = "",
        require: str | None = None,
        serving: bool = False,
        devices: DeviceMonitor | None = None,
    ) -> None:
        self._settings, self._require, self._devices = settings, require, devices
        self._sandbox = settings.sandbox.for_others() if serving else settings.sandbox
        self._private = private_places(settings, database)

    @asynccontextmanager
    async def open(self, request: EvaluatorRequest) -> AsyncIterator[OpenedEvaluator]:
        """Open a sandbox for the programs of a problem."""
        opening = open_sandbox(
            request.problem,
            request.bundle,
            self._sandbox,
            slots=request.slots,
            require=self._require,
            others=request.others,
            private=self._private,
            source=request.source,
            allow=self._settings.extensions.allow,
            devices=self._devices,
        )
        async with opening as evaluator:
            image = evaluator.image.digest if evaluator.image else ""
            yield OpenedEvaluator(
                evaluator=evaluator,
                isolation=f"{evaluator.level}, image {image}" if image else str(evaluator.level),
                warnings=(*isolation_warnings(evaluator), *_device_warnings(evaluator, request.problem)),
                in_process=True,
                image=image,
                devices=evaluator.device_states,
            )

    def refuse_unpermitted(self, problem: Problem) -> None:
        """Refuse a submitted problem that wants more than this process allows."""
        refuse_ungranted(problem.evaluator, self._settings.sandbox)
        refuse_unpermitted(problem, self._settings.sandbox)


class QueueEvaluators:
    """The port EvaluatorFactory over the workers of a Redis queue.

    Each evaluator is a submitter of its own with a connection of its own. So each run has its fair share of the
    workers, and a connection that stalls holds up no other run.
    """

    def __init__(self, settings: Settings, url: str) -> None:
        self._sandbox, self._url = settings.sandbox, url

    @asynccontextmanager
    async def open(self, request: EvaluatorRequest) -> AsyncIterator[OpenedEvaluator]:
        """Open a submitter for the programs of a problem."""
        async with open_redis_evaluator(self._url, request.problem, request.bundle) as evaluator:
            yield OpenedEvaluator(evaluator=evaluator, isolation=WORKERS)

    def refuse_unpermitted(self, problem: Problem) -> None:
        """Refuse a submitted problem that wants too much. Workers know themselves which devices they permit."""
        refuse_ungranted(problem.evaluator, self._sandbox)
        refuse_too_much(problem, self._sandbox)


class LocalQueueEvaluators:
    """The port EvaluatorFactory over the queue of this process, whose workers are here or come over HTTP."""

    def __init__(self, settings: Settings, broker: "MemoryBroker") -> None:
        self._sandbox, self._broker = settings.sandbox, broker

    @asynccontextmanager
    async def open(self, request: EvaluatorRequest) -> AsyncIterator[OpenedEvaluator]:
        """Open a submitter for the programs of a problem, unless the operator does not allow what it wants."""
        refuse_unpermitted(request.problem, self._sandbox)
        async with open_local_evaluator(self._broker, request.problem, request.bundle) as evaluator:
            yield OpenedEvaluator(evaluator=evaluator, isolation=WORKERS)

    def refuse_unpermitted(self, problem: Problem) -> None:
        """Refuse a submitted problem that wants what this process does not allow."""
        refuse_ungranted(problem.evaluator, self._sandbox)
        refuse_unpermitted(problem, self._sandbox)


class FunctionEvaluators:
    """The port EvaluatorFactory over a function of the caller's own, which is called in this process."""

    def __init__(self, function: "Callable[[Source], Awaitable[Attempt]]") -> None:
        self._function = function

    @asynccontextmanager
    async def open(self, request: EvaluatorRequest) -> AsyncIterator[OpenedEvaluator]:
        """Wrap the function as an evaluator."""
        from service.sandbox.function import ISOLATION, FunctionEvaluator

        evaluator = FunctionEvaluator(request.problem, self._function, slots=request.slots, monotonic=time.monotonic)
        yield OpenedEvaluator(evaluator=evaluator, isolation=ISOLATION)

    def refuse_unpermitted(self, problem: Problem) -> None:
        """Nothing: the function is the caller's own."""


def _device_warnings(evaluator: SandboxEvaluator, problem: Problem) -> list[str]:
    if not problem.limits.gpu or evaluator.has_devices:
        return []
    return ["the problem asks for limits.gpu, and this process can open no accelerator: programs run without"]


@asynccontextmanager
async def open_sandbox(
    problem: Problem,
    bundle: Bundle,
    settings: SandboxSettings,
    *,
    slots: int = 0,
    require: str | None = None,
    others: bool = False,
    private: Sequence[Path] | None = None,
    source: str = "",
    allow: Sequence[str] = (),
    devices: DeviceMonitor | None = None,
) -> AsyncIterator[SandboxEvaluator]:
    """The evaluator of a problem, from what is stored of its folder.

    Args:
        problem: what is scored.
        bundle: its folder.
        settings: what the operator allows and requires.
        slots: evaluations at once; 0: as many as this process has cores.
        require: weakest isolation; None: what the settings say.
        others: whether somebody else wrote the problem, so that the operator alone opens paths to it.
        private: places of this installation that no program may read; None: those that it has without any settings.
        source: the folder that the problem was read from, where there is one on this machine.
        allow: runtimes of extensions that problems of others may name.
        devices: for problems with `limits.gpu`; None: those that the settings name, else all of the machine.

    Raises:
        UsageError: the settings name a device that this machine does not have.
        RefusedError: the machine offers less isolation, or the problem wants what the operator does not allow.
        InvalidProblemError: the evaluator cannot be used.
    """
    refuse_unpermitted(problem, settings)
    problem = with_commands(problem, allow if others else None)
    problem = await with_environment(problem, bundle, settings, others=others)
    closed = private_places() if private is None else private
    place = Path(source) if source.startswith("/") else None
    problem = with_paths(problem, settings, private=closed, others=others, source=place)
    image = await image_of(problem.evaluator, settings)
    if problem.limits.gpu and devices is None:
        devices = await open_monitor(await asyncio.to_thread(find_devices, settings.devices))
    level = read_level(require or settings.own)
    slots = slots or len(os.sched_getaffinity(0))
    async with AsyncExitStack() as stack:
        with scratch.folder("problem") as place:  # the evaluator copies it
            unpack(bundle, folder := place / "problem")
            required = None if level is IsolationLevel.NONE else level
            own = devices if problem.limits.gpu else None
            opening = open_evaluator(problem, folder, slots, require=required, image=image, devices=own)
            try:
                evaluator = await stack.enter_async_context(opening)
            except RefusedError as error:
                advice = "allow a lower level with --require-isolation or --allow-unsandboxed"
                raise RefusedError(f"{error}; {advice}") from error
        yield evaluator
