"""Hostile programs among known-good ones: drawn by a seed, at both levels, on a busy machine, under a closed umask.

`EVOLVE_HOSTILE_SEED=7` draws another campaign, `EVOLVE_HOSTILE_CAMPAIGNS=20` as many of them one after the other, and
`EVOLVE_TEST_PYTHONS` names interpreters, separated by colons, beside those that are found.
"""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.sandbox.inside import namespaces
from service.sandbox.inside.cell import interpreter_paths
from service.sandbox.layers import Level
from tests.integration.sandbox.hostile.attack import BOTH
from tests.integration.sandbox.hostile.campaign import ATTACKS, busy, draw, run

SEED = int(os.environ.get("EVOLVE_HOSTILE_SEED", "1"))
CAMPAIGNS = int(os.environ.get("EVOLVE_HOSTILE_CAMPAIGNS", "1"))
SLOTS = 3


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


def _python(level: Level) -> str:
    """Ours, unless users that the superuser's programs run as cannot reach it; namespaces show it to them."""
    closed = any(map(namespaces.closed_ancestor, interpreter_paths()))
    if not closed or os.geteuid() != 0 or level is Level.STRONG:
        return ""
    reachable = [python for python in PYTHONS.values() if not namespaces.closed_ancestor(os.path.realpath(python))]
    assert reachable, "install a Python that every user can run, such as Debian's"
    return reachable[0]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder that other users may enter."""
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.fixture
def private_umask() -> Iterator[None]:
    """New files are closed to other users."""
    before = os.umask(0o077)
    yield
    os.umask(before)


def test_there_are_ninety_kinds_of_attack_and_each_has_its_name() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 90


def test_a_seed_draws_the_same_campaign_again() -> None:
    assert draw(7, Level.STRONG) == draw(7, Level.STRONG)
    assert draw(7, Level.STRONG) != draw(8, Level.STRONG)


@pytest.mark.usefixtures("private_umask")
@pytest.mark.parametrize("level", BOTH)
@pytest.mark.parametrize("seed", range(SEED, SEED + CAMPAIGNS))
async def test_no_attack_changes_anything_but_its_own_outcome(home: Path, level: Level, seed: int) -> None:
    with busy(os.cpu_count() or 1):
        complaints = await run(draw(seed, level), home, level, SLOTS, f"{os.getpid()}x{seed}", python=_python(level))
    assert not complaints, f"EVOLVE_HOSTILE_SEED={seed} draws it again, at the level {level}:\n" + "\n".join(complaints)


@pytest.mark.parametrize("level", BOTH)
@pytest.mark.parametrize("version", PYTHONS)
async def test_no_attack_changes_anything_under_other_interpreters(home: Path, level: Level, version: str) -> None:
    cases = draw(SEED, level, share=0.1)
    complaints = await run(cases, home, level, SLOTS, f"{os.getpid()}x{version[2:]}", python=PYTHONS[version])
    assert not complaints, f"EVOLVE_HOSTILE_SEED={SEED} draws it again, under {PYTHONS[version]}:\n" + "\n".join(
        complaints
    )
