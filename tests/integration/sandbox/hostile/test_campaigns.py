"""Hostile programs among known-good ones: drawn by a seed, at both levels, on a busy machine, under a closed umask.

`EVOLVE_HOSTILE_SEED=7` draws another campaign, `EVOLVE_HOSTILE_CAMPAIGNS=20` as many of them one after the other, and
`EVOLVE_TEST_PYTHONS` names interpreters, separated by colons, beside those that are found.
"""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.hostile.attack import BOTH
from tests.integration.sandbox.hostile.campaign import ATTACKS, busy, draw, run, stalls
from tests.integration.sandbox.interpreters import PYTHONS, reachable

SEED = int(os.environ.get("EVOLVE_HOSTILE_SEED", "1"))
CAMPAIGNS = int(os.environ.get("EVOLVE_HOSTILE_CAMPAIGNS", "1"))
SLOTS = 3
# A stall of the machine lets good programs time out, and slots are renewed. It excuses nothing else.
ATTEMPTS, EXCUSED = 2, ("the program ran longer than", "processes: ")


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that other users may enter. Under `tmp_path`, they could not."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


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
    complaints: list[str] = []
    for attempt in range(ATTEMPTS):
        folder, token = home / str(attempt), f"{os.getpid()}x{seed}x{attempt}"
        folder.mkdir(mode=0o755)
        folder.chmod(0o755)
        with busy(os.cpu_count() or 1), stalls() as found:
            complaints = await run(draw(seed, level), folder, level, SLOTS, token, python=reachable(level))
        unexcused = [one for one in complaints if not any(words in one for words in EXCUSED)]
        if unexcused or not complaints or not found:
            break
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
