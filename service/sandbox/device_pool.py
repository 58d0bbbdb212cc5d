"""Devices for evaluations: each has one to itself, whichever process of this machine evaluates."""

import asyncio
import fcntl
import os
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from service.errors import RefusedError
from service.sandbox.device_monitor import DeviceMonitor
from service.sandbox.devices import Device

PREFIX = "evolve-device-"
_PLACES = ("/run/lock", "/tmp")  # noqa: S108 - a file in it is opened without following links, and never written
_POLL_SECONDS = 0.02


class DevicePool:
    """The devices of one evaluator, each locked for as long as an evaluation has it.

    The lock is the kernel's, on a file of the machine's place for locks. The processes of the sandbox share its
    descriptor: where this process is killed, the lock ends when the last of them has ended its programs.

    Attributes:
        monitor: the devices, and their clocks.
    """

    def __init__(self, monitor: DeviceMonitor, slots: int, folder: Path | None = None) -> None:
        """Open the locks.

        Args:
            slots: evaluations at once.
            folder: where the locks are; None: in the machine's place.

        Raises:
            RefusedError: a lock cannot be opened.
        """
        self.monitor = monitor
        self._slots = asyncio.Semaphore(min(slots, len(monitor.devices)))
        self._taken: set[str] = set()
        self._locks: dict[str, int] = {}
        try:
            for device in monitor.devices:
                self._locks[device.name] = _open_lock((folder or _place()) / f"{PREFIX}{device.name}")
        except RefusedError:
            self.close()
            raise

    @property
    def devices(self) -> Sequence[Device]:
        """Those that evaluations may have."""
        return self.monitor.devices

    @property
    def descriptors(self) -> Sequence[int]:
        """Those of the locks, for the processes of the sandbox."""
        return tuple(self._locks.values())

    @asynccontextmanager
    async def take(self) -> AsyncIterator[Device]:
        """A device that nobody else has; while there is none, wait for one."""
        async with self._slots:
            device = await self._lock_one()
            try:
                yield device
            finally:
                fcntl.flock(self._locks[device.name], fcntl.LOCK_UN)
                self._taken.discard(device.name)

    def close(self) -> None:
        """Close the locks."""
        for descriptor in self._locks.values():
            os.close(descriptor)
        self._locks.clear()

    async def _lock_one(self) -> Device:
        while True:
            for device in self.devices:  # in their order: one evaluation after the other has the same device
                if device.name not in self._taken and self._lock(device):
                    self._taken.add(device.name)
                    return device
            await asyncio.sleep(_POLL_SECONDS)  # another process has them, and the kernel tells nobody when it ends

    def _lock(self, device: Device) -> bool:
        try:
            fcntl.flock(self._locks[device.name], fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def _place() -> Path:
    """Where every process of this machine looks, whoever started it."""
    return next((Path(place) for place in _PLACES if os.access(place, os.W_OK | os.X_OK)), Path(_PLACES[-1]))


def _open_lock(path: Path) -> int:
    """A descriptor of a file that everybody may lock and its maker alone may write.

    Raises:
        RefusedError: it cannot be made, or something else has its name.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        # A kernel that protects folders open to all refuses to make a file that is there, even to the superuser.
        with suppress(FileExistsError):
            made = os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644)
            os.fchmod(made, 0o644)  # whatever this process leaves to others of its files
            return made
        lock = os.open(path, flags)
    except OSError as error:
        raise RefusedError(f"the lock of a device cannot be opened: {path}: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(lock).st_mode):
        os.close(lock)
        raise RefusedError(f"the lock of a device cannot be opened: {path} is not a file: remove it")
    return lock
