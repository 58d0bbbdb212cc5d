"""Other systems for benchmarks: each in an environment of its own, and run as its users run it."""

import os
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.memory import PeakMemory

_GLANCE_SECONDS = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command ended: whether before its limit, and the most megabytes of all its processes."""

    in_time: bool
    megabytes: float


def environment(folder: Path, package: str, version: str) -> Path:
    """The interpreter of an environment that holds a package; made when it is not there yet."""
    python = folder / "bin" / "python"
    if not (folder / f"{package}-{version}").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"{package}=={version}"], check=True)
        (folder / f"{package}-{version}").touch()
    return python


def run_peer(
    command: Sequence[str], log: Path, limit_seconds: float, enough: Callable[[], bool] = lambda: False
) -> Ended:
    """Run a command in a session of its own, its output in a file, and with its environment active.

    Args:
        limit_seconds: after so long it is stopped.
        enough: asked five times a second whether it has found what it was to find; then it is stopped too.
    """
    kept = {key: os.environ[key] for key in ("HOME", "LANG") if key in os.environ}
    kept["PATH"] = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", os.defpath)])
    with log.open("w") as stream:
        process = subprocess.Popen(
            command,
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=kept | {"OPENAI_API_KEY": "none"},
            start_new_session=True,
        )
        memory = PeakMemory(process.pid)
        until = time.monotonic() + limit_seconds
        try:
            with memory:
                while process.poll() is None and time.monotonic() < until and not enough():
                    time.sleep(_GLANCE_SECONDS)
            in_time = process.poll() is not None or time.monotonic() < until
            if not in_time:
                sys.stderr.write(f"{Path(command[0]).name} was stopped after {limit_seconds:.0f} s\n")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    return Ended(in_time=in_time, megabytes=memory.megabytes)
