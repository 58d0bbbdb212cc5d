"""The process of a back end: its lines, its end, and why it failed."""

import json
import os
import queue
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import IO

from service.errors import ConflictError
from service.ports.training_backends import TrainingStep
from service.process.bound_child import bound_command

LEAVE_SECONDS = 10.0
EVALUATION_SECONDS = 3600.0
POLL_SECONDS = 0.5
# After its end, for what its pipes still hold. A process that it left behind keeps them open.
DRAIN_SECONDS = 5.0
MAX_LINE_CHARACTERS = 1 << 20
MAX_ERROR_CHARACTERS = 500
_ERROR_LINES = 200
_SHELL_SIGNAL = 128  # a shell's exit code for a command that a signal ended is above it
_MEMORY = ("MemoryError", "out of memory", "can't allocate memory", "Cannot allocate memory")


class BackendProcess:
    """A command in a process group of its own, which the kernel kills when this process dies.

    Args:
        command: its words.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            bound_command(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._errors: list[str] = []
        self._drained, self._ended_at = False, 0.0
        works = (self._read, self._listen)
        self._threads = [threading.Thread(target=work, daemon=True) for work in works]
        for thread in self._threads:
            thread.start()

    @property
    def ended(self) -> bool:
        """Whether it has ended, and its lines were read."""
        if self._drained or self._process.poll() is None:
            return self._drained
        self._ended_at = self._ended_at or time.monotonic()
        return time.monotonic() - self._ended_at > DRAIN_SECONDS

    def lines(self, seconds: float) -> list[str]:
        """Lines of its standard output that have come. It waits so long for the first."""
        found: list[str] = []
        with suppress(queue.Empty):
            line = self._lines.get(timeout=seconds)
            while line is not None:
                found.append(line)
                line = self._lines.get_nowait()
            self._drained = True
        return found

    def stop(self) -> None:
        """Ask it and all that it started to end, then make them. Afterwards, `fault` is known."""
        if self._process.poll() is None:
            self._signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(LEAVE_SECONDS)
        self._signal(signal.SIGKILL)
        self._process.wait()
        for thread, pipe in zip(self._threads, (self._process.stdout, self._process.stderr), strict=True):
            thread.join(DRAIN_SECONDS)
            if pipe is not None and not thread.is_alive():  # a process in another group may hold it
                pipe.close()

    def fault(self) -> str:
        """Why it failed, in a sentence. Empty: it did not."""
        return fault_of(self._process.returncode, "".join(self._errors))

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _read(self) -> None:
        for line in _bounded(self._process.stdout):
            self._lines.put(line)
        self._process.wait()
        self._lines.put(None)

    def _listen(self) -> None:
        for line in _bounded(self._process.stderr):
            self._errors.append(line)
            del self._errors[:-_ERROR_LINES]


def run_evaluation(words: Sequence[str], stopped: threading.Event) -> None:
    """Run the command of an evaluation to its end.

    Args:
        words: of the command.
        stopped: ends it when it is set.

    Raises:
        ConflictError: it failed, took too long, or was stopped.
    """
    process, began = BackendProcess(words), time.monotonic()
    try:
        while not process.ended:
            process.lines(POLL_SECONDS)
            if stopped.is_set():
                raise ConflictError("the evaluation was stopped")
            if time.monotonic() - began > EVALUATION_SECONDS:
                raise ConflictError(f"the evaluation took longer than {EVALUATION_SECONDS:g} seconds")
    finally:
        process.stop()
    if reason := process.fault():
        raise ConflictError(f"the evaluation failed: {reason}")


def read_step(line: str) -> TrainingStep | None:
    """A step from a line of `--json`. None: it tells none."""
    try:
        value = json.loads(line)
    except ValueError:
        return None
    if not isinstance(value, dict) or value.get("kind") != "training.step":
        return None
    figures = {
        name: number
        for name, number in value.items()
        if name not in ("schema", "step", "steps") and isinstance(number, int | float)
    }
    return TrainingStep(stage=str(value["stage"]), step=int(value["step"]), steps=int(value["steps"]), figures=figures)


def fault_of(code: int, errors: str) -> str:
    """Why a process failed, in a sentence. Empty: it did not.

    Args:
        code: its exit code. Negative: the signal that ended it.
        errors: the end of its standard error.
    """
    if code == 0:
        return ""
    said = _last_sentence(errors)
    number = -code if code < 0 else code - _SHELL_SIGNAL
    if number == signal.SIGKILL:
        return (
            "the back end was killed (SIGKILL), as the kernel does when memory runs out: give the trainer more memory,"
            " or train less at once, and resume the job"
        )
    if any(word in errors for word in _MEMORY):
        return f"the back end ran out of memory: {said}"
    with suppress(ValueError):
        name = signal.Signals(number).name
        return f"the back end was ended by the signal {name}" + (f": {said}" if said else "")
    return f"the back end failed: {said or f'exit code {code}'}"


def one_line(text: str) -> str:
    """A text as one line without control characters, cut."""
    shown = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(shown.split())[:MAX_ERROR_CHARACTERS]


def _last_sentence(errors: str) -> str:
    """The last line, which a traceback ends with. Of an error as `--json` writes it, its message."""
    lines = [line for line in errors.splitlines() if line.strip()]
    if not lines:
        return ""
    with suppress(ValueError, KeyError, TypeError):
        return one_line(str(json.loads(lines[-1])["error"]["message"]))
    return one_line(lines[-1])


def _bounded(pipe: IO[str] | None) -> Iterator[str]:
    assert pipe is not None
    return iter(lambda: pipe.readline(MAX_LINE_CHARACTERS), "")
