"""A program that can no longer become valid is noticed while it is written, and no other is."""

import random
import statistics
from pathlib import Path

import pytest

from evolve.answers.broken_prefix import MAX_LENGTH, BrokenPrefixDetector, complaint

VALID = [Path(module.__file__ or "").read_text(encoding="utf-8") for module in (random, statistics)]
OPEN = "```python\n"


def fed(text: str, size: int) -> tuple[str, int]:
    """The first complaint about a text that comes in pieces of a size, and after how many characters."""
    detector = BrokenPrefixDetector()
    for place in range(0, len(text), size):
        if found := detector.feed(text[place : place + size]):
            return found, min(len(text), place + size)
    return "", len(text)


@pytest.mark.parametrize("broken", ["x = (1, 2))\n", "for x in\n", "def f(:\n    pass\n", "x = 1 2\n", "  y = 1\n"])
@pytest.mark.parametrize("size", [1, 40, 4000])
def test_what_nothing_mends_is_noticed_soon(broken: str, size: int) -> None:
    text = "Better:\n" + OPEN + "def solve():\n    return 1\n" + broken + "z = 1\n" * 4000
    found, place = fed(text, size)
    assert found.startswith("the program is not valid Python: ")
    assert place <= 1024 + 2 * size


@pytest.mark.parametrize("text", VALID)
@pytest.mark.parametrize("size", [3, 700])
def test_no_beginning_of_a_valid_program_is_noticed(text: str, size: int) -> None:
    assert fed(OPEN + text[:MAX_LENGTH], size)[0] == ""


def test_every_beginning_of_a_valid_program_may_become_one() -> None:
    text = VALID[1][:8000]
    assert not [end for end in range(0, len(text), 97) if complaint(OPEN + text[:end])]


@pytest.mark.parametrize(
    "text",
    [
        "x = (1, 2))\n" * 200,  # no fence: prose may stand there
        "```text\nx = (1, 2))\n" + "y\n" * 600,
        OPEN + "<<<<<<< SEARCH\nx = 1\n=======\nx = (2\n" + "y = 1\n" * 600,
        OPEN + "x = (1,\n" + "1,\n" * 600,  # still open
        OPEN + "'''\nno Python at all here\n" + "and more of it\n" * 600,
        OPEN + "x = 1 2\n```\n" + "and so on\n" * 600,  # complete: judged as an answer
        OPEN + "    x = 1\n    return x\n" + "    # a region\n" * 600,
    ],
)
def test_what_may_still_be_an_answer_goes_on(text: str) -> None:
    assert fed(text, 50)[0] == ""
