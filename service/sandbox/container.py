"""The container around a warm interpreter, which holds only what the programs of its slot may have."""

import asyncio
import contextlib
import os
import secrets
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evolve.problem import Limits
from service.errors import InvalidProblemError
from service.sandbox import sandbox_users, scratch
from service.sandbox.container_runtime import (
    ContainerImage,
    ContainerRuntime,
    labelled_containers,
    remove_container,
)
from service.sandbox.devices import Device
from service.sandbox.host import last_line
from service.sandbox.inside.channel import frame
from service.sandbox.inside.sandbox_spec import MAX_FILES, ROOMS
from service.sandbox.zygote_process import INSIDE, Processes, ZygoteProcess, process_ends

# Of a container: the folder whose lock says that its worker lives, and where such folders are.
OWNER, PLACE = "evolve.sandbox.owner", "evolve.sandbox.place"
PYTHON = "python3"
_START_SECONDS, _EXIT_SECONDS = 120.0, 10.0
_TICK_SECONDS = 0.05
_MAX_SOCKET_PATH = 90
_ADVICE = ("Run '", "See '")  # how the runtimes' last words begin, behind what is wrong
_FIRST = 1  # the number of the zygote in its container
# Beside the program's: warm interpreter, keeper and fork server; and what a program takes until the watchdog looks.
_OWN_MB, _OWN_PROCESSES = 512, 64
_SPARE_KB = 1024
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerLauncher:
    """Starts the zygote of a problem in a container of its image.

    Attributes:
        python: the interpreter in the image; empty: its `python3`.
        environment: of programs, beside the image's own.
        base: folder with the problem and the cells, which nobody inside writes to but for the rooms.
        rooms: the folders in it that are written to.
        room_kb: what each of them may hold.
        opened: files and folders of this machine that the problem may read.
        device: the one accelerator in it; None: none is known here, and a problem with `limits.gpu` has them all.
    """

    image: ContainerImage
    python: str
    environment: Mapping[str, str]
    base: Path
    rooms: Sequence[str]
    room_kb: int
    opened: Sequence[str]
    limits: Limits
    device: Device | None = None

    async def launch(self, log: Path) -> ZygoteProcess:
        """Start the container, and wait until its interpreter has called.

        Raises:
            InvalidProblemError: it cannot be started, with what the runtime says.
        """
        runtime = self.image.runtime
        await sweep(runtime)
        control = await asyncio.to_thread(_control_folder)
        name = f"evolve-{secrets.token_hex(8)}"
        process = None
        try:
            with _listening(control.path / "socket") as listener:
                process = await asyncio.to_thread(_spawn, self._words(name, control.path), log)
                stream = await _called(listener, process)
        except BaseException as error:
            await asyncio.shield(_ended(runtime, name, process, control))
            if not isinstance(error, OSError | TimeoutError):
                raise
            why = await asyncio.to_thread(last_line, log, _ADVICE)
            raise InvalidProblemError(
                [f"evaluator.image: the container of {self.image.reference!r} cannot be started by {runtime}: {why}"]
            ) from error
        return ContainerZygote(runtime, name, process, control, stream)

    def _words(self, name: str, control: Path) -> list[str]:
        runtime = self.image.runtime
        inside = control / "inside"
        mounts = {str(self.base): str(self.base), str(control): str(control), str(INSIDE): str(inside)}
        mounts |= {path: path for path in self.opened}
        own = self.python if os.path.isabs(self.python) else ""
        path = os.pathsep.join(filter(None, [os.path.dirname(own), self.image.path or _PATH]))
        environment = {**self.environment, "PATH": path}
        return [
            runtime.program,
            "run",
            *("--rm", "--name", name, "--pull", "never", "--log-driver", "none", "--workdir", "/"),
            *("--label", f"{OWNER}={control}", "--label", f"{PLACE}={place_of_containers()}"),
            *self._confinement(),
            *self._limits(),
            *(word for source, target in mounts.items() for word in ("--volume", f"{source}:{target}:ro")),
            *(word for room in self.rooms for word in ("--tmpfs", f"{room}:{self._tmpfs()}")),
            *(word for key, value in environment.items() for word in ("--env", f"{key}={value}")),
            *("--entrypoint", self.python or PYTHON, self.image.id),
            *("-s", str(inside / "__main__.py"), str(control / "socket"), ""),
        ]

    def _confinement(self) -> list[str]:
        runtime = self.image.runtime
        user = _user(runtime)
        words = ["--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--user", f"{user}:{user}"]
        words += ["--tmpfs", "/tmp:rw,nosuid,nodev,noexec,size=16m,mode=1777"]  # noqa: S108 - of the container
        words += ["--read-only-tmpfs=false"] if runtime.name == "podman" else []
        words += [] if self.limits.network else ["--network", "none"]
        return [*words, *self._device_words()]

    def _device_words(self) -> list[str]:
        if not self.limits.gpu:
            return []
        if self.device is not None and not self.device.nvidia:
            there = [path for path in self.device.files if os.path.exists(path)]
            return [word for path in there for word in ("--device", path)]
        name = self.device.reference if self.device else "all"
        if self.image.runtime.name == "podman":
            return ["--device", f"nvidia.com/gpu={name}"]
        return ["--gpus", f"device={name}" if self.device else name]

    def _limits(self) -> list[str]:
        limits, room_mb = self.limits, self.room_kb // 1024 + 1
        memory_mb = limits.memory_mb + len(ROOMS) * room_mb + _OWN_MB
        processes = limits.processes + _OWN_PROCESSES
        return ["--memory", f"{memory_mb}m", "--memory-swap", f"{memory_mb}m", "--pids-limit", str(processes)]

    def _tmpfs(self) -> str:
        files = f",nr_inodes={MAX_FILES + 64}" if self.image.runtime.name == "docker" else ""  # podman refuses the word
        return f"rw,exec,nosuid,nodev,size={self.room_kb + _SPARE_KB}k,mode=777{files}"


class ContainerZygote:
    """A zygote in a container, of whose processes it is the first: all others end with it."""

    def __init__(
        self,
        runtime: ContainerRuntime,
        name: str,
        process: subprocess.Popen[bytes],
        control_folder: scratch.Scratch,
        control: socket.socket,
    ) -> None:
        self._runtime, self._name, self._process, self._folder = runtime, name, process, control_folder
        self.pid, self.control, self.exit_seconds = _FIRST, control, _EXIT_SECONDS

    @property
    def processes(self) -> Processes:
        """Those of the container."""
        return ContainerProcesses(self.control)

    @property
    def alive(self) -> bool:
        """Whether the container runs."""
        return self._process.poll() is None

    async def ends(self, seconds: float) -> bool:
        """Whether the container has ended, or does so in time."""
        if not await process_ends(self._process, seconds):
            return False
        await asyncio.to_thread(_remove, self._folder)
        return True

    async def kill(self) -> None:
        """End the container with all its processes, and remove it."""
        await _ended(self._runtime, self._name, self._process, self._folder)


class ContainerProcesses:
    """Processes in a container, whose zygote waits for them."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control

    def kill(self, _: int) -> None:
        """End the container: the kernel ends its processes with the zygote, however many there are."""
        with contextlib.suppress(OSError):
            self._control.sendall(frame({"exit": True}))

    async def ended(self, pid: int, seconds: float) -> bool:
        """Wait until a process has ended; False when it has not in time."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        with ours:
            try:
                with theirs:
                    socket.send_fds(self._control, [frame({"await": pid})], [theirs.fileno()])
                async with asyncio.timeout(seconds):
                    await asyncio.get_running_loop().sock_recv(ours, 1)
            except TimeoutError:
                return False
            except OSError:
                return True
        return True


async def sweep(runtime: ContainerRuntime) -> None:
    """End containers of workers of this machine that were killed, where a container has not ended by itself."""
    owned = await labelled_containers(runtime, OWNER)
    if not owned:
        return
    ours = {
        name for name, place in (await labelled_containers(runtime, PLACE)).items() if place == place_of_containers()
    }
    for name in sorted(ours & owned.keys()):
        if await asyncio.to_thread(scratch.abandoned, Path(owned[name])):
            await remove_container(runtime, name)


def place_of_containers() -> str:
    """Where the folders of this process's workers are, told apart from the same path elsewhere."""
    about = os.stat(tempfile.gettempdir())
    return f"{socket.gethostname()}:{about.st_dev}:{about.st_ino}"


def _control_folder() -> scratch.Scratch:
    folder = scratch.make("container", _MAX_SOCKET_PATH)
    folder.path.chmod(0o711)
    (folder.path / "inside").mkdir()
    return folder


@contextlib.contextmanager
def _listening(path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        path.chmod(0o666)  # its folder is known to the container alone
        listener.listen(1)
        listener.setblocking(False)
        yield listener


def _spawn(words: Sequence[str], log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as file:
        return subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=file, cwd="/", start_new_session=True
        )


async def _called(listener: socket.socket, process: subprocess.Popen[bytes]) -> socket.socket:
    """The call of the zygote.

    Raises:
        OSError, TimeoutError: none comes, for the container has ended.
    """
    accepting = asyncio.ensure_future(asyncio.get_running_loop().sock_accept(listener))
    try:
        async with asyncio.timeout(_START_SECONDS):
            while not accepting.done():
                await asyncio.wait([accepting], timeout=_TICK_SECONDS)
                if not accepting.done() and process.poll() is not None:
                    raise OSError("the container has ended")
    finally:
        accepting.cancel()
        await asyncio.wait([accepting])
    stream, _ = accepting.result()
    stream.setblocking(True)
    return stream


async def _ended(
    runtime: ContainerRuntime, name: str, process: subprocess.Popen[bytes] | None, folder: scratch.Scratch
) -> None:
    await remove_container(runtime, name)
    if process is not None and not await process_ends(process, _EXIT_SECONDS):
        process.kill()
        await asyncio.to_thread(process.wait)
    await asyncio.to_thread(_remove, folder)


def _remove(folder: scratch.Scratch) -> None:
    with contextlib.suppress(OSError):
        folder.remove()


def _user(runtime: ContainerRuntime) -> int:
    """A user that owns nothing, of those that the runtime's containers may have."""
    return sandbox_users.spare_user_of(runtime.users)
