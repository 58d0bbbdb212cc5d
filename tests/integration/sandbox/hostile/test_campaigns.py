"""Hostile programs among known-good ones: drawn by a seed, at both levels, on a busy machine, under a closed umask.

`EVOLVE_HOSTILE_SEED=7` draws another campaign, `EVOLVE_HOSTILE_CAMPAIGNS=20` as many of them one after the other, and
`EVOLVE_TEST_PYTHONS` names interpreters, separated by colons, beside those that are found.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.hostile.attack import BOTH
from tests.integration.sandbox.hostile.campaign import ATTACKS, busy, draw, run
from tests.integration.sandbox.interpreters import PYTHONS, reachable

SEED = int(os.environ.get("EVOLVE_HOSTILE_SEED", "1"))
CAMPAIGNS = int(os.environ.get("EVOLVE_HOSTILE_CAMPAIGNS", "1"))
SLOTS = 3


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
    assert draw(7, IsolationLevel.STRONG) == draw(7, IsolationLevel.STRONG)
    assert draw(7, IsolationLevel.STRONG) != draw(8, IsolationLevel.STRONG)


@pytest.mark.usefixtures("private_umask")
@pytest.mark.parametrize("level", BOTH)
@pytest.mark.parametrize("seed", range(SEED, SEED + CAMPAIGNS))
async def test_no_attack_changes_anything_but_its_own_outcome(home: Path, level: IsolationLevel, seed: int) -> None:
    with busy(os.cpu_count() or 1):
        complaints = await run(draw(seed, level), home, level, SLOTS, f"{os.getpid()}x{seed}", python=reachable(level))
    assert not complaints, f"EVOLVE_HOSTILE_SEED={seed} draws it again, at the level {level}:\n" + "\n".join(complaints)


@pytest.mark.parametrize("level", BOTH)
@pytest.mark.parametrize("version", PYTHONS)
async def test_no_attack_changes_anything_under_other_interpreters(
    home: Path, level: IsolationLevel, version: str
) -> None:
    cases = draw(SEED, level, share=0.1)
    complaints = await run(cases, home, level, SLOTS, f"{os.getpid()}x{version[2:]}", python=PYTHONS[version])
    assert not complaints, f"EVOLVE_HOSTILE_SEED={SEED} draws it again, under {PYTHONS[version]}:\n" + "\n".join(
        complaints
    )
