"""The command line called in the process of a test: its words, files and answers, without the start of an interpreter.

A test whose subject is the process itself (signals, streams that close, the interpreter's start and end, rights of its
own, a server) starts one; one that asks for an exit code and what was said calls it here.
"""

import io
import json
import logging
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import structlog

from service.cli.main import main

EVOLVE = str(Path(sys.executable).with_name("evolve"))


@dataclass(frozen=True)
class Said:
    """What a command said."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


def call_here(words: Sequence[str], environment: Mapping[str, str]) -> Said:
    """Call the command with words, as one whose environment is the given one and nothing else."""
    out, err = _pipe(), _pipe()
    with _as_a_process(words, environment), _logs_as_before(), redirect_stdout(out), redirect_stderr(err):
        code = main(words)
    return Said(code=code, out=_read(out), err=_read(err))


def _pipe() -> io.TextIOWrapper:
    """A stream that is no terminal and has bytes below, as those of a process have."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")


def _read(stream: io.TextIOWrapper) -> str:
    stream.flush()
    stream.seek(0)
    return stream.read().replace("\r\n", "\n")


@contextmanager
def _as_a_process(words: Sequence[str], environment: Mapping[str, str]) -> Iterator[None]:
    with (
        mock.patch.dict(os.environ, environment, clear=True),
        mock.patch.object(sys, "argv", [EVOLVE, *words]),
        mock.patch.object(tempfile, "tempdir", None),  # where TMPDIR says
    ):
        yield


@contextmanager
def _logs_as_before() -> Iterator[None]:
    """A command sends logs to its own stderr; whoever comes next has another."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        structlog.reset_defaults()
