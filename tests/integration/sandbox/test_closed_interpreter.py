"""An interpreter below a folder that is closed to other users, as below the superuser's home."""

import subprocess
import sys
from pathlib import Path

import pytest

from evolve.evaluation import Outcome
from service.sandbox.evaluator import isolation_warnings
from service.sandbox.layers import REACHABLE, IsolationLevel
from tests.integration.sandbox.bench import program, sandbox

pytestmark = pytest.mark.root  # the programs of the superuser alone run as other users


@pytest.fixture
def closed(tmp_path: Path) -> Path:
    """A folder that nobody else passes, with an environment in it that holds a module."""
    folder = tmp_path / "closed"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "venv"], check=True)
    (packages,) = (folder / "venv").glob("lib/python*/site-packages")
    (packages / "kept_inside.py").write_text("VALUE = 2.5\n")
    folder.chmod(0o700)
    return folder


IMPORTS = "import kept_inside\ndef solve():\n    return kept_inside.VALUE\n"
STARTS = """
    import subprocess, sys
    def solve():
        return float(subprocess.run([sys.executable, "-c", "print(2.5)"], capture_output=True, check=True).stdout)
"""


@pytest.mark.parametrize("source", [IMPORTS, STARTS])
async def test_namespaces_show_it_to_programs(tmp_path: Path, closed: Path, source: str) -> None:
    async with sandbox(tmp_path, python=str(closed / "venv/bin/python"), require=IsolationLevel.STRONG) as opened:
        assert (await opened.evaluate(program(source), "evl_1")).scores == {"score": 2.5}
        assert isolation_warnings(opened) == []


async def test_the_programs_beside_it_are_on_the_path(tmp_path: Path, closed: Path) -> None:
    tool = closed / "venv/bin/measure"
    tool.write_text("#!/bin/sh\necho 2.5\n")
    tool.chmod(0o755)
    source = STARTS.replace('[sys.executable, "-c", "print(2.5)"]', '["measure"]')
    async with sandbox(tmp_path, python=str(closed / "venv/bin/python"), require=IsolationLevel.STRONG) as opened:
        assert (await opened.evaluate(program(source), "evl_1")).scores == {"score": 2.5}


@pytest.mark.parametrize("source", [IMPORTS, STARTS])
async def test_without_namespaces_layer_warning_and_program_say_what_is_closed(
    tmp_path: Path, closed: Path, source: str
) -> None:
    async with sandbox(tmp_path, python=str(closed / "venv/bin/python"), force=IsolationLevel.MEDIUM) as opened:
        evaluation = await opened.evaluate(program(source), "evl_1")
        (reason,) = [layer.reason for layer in opened.layers if layer.name == REACHABLE and not layer.on]
        assert isolation_warnings(opened) == [reason]
    assert "is closed to other users, and without the layer namespaces programs see it as it is" in reason
    assert "Open it (chmod o+x " in reason
    assert evaluation.outcome is Outcome.ERROR
    assert evaluation.reason.endswith(reason)
