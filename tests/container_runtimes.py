"""Podman or Docker of this machine, for tests with real containers."""

import shutil
import subprocess
from functools import cache

NO_RUNTIME = "needs Podman or Docker: apt-get install --no-install-recommends podman uidmap, or start Docker"


@cache
def find_container_runtime() -> str | None:
    """A program of this machine that runs containers, and answers."""
    for name in ("podman", "docker"):
        program = shutil.which(name)
        if program and subprocess.run([program, "info"], capture_output=True, check=False, timeout=60).returncode == 0:
            return program
    return None
