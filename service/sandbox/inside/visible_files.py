"""What the processes of a role see of the machine's files, and the sentence for one who looked further."""

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .sandbox_spec import SandboxSpec

SYSTEM = (
    "/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d",
    "/etc/alternatives", "/etc/localtime", "/sys/devices/system/cpu", "/sys/devices/system/node",
)  # fmt: skip
PUBLIC_PROC = ("/proc/cpuinfo", "/proc/meminfo", "/proc/stat", "/proc/loadavg", "/proc/filesystems")
# What CUDA reads of the machine at its start.
_DRIVER_PROC = ("/proc/devices", "/proc/driver/nvidia", "/proc/sys/vm/mmap_min_addr")
NAMES = (
    "/etc/resolv.conf",
    "/etc/hosts",
    "/etc/nsswitch.conf",
    "/etc/ssl",
    "/etc/ca-certificates",
    "/run/systemd/resolve",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
KEY = "evaluator.read"
_MAX_CAUSES = 8
_READ_ONLY = "the sandbox lets nothing be written outside of the working folder"


@dataclass(frozen=True, slots=True, kw_only=True)
class VisibleFiles:
    """The files that a process of the sandbox may open.

    Attributes:
        confined: whether everything beside these places is closed.
        visible: files and folders that may be read, its own scratch included.
        granted: those of them that the problem or the operator opened.
        masked: folders of which nothing but what is visible is there at all.
        interpreter: folders of the interpreter.
        unreachable: why the user that programs run as cannot get there; empty: it can.
    """

    confined: bool = False
    visible: Sequence[str] = ()
    granted: Sequence[str] = ()
    masked: Sequence[str] = ()
    interpreter: Sequence[str] = ()
    unreachable: str = ""

    def hint(self, error: BaseException) -> str:
        """How to open what an exception, or a cause of it, could not open; empty: the sandbox is not why."""
        for cause in _causes(error):
            if isinstance(cause, OSError) and cause.errno == errno.EROFS:
                return _READ_ONLY
            if self.unreachable and isinstance(cause, ModuleNotFoundError):
                return self.unreachable
            name = getattr(cause, "filename", None)
            if isinstance(cause, PermissionError | FileNotFoundError) and isinstance(name, str | bytes):
                return self._hint(os.path.abspath(os.fsdecode(name)), denied=isinstance(cause, PermissionError))
        return ""

    def _hint(self, path: str, *, denied: bool) -> str:
        real = os.path.realpath(path)
        if denied and self.unreachable and _below(path, self.interpreter):
            return self.unreachable
        if _below(real, self.granted):
            closed = denied and os.path.lexists(real) and not os.access(real, os.R_OK)
            return (
                f"its permissions close {path} to the user that programs run as: chmod -R o+rX opens it"
                if closed
                else ""
            )
        if _below(real, self.visible):
            return ""
        if denied and self.confined and not os.path.lexists(real):
            return _READ_ONLY
        if (denied and self.confined) or _below(real, self.masked):
            return f"the sandbox does not show {path}: add it to {KEY}"
        return ""


_view = VisibleFiles()


def enter(view: VisibleFiles) -> None:
    """Note what this process sees from now on."""
    global _view  # noqa: PLW0603 - as much a fact of this process as its limits
    _view = view


def hint(error: BaseException) -> str:
    """What `VisibleFiles.hint` of this process says."""
    try:
        return _view.hint(error)
    except Exception:  # noqa: BLE001 - the exception and what it names are the program's own
        return ""


def _causes(error: BaseException) -> Iterator[BaseException]:
    found: BaseException | None = error
    for _ in range(_MAX_CAUSES):
        if found is None:
            return
        yield found
        found = found.__cause__ or found.__context__


def _below(path: str, folders: Sequence[str]) -> bool:
    return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in folders)


def public_proc(*, gpu: bool) -> Sequence[str]:
    """The files of /proc that programs see where it shows the processes of the whole machine."""
    return (*PUBLIC_PROC, *_DRIVER_PROC) if gpu else PUBLIC_PROC


def system(cell: SandboxSpec) -> Sequence[str]:
    """The files that every machine has; of an image all but the kernel's places and the one that holds the cell."""
    if not cell.image:
        return SYSTEM
    left_out = {"proc", "sys", "dev", "tmp", cell.folder.split("/")[1]}
    return [*SYSTEM, *(f"/{name}" for name in sorted(os.listdir("/")) if name not in left_out)]
