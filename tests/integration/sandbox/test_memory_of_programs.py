"""A program finds nothing in its memory of what came before it: no value, print, message or input of another."""

import os
from pathlib import Path

import pytest

from service.sandbox.layers import IsolationLevel
from tests.integration.sandbox.bench import program, sandbox
from tests.integration.sandbox.hostile.attack import PRELUDE
from tests.integration.sandbox.hostile.reaching import MEMORY
from tests.integration.sandbox.interpreters import reachable

# Each mark is put together while the program runs, so that its source does not hold it.
LEAVES = {
    "value": "def solve(n):\n    return ['mark', mark(1)]\n",
    "print": "def solve(n):\n    print(mark(2))\n    return 1.0\n",
    "message": "def solve(n):\n    raise ValueError(mark(3))\n",
    "failed print": "print(mark(4))\nraise ValueError('no')\n",
    "message of a failed program": "raise ValueError(mark(5))\n",
}
EVALUATOR = """
def inputs():
    return [["mark-6-TOKEN;"]]
def score(outputs, program):
    print("mark-7-TOKEN;")
    return {"score": 1.0, "feedback": str(outputs[0]["value"])}
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder that other users may enter."""
    tmp_path.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("force", [IsolationLevel.STRONG, IsolationLevel.MEDIUM])
async def test_nothing_of_earlier_programs_is_in_the_memory_of_a_later_one(home: Path, force: IsolationLevel) -> None:
    token = f"{os.getpid()}"
    leaves = f"def mark(kind):\n    return f'mark-{{kind}}-{token};'\n"
    looks = PRELUDE + MEMORY.replace("PATTERN", f"mark-([0-9])-{token};")
    async with sandbox(home, EVALUATOR.replace("TOKEN", token), force=force, python=reachable(force)) as opened:
        for number, source in enumerate(LEAVES.values()):
            await opened.evaluate(program(leaves + source), f"evl_{number}")
        # Its own input is in its memory too.
        evaluation = await opened.evaluate(program(looks), "evl_last")
    assert evaluation.ok, evaluation
    assert evaluation.feedback == "[6]"
