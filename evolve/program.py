"""Programs: the source text of one answer, one file or several, addressed by its content."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from evolve.errors import ProgramError
from evolve.identity import digest

MAX_PROGRAM_CHARACTERS = 1_000_000  # of a program that is evaluated


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Source files by relative path, sorted; two programs with equal files are the same program.

    Attributes:
        files: (path, text) pairs, sorted by path.
        id: `pgm_` and 32 hex digits of the SHA-256 of the canonical files.
    """

    files: tuple[tuple[str, str], ...]
    id: str = field(init=False)

    def __post_init__(self) -> None:
        if not self.files:
            raise ProgramError("a program needs at least one file")
        for path, text in self.files:
            _check_path(path)
            _check_text(path, text)
        object.__setattr__(self, "id", "pgm_" + digest(json.dumps(self.files, separators=(",", ":"))))

    @classmethod
    def of(cls, files: Mapping[str, str]) -> "Program":
        """Make a program of a mapping from path to text.

        Raises:
            ProgramError: a path leaves the program's folder, or a text holds what no source file can.
        """
        return cls(files=tuple(sorted(files.items())))

    @property
    def single(self) -> bool:
        """Whether the program is one file."""
        return len(self.files) == 1

    @property
    def text(self) -> str:
        """The text of a single-file program; of several files, all of them under headings."""
        if self.single:
            return self.files[0][1]
        return "\n".join(f"FILE: {path}\n{text}" for path, text in self.files)

    @property
    def size(self) -> int:
        """Characters over all files."""
        return sum(len(text) for _, text in self.files)

    def replace(self, changes: Mapping[str, str]) -> "Program":
        """The same program with some files changed or added."""
        return Program.of({**dict(self.files), **changes})


def _check_path(path: str) -> None:
    parts = PurePosixPath(path).parts
    plain = path and str(PurePosixPath(path)) == path and not path.startswith("/")
    if not plain or ".." in parts or "\x00" in path or "\\" in path:
        raise ProgramError(f"the path {path!r} of a program is not a plain relative path")


def _check_text(path: str, text: str) -> None:
    if "\x00" in text:
        raise ProgramError(f"{path} holds a NUL character")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ProgramError(f"{path} holds a character that UTF-8 cannot carry") from error
