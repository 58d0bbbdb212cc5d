"""Podman or Docker of this machine, for tests with real containers.

If both answer, `EVOLVE_TEST_CONTAINER_RUNTIME=docker` chooses.
"""

import os
import shutil
import subprocess
from functools import cache

NO_RUNTIME = "needs Podman or Docker: apt-get install --no-install-recommends podman uidmap, or start Docker"


CHOICE = "EVOLVE_TEST_CONTAINER_RUNTIME"


def chosen_runtime() -> str | None:
    """The runtime that the tests shall use, `podman` or `docker`; None: whichever answers."""
    return os.environ.get(CHOICE) or None


@cache
def find_container_runtime() -> str | None:
    """A program of this machine that runs containers, and answers."""
    chosen = chosen_runtime()
    for name in [chosen] if chosen else ("podman", "docker"):
        program = shutil.which(name)
        if program and subprocess.run([program, "info"], capture_output=True, check=False, timeout=60).returncode == 0:
            return program
    return None
