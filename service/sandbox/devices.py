"""The accelerators of this machine: which there are, which of them programs may have, and how drivers name them."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from service.errors import UsageError

_NVIDIA, _RENDER = re.compile(r"nvidia(\d+)"), re.compile(r"renderD(\d+)")
# Beside the file of a device: what every program needs that uses one of them, and what of it is there.
_NVIDIA_CONTROLS = (
    "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset", "/dev/nvidia-caps",
    "/dev/nvidia-caps-imex-channels",
)  # fmt: skip
_ROCM_CONTROLS = ("/dev/kfd",)
_UUID = re.compile(r"GPU-[0-9a-fA-F-]{8,}")
# Variables by which other programs say which devices this one may use. Container runtimes leave the others out as well.
_VARIABLES = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
_RUNTIME_VARIABLE = "NVIDIA_VISIBLE_DEVICES"
_NONE = {"", "-1", "none", "void", "NoDevFiles"}
_ALL = "all"


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """An accelerator of this machine.

    Attributes:
        name: that of its file, such as `nvidia0` or `renderD128`.
        number: its place among those of this machine that this process can open, from 0.
        files: its own file, and the control files of its driver.
        uuid: how its driver names it wherever it is; empty: not known.
        variables: those of the environment by which a program uses this device alone.
    """

    name: str
    number: int
    files: Sequence[str]
    uuid: str
    variables: Mapping[str, str]

    @property
    def nvidia(self) -> bool:
        """Whether it has NVIDIA's driver, whose tool tells its clocks, and which container runtimes know."""
        return _NVIDIA.fullmatch(self.name) is not None

    @property
    def reference(self) -> str:
        """How NVIDIA's tools name it: by its UUID, else by its number."""
        return self.uuid or str(self.number)


def find_devices(
    named: Sequence[str] = (), environment: Mapping[str, str] | None = None, *, root: Path = Path("/")
) -> tuple[Device, ...]:
    """The devices that programs of this process may have.

    Args:
        named: of them, by number, name or UUID. Empty: those that a variable of the environment names, else all.
        environment: None: that of this process.
        root: where the machine's files are.

    Raises:
        UsageError: there is no such device.
    """
    found = tuple(_found(root))
    if named:
        return _chosen(found, named, "--devices")
    variables = os.environ if environment is None else environment
    for name in _VARIABLES:
        if name in variables:
            words = [word.strip() for word in variables[name].split(",")]
            return () if set(words) <= _NONE else _chosen(found, words, name)
    words = [word.strip() for word in variables.get(_RUNTIME_VARIABLE, _ALL).split(",")]
    if set(words) <= _NONE:
        return ()
    # Inside of a container its numbers are those of the machine outside, whose other devices are not there.
    return tuple(device for device in found if any(_is(device, word) for word in words)) or found


def _chosen(found: Sequence[Device], words: Sequence[str], source: str) -> tuple[Device, ...]:
    chosen: dict[str, Device] = {}
    for word in words:
        device = next((device for device in found if _is(device, word)), None)
        if device is None:
            there = ", ".join(device.name for device in found) or "none that this process can open"
            raise UsageError(f"{source} names the device {word[:60]!r}, and this machine has {there}")
        chosen[device.name] = device
    return tuple(chosen.values())


def _is(device: Device, word: str) -> bool:
    return word in (device.name, str(device.number)) or bool(_UUID.match(word) and device.uuid.startswith(word))


def _found(root: Path) -> Iterator[Device]:
    nvidia = [path for path in _numbered(root / "dev", _NVIDIA) if _opens(path)]
    uuids = _nvidia_uuids(root)
    for number, path in enumerate(nvidia):
        uuid = uuids.get(path.name.removeprefix("nvidia"), "")
        # In the order of nvidia-smi: without the variable the fastest device is the first.
        variables = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": uuid or str(number)}
        files = (f"/dev/{path.name}", *_NVIDIA_CONTROLS)
        yield Device(name=path.name, number=number, files=files, uuid=uuid, variables=variables)
    if not nvidia:  # else its render nodes are the same devices once more
        yield from _render_devices(root)


def _render_devices(root: Path) -> Iterator[Device]:
    uuids = _rocm_uuids(root)
    rocm = (root / "dev/kfd").exists()
    nodes = [path for path in _numbered(root / "dev/dri", _RENDER) if _opens(path)]
    if rocm and uuids:  # a processor's own graphics may have a node too, which ROCm does not know
        nodes = [path for path in nodes if path.name.removeprefix("renderD") in uuids]
    for number, path in enumerate(nodes):
        uuid = uuids.get(path.name.removeprefix("renderD"), "")
        # HIP counts among those that the first variable leaves.
        variables = {"ROCR_VISIBLE_DEVICES": uuid or str(number), "HIP_VISIBLE_DEVICES": "0"} if rocm else {}
        files = (f"/dev/dri/{path.name}", *(_ROCM_CONTROLS if rocm else ()))
        yield Device(name=path.name, number=number, files=files, uuid=uuid, variables=variables)


def _numbered(folder: Path, name: re.Pattern[str]) -> list[Path]:
    if not folder.is_dir():
        return []
    found = [(int(match[1]), path) for path in folder.iterdir() if (match := name.fullmatch(path.name))]
    return [path for _, path in sorted(found)]


def _opens(path: Path) -> bool:
    """Whether this process may use a device: a control group can close one whose file is there."""
    try:
        os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC))
    except OSError:
        return False
    return True


def _nvidia_uuids(root: Path) -> dict[str, str]:
    """UUIDs by the number in the name of a device's file."""
    found = {}
    for file in root.glob("proc/driver/nvidia/gpus/*/information"):
        fields = _fields(file, ":")
        if _UUID.fullmatch(uuid := fields.get("GPU UUID", "")):
            found[fields.get("Device Minor", "")] = uuid
    return found


def _rocm_uuids(root: Path) -> dict[str, str]:
    """The same of ROCm's devices; empty text: it has none."""
    found = {}
    for file in root.glob("sys/class/kfd/kfd/topology/nodes/*/properties"):
        fields = _fields(file, " ")
        minor, unique = fields.get("drm_render_minor", "0"), fields.get("unique_id", "0")
        if minor != "0":  # a processor has none
            found[minor] = f"GPU-{int(unique):016x}" if unique.isdigit() and int(unique) else ""
    return found


def _fields(file: Path, separator: str) -> dict[str, str]:
    try:
        lines = file.read_text(errors="replace").splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(separator) for line in lines)}
