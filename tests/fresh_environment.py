"""Virtual environments as a stranger makes them: the built wheel and what running needs, without this checkout."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import Distribution, PackageNotFoundError
from pathlib import Path

TOP = Path(__file__).parents[1]
_NAMED = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==", re.MULTILINE)


def make_environment(folder: Path) -> Path:
    """Make an environment in a folder, and return its `evolve`.

    Its packages are those of `requirements/base.txt`. They are copied from the environment of the tests, which has
    them by the same lock, so that no registry is asked.
    """
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = (folder / "lib").glob("python*/site-packages")
    for distribution in _needed():
        _copy(distribution, packages)
    wheels = folder / "wheels"
    _call("-m", "hatchling", "build", "--target", "wheel", "--directory", str(wheels))
    (wheel,) = wheels.glob("*.whl")
    install = ("install", "--quiet", "--no-index", "--no-deps", str(wheel))
    _call("-m", "pip", "--disable-pip-version-check", "--python", str(folder / "bin" / "python"), *install)
    return folder / "bin" / "evolve"


def _needed() -> Iterator[Distribution]:
    """What the lock names, but packages of other systems."""
    for name in set(_NAMED.findall((TOP / "requirements" / "base.txt").read_text(encoding="utf-8"))):
        with suppress(PackageNotFoundError):
            yield Distribution.from_name(name)


def _copy(distribution: Distribution, packages: Path) -> None:
    for file in distribution.files or ():
        if ".." in file.parts:  # a program, which starts the interpreter of its own environment
            continue
        target = packages / file
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file.locate(), target)
        except OSError:  # another disk, or another owner
            shutil.copy2(file.locate(), target)


def _call(*words: str) -> None:
    subprocess.run([sys.executable, *words], cwd=TOP, capture_output=True, check=True)
