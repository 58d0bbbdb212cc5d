"""What a keeper is told once: its places, its user, its limits, and the layers it may use."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

PROGRAM, SCORER = "program", "scorer"
# Where a scorer finds the paths that it alone may read.
SCORER_READ_VARIABLE = "EVOLVE_SCORER_READ"
ROOMS = (PROGRAM, SCORER)
# Files and folders that a scratch may hold.
MAX_FILES = 16384
# Of each process, and sockets of the whole tree: their buffers are memory that no process is charged with.
MAX_DESCRIPTORS, MAX_SOCKETS = 256, 256


class ChildSpec(TypedDict):
    """The part of a cell that a child is told.

    That is the scratch of its role and its size, the problem's folder, the shim, and the modules from outside.
    """

    scratch: str
    disk_kb: int
    problem: str
    shim: str
    imports: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSpec:
    """The standing orders of one keeper.

    Attributes:
        folder: the cell's own folder; a room in it for programs, one for scorers.
        problem: read-only copy of the problem's folder; empty: none.
        problem_kb: its size, which a writable copy may take on top of the disk limit.
        shim: folder that provides modules which evaluators expect.
        imports: folder in the problem's with modules for scorers, which nobody changes; empty: none.
        readable: files and folders outside that its processes may read and run besides.
        scorer_readable: likewise, which scorers alone may read.
        readable_kb: their size, so many addresses more than those of its memory a process may map.
        image: whether the file system is that of an image, of which programs may read all.
        uid: user to become; -1: stay.
        devices: files of the accelerator that its processes have, with those of its driver.
        device_variables: of the environment, by which they use that accelerator alone.
        tree: kill by subreaper and watch the memory of the tree.
        addresses: limit the addresses that a process maps; runtimes such as Node reserve them by the gigabyte.
        egress: unix socket of the host that gets the one way out of the network; empty: there is none, see `loopback`.
    """

    folder: str
    problem: str
    problem_kb: int
    shim: str
    imports: str
    readable: Sequence[str]
    scorer_readable: Sequence[str]
    readable_kb: int
    image: bool
    uid: int
    wall_seconds: float
    cpu_seconds: float
    memory_mb: int
    processes: int
    disk_mb: int
    output_kb: int
    network: bool
    gpu: bool
    devices: Sequence[str]
    device_variables: Mapping[str, str]
    namespaces: bool
    landlock: bool
    seccomp: bool
    tree: bool
    addresses: bool
    egress: str

    @property
    def disk_kb(self) -> int:
        """What a scratch may hold, a writable copy of the problem included."""
        return self.disk_mb * 1024 + self.problem_kb

    def place(self, role: str) -> ChildSpec:
        """What a child of a role needs to know of the cell to write its files down."""
        return {
            "scratch": self.scratch(role),
            "disk_kb": self.disk_kb,
            "problem": self.problem,
            "shim": self.shim,
            "imports": self.imports if role == SCORER else "",
        }

    def opened(self, role: str) -> Sequence[str]:
        """Files and folders outside that a role may read."""
        return [*self.readable, *self.scorer_readable] if role == SCORER else self.readable

    def room(self, role: str) -> str:
        """The folder that holds the scratch of a role; nobody under test writes to it."""
        return os.path.join(self.folder, role)

    def scratch(self, role: str) -> str:
        """The scratch of a role: the one place its processes may write to."""
        return os.path.join(self.folder, role, "scratch")


def interpreter_paths() -> list[str]:
    """Folders that this interpreter lives in."""
    real = os.path.dirname(os.path.dirname(os.path.realpath(sys.executable)))
    found = {os.path.abspath(path) for path in (sys.prefix, sys.base_prefix, sys.exec_prefix, real)}
    return sorted(found - {"/"})
