"""Commands as processes, of whose output only the end is kept."""

import os
import shlex
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

PYTHON = "{python}"
MAX_OUT, MAX_ERR = 1_000_000, 16_000
_BLOCK = 65_536


@dataclass(frozen=True)
class CommandResult:
    """A command that ended: its status, and the ends of what it printed."""

    status: int
    out: str
    err: str


def with_python(words: Sequence[str], python: str) -> list[str]:
    """Words of a command with the interpreter for `{python}`, quoted inside the text of a shell."""
    return [word.replace(PYTHON, python if word == PYTHON else shlex.quote(python)) for word in words]


def run(words: Sequence[str], folder: str, environment: Mapping[str, str] = {}) -> CommandResult:
    """Run a command to its end; memory stays small whatever it prints.

    Raises:
        OSError: it cannot be started.
    """
    process = subprocess.Popen(
        with_python(words, sys.executable),
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    out, err = _Tail(process.stdout, MAX_OUT), _Tail(process.stderr, MAX_ERR)
    for tail in (out, err):
        tail.start()
    with process:
        status = process.wait()
        for tail in (out, err):
            tail.join()
    return CommandResult(status, out.text, err.text)


class _Tail(threading.Thread):
    """The end of a stream."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        super().__init__(daemon=True)
        self._stream, self._size = stream, size
        self._kept = b""

    @property
    def text(self) -> str:
        return self._kept[-self._size :].decode("utf-8", "replace")

    def run(self) -> None:
        while block := self._stream.read1(_BLOCK):  # type: ignore[attr-defined] # the pipe is buffered
            self._kept += block
            if len(self._kept) > 2 * self._size + _BLOCK:
                self._kept = self._kept[-self._size :]
