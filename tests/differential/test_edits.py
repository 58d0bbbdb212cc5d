"""SEARCH/REPLACE blocks and EVOLVE-BLOCK regions beside OpenEvolve's own functions."""

import numpy as np
import pytest

from evolve.answers.patch import patch
from evolve.answers.regions import enforce
from evolve.errors import AnswerError
from evolve.program import Program
from tests.differential.cases import CASES
from tests.differential.libraries import code_utils

pytestmark = pytest.mark.differential

WORDS = ("x = 1", "y = 2", "    return x", "def f(x):", "# a comment", "print(x, y)", "for i in range(3):", "z = x < y")


def lines_of(rng: np.random.Generator, count: int) -> list[str]:
    return [WORDS[place] for place in rng.integers(len(WORDS), size=count)]


def test_edits_that_fit_make_the_program_that_openevolve_makes() -> None:
    applied = 0
    for number in range(3 * CASES):
        rng = np.random.default_rng(number)
        source = lines_of(rng, int(rng.integers(3, 20)))
        blocks, text = [], "\n".join(source)
        for _ in range(int(rng.integers(1, 3))):
            start = int(rng.integers(len(source)))
            search = source[start : start + int(rng.integers(1, 4))]
            if number % 3 == 1:  # white space at the ends of lines
                search = [line + " " * int(rng.integers(2)) for line in search]
            replacement = lines_of(rng, int(rng.integers(1, 4)))
            blocks.append("\n".join(["<<<<<<< SEARCH", *search, "=======", *replacement, ">>>>>>> REPLACE"]))
        edits = "Two thoughts.\n" + "\n\n".join(blocks) + "\n"
        try:
            found = patch({"main.py": text}, edits)["main.py"]
        except AnswerError:
            continue  # where theirs takes the first of several places, or leaves a block out
        applied += 1
        assert found == code_utils.apply_diff(text, edits)
    assert applied > CASES


def test_regions_keep_what_openevolve_keeps() -> None:
    compared = 0
    for number in range(3 * CASES):
        rng = np.random.default_rng(number)
        regions = int(rng.integers(1, 3))
        parent, child = ("\n".join(framed(rng, regions)) for _ in range(2))
        if number % 4 == 0:
            child = child.replace("# EVOLVE-BLOCK-END", "# the end", 1)
        if number % 5 == 0:
            parent, child = (text.replace("# EVOLVE", "  //EVOLVE") for text in (parent, child))
        try:
            expected = code_utils.enforce_evolve_blocks(parent, child)
        except ValueError:
            with pytest.raises(AnswerError):
                enforce(Program.of({"main.txt": parent}), Program.of({"main.txt": child}))
            continue
        compared += 1
        found = enforce(Program.of({"main.txt": parent}), Program.of({"main.txt": child})).program
        assert found.text == expected
    assert compared > CASES


def framed(rng: np.random.Generator, regions: int) -> list[str]:
    lines = lines_of(rng, int(rng.integers(1, 4)))
    for _ in range(regions):
        lines += ["# EVOLVE-BLOCK-START", *lines_of(rng, int(rng.integers(0, 5))), "# EVOLVE-BLOCK-END"]
        lines += lines_of(rng, int(rng.integers(0, 3)))
    return lines
