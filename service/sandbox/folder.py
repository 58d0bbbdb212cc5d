"""The places of an evaluator: a read-only copy of the problem's folder, and a folder for each cell."""

import contextlib
import json
import os
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from service.errors import InvalidProblemError
from service.sandbox import scratch
from service.sandbox.inside.sandbox_spec import ROOMS
from service.sandbox.scratch import Scratch

_LEFT_OUT = shutil.ignore_patterns("__pycache__", ".git", ".venv", "node_modules", "*.pyc")
_MAX_FILE_BYTES, _MAX_COMPILED_BYTES = 256 * 1024, 4 * 1024 * 1024
_MAX_COUNTED = 100_000
_SHIM = Path(__file__).parent / "shim"
_IMPORTS = "evolve_imports"


@dataclass(frozen=True, slots=True)
class SandboxFolders:
    """Where an evaluator keeps what its processes see; a copy, so that later edits change no run.

    Attributes:
        scratch: holds all of it, and is removed at the end.
        laid_out: every path below it that must be there for as long as it is used.
        other_users: whether keepers are other users than this process.
    """

    scratch: Scratch
    laid_out: tuple[str, ...] = ()
    other_users: bool = False

    @property
    def base(self) -> Path:
        """The folder that holds all of it."""
        return self.scratch.path

    @property
    def problem(self) -> Path:
        """The copy of the problem's folder."""
        return self.base / "problem"

    @property
    def shim(self) -> Path:
        """Modules that evaluators expect."""
        return self.base / "shim"

    @property
    def imports(self) -> str:
        """The modules that the problem imports from outside of its folder; empty: there are none."""
        return str(self.problem / _IMPORTS) if (self.problem / _IMPORTS).is_dir() else ""

    @property
    def inputs(self) -> Path:
        """The evaluator's inputs, one JSON value a line; keepers alone read it."""
        return self.base / "inputs"

    @property
    def held_out(self) -> Path:
        """The inputs that are held out, likewise."""
        return self.base / "held_out"

    def log(self, number: int) -> Path:
        """What the zygote that was started for a cell says when it cannot start."""
        return self.base / f"zygote-{number}.log"

    def cell(self, number: int) -> Path:
        """The folder of one cell."""
        return self.base / "cells" / str(number)

    def problem_kb(self) -> int:
        """Size of the problem's copy, counted in pages."""
        files = [path for path in self.problem.rglob("*") if path.is_file() and not path.is_symlink()]
        return sum(4 + path.stat().st_size // 1024 for path in files)

    def sources(self) -> list[str]:
        """Python files of the problem that are worth compiling for all evaluations at once.

        That is done under no limit, and takes some hundred times the memory of the text: larger files, and those beyond
        a common size, are left to the evaluations that import them, and to their limits.
        """
        found, left = [], _MAX_COMPILED_BYTES
        for path in sorted(self.problem.rglob("*.py")):
            size = path.stat().st_size if path.is_file() else _MAX_COMPILED_BYTES
            if size <= min(left, _MAX_FILE_BYTES):
                found.append(str(path))
                left -= size
        return found

    def keep_inputs(self, inputs: Sequence[object], place: Path) -> None:
        """Store inputs of the evaluator for the keepers."""
        lines = "".join(json.dumps(value, separators=(",", ":")) + "\n" for value in inputs)
        place.write_text(lines, encoding="utf-8")
        place.chmod(0o644 if self.other_users else 0o600)

    def missing(self, *later: str) -> str:
        """A path that somebody else removed, of those laid out and those that came later; empty: all is there."""
        return next((path for path in (*self.laid_out, *later) if not os.path.lexists(path)), "")

    def remove(self) -> None:
        """Leave nothing behind."""
        self.scratch.remove()


def prepare(folder: Path, slots: int, *, other_users: bool = False) -> SandboxFolders:
    """Copy a problem's folder and lay out the cells; what processes that were killed left of such is removed.

    Args:
        folder: of the problem.
        slots: number of cells.
        other_users: whether keepers will be other users than this process, as in a container.

    Raises:
        InvalidProblemError: the folder cannot be read.
        NoRoomError: there is no room for its copy.
    """
    scratch.sweep()
    scratch.require_room()
    places = SandboxFolders(scratch.make("sandbox"))
    try:
        shutil.copytree(folder, places.problem, symlinks=True, ignore=_LEFT_OUT)
        shutil.copytree(_SHIM, places.shim, ignore=_LEFT_OUT)
    except (OSError, shutil.Error) as error:
        try:
            scratch.require_room(places.base)
        finally:
            places.remove()
        raise InvalidProblemError([f"the folder {folder} cannot be read: {_first(error)}"]) from error
    rooms = [places.cell(number) / role for number in range(slots) for role in ROOMS]
    for room in rooms:
        room.mkdir(parents=True)
    if other_users or os.geteuid() == 0:  # programs run as other users, who must pass, and look around no further
        places.base.chmod(0o711)
        _open_up(places.base / "cells")
        _open_up(places.problem)
        _open_up(places.shim)
    for room in rooms if other_users else ():
        room.chmod(0o777)  # what a container mounts over it has its mode
    laid_out = tuple(str(path) for path in sorted(places.base.rglob("*")))
    return SandboxFolders(places.scratch, laid_out=laid_out, other_users=other_users)


def size_kb(paths: Iterable[str]) -> int:
    """What the files at and below some paths take; of very many files the first are counted."""
    counted, total = 0, 0
    for path in paths:
        lists = [(os.path.dirname(path), [], [os.path.basename(path)])] if os.path.isfile(path) else os.walk(path)
        for top, _, names in lists:
            for name in names:
                with contextlib.suppress(OSError):
                    total += os.lstat(os.path.join(top, name)).st_size
            counted += len(names)
            if counted > _MAX_COUNTED:
                return total // 1024
    return total // 1024


def _open_up(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _first(error: OSError) -> str:
    if isinstance(error, shutil.Error) and error.args and error.args[0]:
        return str(error.args[0][0][2])
    return error.strerror or str(error)
