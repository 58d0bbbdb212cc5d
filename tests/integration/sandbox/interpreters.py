"""Interpreters to run programs under.

`EVOLVE_TEST_PYTHONS` names some, separated by colons, beside those that are found.
"""

import os
import shutil
import subprocess

from service.sandbox.inside import namespaces
from service.sandbox.inside.sandbox_spec import interpreter_paths
from service.sandbox.layers import IsolationLevel


def _version(python: str) -> str:
    """Of an interpreter that can run the sandbox; empty: it cannot."""
    code = "import sys; print('.'.join(map(str, sys.version_info[:2])) if sys.version_info >= (3, 11) else '')"
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def _interpreters() -> dict[str, str]:
    """One by version: those named come first, then those where everybody may run them, then others."""
    places = (f"/usr/bin{os.pathsep}/usr/local/bin", os.environ.get("PATH", ""))
    found = [shutil.which(f"python3.{minor}", path=place) or "" for place in places for minor in range(11, 16)]
    named = [*os.environ.get("EVOLVE_TEST_PYTHONS", "").split(os.pathsep), *found]
    return {version: python for python in reversed(named) if python and (version := _version(python))}


PYTHONS = _interpreters()


def reachable(level: IsolationLevel) -> str:
    """Ours, unless users that the superuser's programs run as cannot reach it; namespaces show it to them."""
    closed = any(map(namespaces.closed_ancestor, interpreter_paths()))
    if not closed or os.geteuid() != 0 or level is IsolationLevel.STRONG:
        return ""
    found = [python for python in PYTHONS.values() if not namespaces.closed_ancestor(os.path.realpath(python))]
    assert found, "install a Python that every user can run, such as Debian's"
    return found[0]
