"""Where keepers come from: one warm interpreter for a problem, started again when it dies."""

import asyncio
import os
from pathlib import Path

from evolve import version
from evolve.problem import EvaluatorSpec, Integrity, Problem
from service.sandbox import sandbox_users
from service.sandbox.container import ContainerLauncher
from service.sandbox.container_runtime import ContainerImage
from service.sandbox.device_pool import DevicePool
from service.sandbox.devices import Device
from service.sandbox.folder import SandboxFolders, size_kb
from service.sandbox.host import ENVIRONMENT, KeeperLine, SandboxError, Zygote
from service.sandbox.inside.sandbox_spec import ROOMS, SandboxSpec
from service.sandbox.layers import IsolationLevel
from service.sandbox.zygote_process import HostLauncher, Launcher

# Where the library was imported from, which need not be among the packages of the interpreter.
LIBRARY = str(Path(version.__file__).parents[1])
# The paths of `evaluator.read`, as they are on this machine.
READ_VARIABLE = "EVOLVE_READ"


class KeeperPool:
    """The zygote of one problem, and the keepers that came of it.

    Attributes:
        force: the level above which no layer is used.
        image: of the container that all of them are in; None: they are processes of this machine.
        keepers: those alive.
    """

    def __init__(
        self,
        problem: Problem,
        places: SandboxFolders,
        force: IsolationLevel,
        image: ContainerImage | None = None,
        devices: DevicePool | None = None,
    ) -> None:
        self._problem, self._places, self.force, self.image = problem, places, force, image
        self._devices = devices
        self._zygote: Zygote | None = None
        self._one_at_a_time = asyncio.Lock()
        self._closed = False
        self._problem_kb = self._readable_kb = 0
        self._users: dict[int, int] = {}
        self.keepers: set[KeeperLine] = set()

    @property
    def zygote(self) -> int:
        """The process of the warm interpreter; 0 before the first keeper."""
        return self._zygote.pid if self._zygote is not None else 0

    async def keeper(self, number: int) -> KeeperLine:
        """A new keeper for a cell.

        Raises:
            SandboxError: it did not start.
            InvalidProblemError: the interpreter cannot be warmed up.
        """
        async with self._one_at_a_time:
            if self._closed:
                raise SandboxError("the sandbox is closed")
            replacing = self._zygote is not None
            zygote = await self._warm(number)
            try:
                keeper = await zygote.keeper(self._cell(number), sweep=replacing)
            except SandboxError:
                if not await zygote.ends():
                    raise
                zygote = await self._warm(number)
                keeper = await zygote.keeper(self._cell(number), sweep=True)
        self.keepers.add(keeper)
        return keeper

    async def bury(self, keeper: KeeperLine) -> None:
        """End a keeper that is of no more use, and leave it time for its last duties."""
        self.keepers.discard(keeper)
        try:
            await keeper.close()
        finally:
            if self._zygote is not None:
                self._zygote.forget(keeper)

    async def close(self) -> None:
        """End every process."""
        async with self._one_at_a_time:
            self._closed = True
            await asyncio.gather(*(keeper.close() for keeper in self.keepers))
            if self._zygote is not None:
                await self._zygote.close()

    async def _warm(self, number: int) -> Zygote:
        """The warm interpreter, which is started when there is none, or when it has ended."""
        if self._zygote is None or not self._zygote.alive:
            self._zygote = await self._warm_up(number)
        return self._zygote

    async def _warm_up(self, number: int) -> Zygote:
        if self._zygote is not None:
            await self._zygote.close()
        self._problem_kb = await asyncio.to_thread(self._places.problem_kb)
        evaluator = self._problem.evaluator
        self._readable_kb = await asyncio.to_thread(size_kb, (*evaluator.read, *evaluator.scorer_read, *evaluator.path))
        orders = {
            "preload": list(evaluator.preload),
            "library": LIBRARY if _wants_library(evaluator) and self.image is None else "",
            "compile": await asyncio.to_thread(self._places.sources),
            "tree": self.force is not IsolationLevel.NONE,
        }
        return await Zygote.start(self._launcher(number), orders, self._places.log(number))

    def _launcher(self, number: int) -> Launcher:
        """How a zygote starts that is for all cells; in a container, for one."""
        evaluator = self._problem.evaluator
        environment = _environment(evaluator)
        if self.image is None:
            return HostLauncher(evaluator.python, environment, self._devices.descriptors if self._devices else ())
        cell = self._cell(number)
        return ContainerLauncher(
            image=self.image,
            python=evaluator.python,
            environment=environment,
            base=self._places.base,
            rooms=[cell.room(role) for role in ROOMS],
            room_kb=cell.disk_kb,
            opened=(*evaluator.read, *evaluator.scorer_read),
            limits=self._problem.limits,
            device=self._device(number),
        )

    def _device(self, number: int) -> Device | None:
        """The device of a cell, which no other cell of the evaluator has."""
        return self._devices.devices[number] if self._devices else None

    def _user(self, number: int) -> int:
        if self.image is not None:  # the container has one that is nobody else's
            return -1
        if os.geteuid() != 0 or self.force is IsolationLevel.NONE:
            return -1
        if number not in self._users:
            self._users[number] = sandbox_users.spare_user()
        return self._users[number]

    def _cell(self, number: int) -> SandboxSpec:
        """The standing orders of a keeper."""
        limits, force, device = self._problem.limits, self.force, self._device(number)
        return SandboxSpec(
            folder=str(self._places.cell(number)),
            problem=str(self._places.problem),
            problem_kb=self._problem_kb if self._problem.evaluator.integrity is Integrity.SHARED else 0,
            shim=str(self._places.shim),
            imports=self._places.imports,
            readable=(*self._problem.evaluator.read, *self._problem.evaluator.path),
            scorer_readable=self._problem.evaluator.scorer_read,
            readable_kb=self._readable_kb,
            image=self.image is not None,
            uid=self._user(number),
            wall_seconds=limits.wall_seconds,
            cpu_seconds=limits.cpu_seconds,
            memory_mb=limits.memory_mb,
            processes=limits.processes,
            disk_mb=limits.disk_mb,
            output_kb=limits.output_kb,
            network=limits.network,
            gpu=limits.gpu,
            devices=device.files if device else (),
            device_variables=device.variables if device else {},
            namespaces=force.reaches(IsolationLevel.STRONG),
            landlock=force.reaches(IsolationLevel.MEDIUM),
            seccomp=force.reaches(IsolationLevel.MEDIUM),
            tree=force.reaches(IsolationLevel.WEAK),
            addresses=True,
            egress="",
        )


def _environment(evaluator: EvaluatorSpec) -> dict[str, str]:
    """What programs and evaluator find in their environment: PATH, and the paths that they may read.

    An interpreter that the problem names brings the programs beside it, as an activated environment does.
    """
    beside = [os.path.dirname(evaluator.python)] if os.path.isabs(evaluator.python) else []
    found = {READ_VARIABLE: os.pathsep.join(evaluator.read)} if evaluator.read else {}
    return {**ENVIRONMENT, **found, "PATH": os.pathsep.join([*evaluator.path, *beside, ENVIRONMENT["PATH"]])}


def _wants_library(evaluator: EvaluatorSpec) -> bool:
    return not evaluator.python and any(name.partition(".")[0] == version.__package__ for name in evaluator.preload)
