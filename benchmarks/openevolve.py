"""OpenEvolve for benchmarks: in an environment of its own, run as its users run it, timed by its own log."""

import os
import re
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from benchmarks.memory import PeakMemory

VERSION = "0.4.0"
_GLANCE_SECONDS = 0.2
_COMPLETED = re.compile(
    r"^(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}).*Iteration \d+: Program \S+ .*completed in", re.MULTILINE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """A run: when each of its candidates was done, in seconds, and the most memory of all its processes."""

    done_at: Sequence[float]
    megabytes: float


def environment(folder: Path) -> Path:
    """The interpreter of an environment that holds OpenEvolve; made when it is not there yet."""
    python = folder / "bin" / "python"
    if not (folder / f"openevolve-{VERSION}").exists():
        venv.create(folder, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", f"openevolve=={VERSION}"], check=True)
        (folder / f"openevolve-{VERSION}").touch()
    return python


def run_openevolve(
    python: Path,
    project: Path,
    output: Path,
    iterations: int,
    limit_seconds: float,
    enough: Callable[[], bool] = lambda: False,
) -> Ran:
    """Run a project as the command line does; what is not done by the limit is left out.

    Args:
        enough: asked five times a second whether the run has found what it was to find; then it is stopped.
    """
    log = output / "log.txt"
    output.mkdir(parents=True)
    command = [
        str(python), "-m", "openevolve.cli", str(project / "initial_program.py"), str(project / "evaluator.py"),
        "--config", str(project / "config.yaml"), "--output", str(output), "--iterations", str(iterations),
    ]  # fmt: skip
    with log.open("w") as stream:
        kept = {key: os.environ[key] for key in ("PATH", "HOME", "LANG") if key in os.environ}
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
            if process.poll() is None and time.monotonic() >= until:
                sys.stderr.write(f"OpenEvolve was stopped after {limit_seconds:.0f} s\n")
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    found = _COMPLETED.findall(log.read_text(errors="replace"))
    if not found:
        raise SystemExit(f"OpenEvolve finished no candidate: {log.read_text(errors='replace')[-2000:]}")
    times = [datetime.strptime(at, "%Y-%m-%d %H:%M:%S,%f").timestamp() for at in found]  # noqa: DTZ007 - differences alone count
    return Ran(done_at=times, megabytes=memory.megabytes)
