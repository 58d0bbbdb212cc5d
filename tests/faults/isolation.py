"""Namespaces of the suite's own, where it may cut networks and fill disks; they end with the process that asked."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO

from tests import services

_NAMESPACES = ("--net", "--mount", "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc")
_PROBE_SECONDS = 60.0


@contextmanager
def isolated(
    command: Sequence[str], home: Path, stderr: "int | IO[bytes] | None" = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command in namespaces of its own, as this user; all that is in them ends with the block.

    Args:
        command: its words.
        home: an empty folder, on which the filesystems of the namespaces are mounted.
        stderr: where it writes its errors, as for Popen.
    """
    keeper = [sys.executable, "-m", "tests.faults.keeper", str(home), *_as_this_user(), *command]
    with beside([*_namespaces(), *keeper], stderr) as process:
        yield process


@contextmanager
def beside(command: Sequence[str], stderr: "int | IO[bytes] | None" = None) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command that ends with the block; its standard input closes when this process is gone."""
    words = [*services.ending_with_us(signal.SIGKILL), *command]
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stderr=stderr, start_new_session=True)
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        for stream in filter(None, (process.stdin, process.stderr)):
            stream.close()


@cache
def refusal() -> str:
    """Why namespaces cannot be had here; empty: they can."""
    if shutil.which("unshare") is None:
        return "there is no program unshare"
    with services.scratch("evolve-faults-") as home, isolated(["true"], home, subprocess.PIPE) as process:
        assert process.stderr is not None
        said = process.stderr.read().decode(errors="replace").strip().splitlines()
        code = process.wait(_PROBE_SECONDS)
    return said[-1] if code and said else f"unshare ended with {code}" if code else ""


@cache
def own_processes() -> tuple[str, ...]:
    """Words before a command that give it process ids of its own, as a container does; none where that cannot be."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-current-user"]
    words = ("unshare", *user, "--pid", "--fork", "--kill-child=SIGKILL", "--mount-proc", "--")
    known = shutil.which("unshare") is not None
    return words if known and not subprocess.run([*words, "true"], capture_output=True, check=False).returncode else ()


def _namespaces() -> list[str]:
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return ["unshare", *user, *_NAMESPACES, "--"]


def _as_this_user() -> list[str]:
    """Words that take the keeper's rights from what it starts."""
    if os.geteuid() == 0:
        return []
    return ["unshare", "--user", f"--map-user={os.geteuid()}", f"--map-group={os.getegid()}", "--"]
