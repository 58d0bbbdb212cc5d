"""Mutations of what a program picks and returns."""

import asyncio

import pytest

from evolve.program import Program
from tests.unit.syntax.proposals import children, policy


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(x):\n    return x\n", "def f(x):\n    return -x\n"),
        ("def f(x, y):\n    return x\n", "def f(x, y):\n    return y\n"),
        ("def f(x):\n    return min(x)\n", "def f(x):\n    return max(x)\n"),
        ("def f(x):\n    return x.argmin()\n", "def f(x):\n    return x.argmax()\n"),
        ("def f(x):\n    x.sort(reverse=True)\n", "def f(x):\n    x.sort(reverse=False)\n"),
    ],
)
def test_a_program_without_a_number_has_children(text: str, expected: str) -> None:
    assert expected in {child.text for child in children(Program.of({"p.py": text}))}


def test_a_scaled_result_brings_a_number_to_tune() -> None:
    assert any("return x * 1.1" in child.text for child in children(Program.of({"p.py": "def f(x):\n    return x\n"})))


@pytest.mark.parametrize(("text", "changes"), [("import os\n", False), ("def f(x):\n    return x\n", True)])
def test_whether_anything_can_change_is_known_before_a_run(text: str, changes: bool) -> None:
    program = Program.of({"p.py": text})

    async def asked() -> bool:
        return policy(program).changeable([program])

    assert asyncio.run(asked()) is changes
