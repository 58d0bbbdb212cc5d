"""A certificate of a time names the device that it was measured on, and says whether the clocks were locked."""

from pathlib import Path

import pytest

from evolve.program import Program
from service.bootstrap.evaluators import SandboxEvaluators
from service.config import SandboxSettings, Settings
from service.problems.load import load_problem
from service.sandbox import device_pool
from service.sandbox.device_monitor import open_monitor
from service.sandbox.devices import Device
from service.usecases.certificates import DEVICE, ClaimedWinner, WinnerCheck, examine_winner
from tests.integration.sandbox.device_bench import write_tool
from tests.unit.problems.folders import NATIVE, SEED, native

DOCUMENT = NATIVE + "[limits]\ngpu = true\n"
FACTS, LATER = "--query-gpu=uuid,index,name,driver_version,clocks.sm,clocks.max.sm", "--query-gpu=clocks.sm"
CARDS = [Device(name=f"nvidia{n}", number=n, files=("/dev/null",), uuid="", variables={}) for n in range(2)]
MODEL = "NVIDIA L4, driver 550.54, clock 900 MHz of at most 2040, read 2 times"


async def device_checks(folder: Path, certified: str = "") -> list[WinnerCheck]:
    """What is said of devices, by a machine with two of them that are not real: no card can be had here."""
    settings = Settings(sandbox=SandboxSettings(gpu=True))
    loaded = load_problem(native(folder / "problem", DOCUMENT))
    evaluators = SandboxEvaluators(settings, devices=await open_monitor(CARDS))
    winner = ClaimedWinner(
        bundle=loaded.bundle,
        problem_name="p",
        program=Program.of({"seed.py": SEED}),
        claims={"gain": 1.0},
        held_out={},
        device=certified,
    )
    found = [check async for check in examine_winner(winner, evaluators, others=False)]
    assert all(check.holds for check in found), found
    return [check for check in found if check.name == DEVICE]


@pytest.mark.parametrize(("after", "said"), [("900", "locked"), ("2040", "not locked")])
async def test_a_certificate_says_on_what_it_was_measured_and_whether_clocks_were_locked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after: str, said: str
) -> None:
    tools = tmp_path / "tools"
    rows = "\n".join(f"GPU-{n}, {n}, NVIDIA L4, 550.54, 900, 2040" for n in range(2))
    write_tool(tools, {FACTS: rows, LATER: after})
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setattr(device_pool, "_PLACES", (str(tmp_path),))
    (check,) = await device_checks(tmp_path)
    assert check.detail.startswith("NVIDIA L4, driver 550.54, clock 900")
    assert check.detail.endswith(f": {said}")
    assert ";" not in check.detail, "of the device that was used alone"
    if said == "locked":
        assert check.detail.startswith(MODEL)
        (again,) = await device_checks(tmp_path / "elsewhere", certified="NVIDIA H100, clocks unknown")
        assert again.detail.endswith("When it was certified: NVIDIA H100, clocks unknown")
