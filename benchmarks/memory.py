"""Memory of a tree of processes, from the kernel's accounts."""

import os
import threading
from pathlib import Path
from types import TracebackType
from typing import Self

_EVERY_SECONDS = 1.0


def tree_megabytes(root: int) -> float:
    """Memory of a process and all its descendants, shared pages counted once (proportional set size)."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, ValueError):  # it has just ended
                continue
    total = 0
    for pid in parents:
        ancestor = pid
        while ancestor not in {root, 0}:
            ancestor = parents.get(ancestor, 0)
        total += _proportional_kilobytes(pid) if ancestor == root else 0
    return total / 1024


def _proportional_kilobytes(pid: int) -> int:
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1])
    except OSError:  # it has just ended
        pass
    return 0


class PeakMemory:
    """Looks every second; `megabytes` is the most that was seen."""

    def __init__(self, root: int | None = None) -> None:
        self._root = root or os.getpid()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self.megabytes = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(_EVERY_SECONDS):
            self.megabytes = max(self.megabytes, tree_megabytes(self._root))
