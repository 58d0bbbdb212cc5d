"""What is known of devices while programs run on them: model, driver, and the clocks that nvidia-smi tells."""

import asyncio
import csv
import shutil
from collections.abc import Sequence
from dataclasses import replace
from time import monotonic

from service.ports import DeviceState
from service.sandbox.devices import Device

TOOL = "nvidia-smi"
_FIRST = "uuid,index,name,driver_version,clocks.sm,clocks.max.sm"
_LATER = "clocks.sm"
_SECONDS = 30.0
# Reading a clock may take so much of the time: a small part of it, for the device waits meanwhile.
_SHARE = 0.05


class DeviceMonitor:
    """The devices of a process, and how they were found to be.

    Attributes:
        devices: that evaluations may have.
    """

    def __init__(self, devices: Sequence[Device] = ()) -> None:
        self.devices = tuple(devices)
        self._states = {device.name: DeviceState(name=device.name) for device in devices}
        self._ready: dict[str, float] = {}

    @property
    def states(self) -> Sequence[DeviceState]:
        """How each device was found to be, by now."""
        return tuple(self._states.values())

    async def begin(self) -> None:
        """Read what each device is, and its clock before any program of ours runs on it."""
        if not any(device.nvidia for device in self.devices):
            return
        rows = [row for row in await _asked(f"--query-gpu={_FIRST}") if len(row) == len(_FIRST.split(","))]
        for device in self.devices:
            row = next((row for row in rows if device.reference in row[:2]), None)
            if row is not None:
                known = replace(self._states[device.name], model=row[2], driver=row[3], max_clock_mhz=_mhz(row[5]))
                self._states[device.name] = known.with_clock(_mhz(row[4]))

    async def measure(self, device: Device) -> None:
        """Read the clock of a device whose evaluation has just ended, unless it was read a moment ago."""
        began = monotonic()
        if not self._states[device.name].clock_mhz or began < self._ready.get(device.name, began):
            return
        rows = await _asked(f"--id={device.reference}", f"--query-gpu={_LATER}")
        ended = monotonic()
        self._ready[device.name] = ended + (ended - began) / _SHARE
        if rows and len(rows[0]) == 1:
            self._states[device.name] = self._states[device.name].with_clock(_mhz(rows[0][0]))


async def open_monitor(devices: Sequence[Device]) -> DeviceMonitor:
    """A monitor that knows what its devices are."""
    monitor = DeviceMonitor(devices)
    await monitor.begin()
    return monitor


def _mhz(text: str) -> int:
    """A clock; 0 where the device does not tell, as `[N/A]`."""
    return int(text) if text.isdigit() else 0


async def _asked(*words: str) -> list[list[str]]:
    """What nvidia-smi prints, row by row; nothing where there is none, or where it fails."""
    program = shutil.which(TOOL)
    if program is None:
        return []
    try:
        process = await asyncio.create_subprocess_exec(
            *(program, *words, "--format=csv,noheader,nounits"),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
        )
    except OSError:
        return []
    try:
        async with asyncio.timeout(_SECONDS):
            output, _ = await process.communicate()
    except TimeoutError:
        return []
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        return []
    return [[cell.strip() for cell in row] for row in csv.reader(output.decode(errors="replace").splitlines())]
