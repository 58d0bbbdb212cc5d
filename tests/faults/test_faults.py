"""Runs go on while the processes under them are killed, stalled and cut off: nothing is lost, doubled or left over."""

import os
import secrets
import sys
from pathlib import Path

import pytest

from tests import services
from tests.faults.campaign import COMPLAINTS
from tests.faults.isolation import beside, isolated, refusal

SECONDS, SEED = "EVOLVE_FAULT_SECONDS", "EVOLVE_FAULT_SEED"
DEFAULT_SECONDS = 60.0
# To start, to come to an end, to be read and to leave, on a busy machine.
BEYOND_SECONDS = 420.0


@pytest.mark.faults
@pytest.mark.timeout(0)  # as long as is asked for
def test_runs_weather_kills_and_stalls_of_everything(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seconds = float(os.environ.get(SECONDS) or DEFAULT_SECONDS)
    seed = int(os.environ.get(SEED) or secrets.randbits(32))
    complaints, errors = tmp_path / COMPLAINTS, tmp_path / "errors"
    where = f"no namespaces ({why}): some faults are left out" if (why := refusal()) else "in namespaces"
    with capsys.disabled(), services.scratch("evolve-faults-") as home:
        print(f"\nfaults for {seconds:g} s, {SEED}={seed}, logs in {tmp_path}, {where}", flush=True)
        home.chmod(0o755)
        words = [sys.executable, "-m", "tests.faults.campaign", str(tmp_path), str(home), str(seconds), str(seed)]
        with errors.open("wb") as file, beside(words, file) if why else isolated(words, home, file) as process:
            code = process.wait(seconds + BEYOND_SECONDS)
    found = complaints if complaints.exists() else errors
    story = found.read_text(errors="replace")
    assert code == 0, f"{story}\n{SEED}={seed}"
