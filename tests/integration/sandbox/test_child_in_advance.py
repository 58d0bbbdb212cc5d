"""The child that waits for the next order has its layers already, serves one order, and costs nobody an evaluation."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from service.sandbox.evaluator import SandboxEvaluator
from tests.integration.sandbox.bench import GOOD, children_of, fork_server_of, keeper_of, program, sandbox
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the level strong needs Linux")

OWN_PID = program("import os\ndef solve():\n    return os.getpid()\n")


def status_of(pid: int) -> dict[str, list[str]]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: value.split() for name, _, value in (line.partition(":") for line in lines)}


def layered_child(opened: SandboxEvaluator) -> int:
    """The child that waits, once it has put on its last layer but those of a role."""
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        for pid in children_of(fork_server_of(opened)):
            if status_of(pid)["Seccomp"] == ["2"]:
                return pid
        time.sleep(0.001)
    raise AssertionError("no child waits under the filter of system calls")


async def test_a_child_that_waits_has_the_layers_of_every_order(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as opened:
        assert (await opened.evaluate(GOOD, "evl_1")).ok
        status = status_of(layered_child(opened))
    assert status["NoNewPrivs"] == ["1"]
    assert {status[name][0].strip("0") for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {""}
    if os.geteuid() == 0:
        assert "0" not in {*status["Uid"], *status["Gid"]}
        assert status.get("Groups") == []


async def test_a_child_that_waits_serves_the_next_order_and_no_other(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as opened:
        served = []
        for number in range(3):
            waiting = int(status_of(layered_child(opened))["NSpid"][-1])
            evaluation = await opened.evaluate(OWN_PID, f"evl_{number}")
            assert evaluation.scores == {"score": waiting}
            served.append(waiting)
    assert len(set(served)) == 3


async def test_a_child_that_dies_while_it_waits_costs_no_evaluation(tmp_path: Path) -> None:
    async with sandbox(tmp_path) as opened:
        first = keeper_of(opened)
        os.kill(layered_child(opened), signal.SIGKILL)
        assert (await opened.evaluate(GOOD, "evl_1")).ok
        assert keeper_of(opened) != first
