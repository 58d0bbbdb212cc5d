"""The syntax mutator asked to cross, repair and simplify."""

import ast
import re
from dataclasses import replace

import pytest

from evolve.answers.edit import apply_answer
from evolve.program import Program
from evolve.proposal import Proposal
from tests.unit.syntax.proposals import ask, individual, proposal

FIRST = """\
def size(x):
    return x * 2

def shape(x):
    return x + 1

WIDTH = 0.5
"""
SECOND = """\
def size(x):
    return x * 7

def shape(x):
    return x - 9

WIDTH = 0.25
"""


def one(text: str, path: str = "p.py") -> Program:
    return Program.of({path: text})


def children(asked: Proposal, language: str = "python", seeds: int = 30) -> list[str]:
    """The distinct programs that proposals of many seeds lead to."""
    found: dict[str, None] = {}
    for seed in range(seeds):
        answers, _ = ask(replace(asked, seed=seed), language)
        parent = asked.parent.program
        found |= dict.fromkeys(
            apply_answer(parent, answer.text, answer.edits, language).program.text for answer in answers
        )
    return list(found)


def words(text: str) -> set[str]:
    return set(re.findall(r"[\w.]+|[^\w\s()]", text))


def crossed(first: str, second: str, path: str = "p.py") -> Proposal:
    return replace(
        proposal(one(first, path)), operator="crossover", second_parent=individual(one(second, path), "cnd_mate")
    )


def test_a_crossover_takes_whole_functions_and_values_of_the_second_parent() -> None:
    found = children(crossed(FIRST, SECOND))
    assert FIRST.replace("x * 2", "x * 7") in found
    assert FIRST.replace("x + 1", "x - 9") in found
    assert FIRST.replace("x * 2", "x * 7").replace("x + 1", "x - 9") in found
    assert FIRST.replace("0.5", "0.25") in found


@pytest.mark.parametrize("seed", range(20))
def test_the_first_child_of_a_crossover_is_made_of_nothing_but_its_parents(seed: int) -> None:
    answers, _ = ask(replace(crossed(FIRST, SECOND), seed=seed, answers=1, limit=1))
    child = apply_answer(one(FIRST), answers[0].text, answers[0].edits, "python").program.text
    assert words(child) <= words(FIRST) | words(SECOND)


def test_a_crossover_moves_statements_with_the_indentation_of_their_new_place() -> None:
    first = "def run(x):\n    total = x\n    for i in range(3):\n        total += i\n    return total\n"
    loop = "        for i in range(5):\n            total += i\n"
    second = f"def run(x):\n    total = x\n    while total < 9:\n{loop}    return total\n"
    found = children(crossed(first, second))
    assert "def run(x):\n    total = x\n    for i in range(5):\n        total += i\n    return total\n" in found


def test_a_crossover_of_other_languages_exchanges_numbers() -> None:
    found = children(crossed("a = 1.5;\nb = 2.5;\n", "a = 7.25;\nb = 9.75;\n", "p.c"), language="c")
    assert {"a = 7.25;\nb = 2.5;\n", "a = 1.5;\nb = 9.75;\n"} <= set(found)


def test_a_crossover_without_a_second_parent_is_a_mutation() -> None:
    assert children(replace(proposal(one(FIRST)), operator="crossover"), seeds=3)


def test_a_crossover_changes_nothing_outside_the_regions() -> None:
    frame = "{}\n# EVOLVE-BLOCK-START\n{}# EVOLVE-BLOCK-END\n"
    found = children(crossed(frame.format("Y = 1", FIRST), frame.format("Y = 2", SECOND)))
    assert found
    assert all(text.startswith("Y = 1\n# EVOLVE-BLOCK-START\n") for text in found)


BLOATED = "import math\nunused = 5\n\ndef run(x):\n    y = x * 1 + (2 + 3)\n    return abs(y) if x else 0.123456789\n"


def test_a_simplification_is_shorter_and_parses() -> None:
    found = children(replace(proposal(one(BLOATED), answers=4), operator="simplify"), seeds=10)
    shorter = [text for text in found if len(text) < len(BLOATED)]
    assert len(shorter) > 0.9 * len(found)
    for text in found:
        ast.parse(text)


@pytest.mark.parametrize(
    "part",
    ["import math\nunused = 5\n", "y = x * 1 + (5)\n", "y = x + (2 + 3)", "return y if x else", "else 0.1\n"],
)  # fmt: skip
def test_a_simplification_leaves_out_folds_and_rounds(part: str) -> None:
    found = children(replace(proposal(one(BLOATED), answers=8), operator="simplify"))
    if part == "import math\nunused = 5\n":
        assert BLOATED.removeprefix("import math\n") in found
        assert BLOATED.replace("unused = 5\n", "") in found
    else:
        assert any(part in text for text in found)


def test_a_program_that_cannot_be_shorter_is_mutated() -> None:
    assert children(replace(proposal(one("x = 1\n")), operator="simplify"), seeds=3)


WORKING = "a = 1\nb = 2\nc = 3\nd = 4\n"
BROKEN = "a = 1\nb = 2 / 0\nc = 3\nd = 4 / 0\n"


def test_a_repair_undoes_part_of_what_changed_and_never_all_of_it() -> None:
    asked = replace(proposal(one(BROKEN), [one("z = 5\n"), one(WORKING)], answers=4), operator="repair")
    found = children(asked)
    assert {"a = 1\nb = 2\nc = 3\nd = 4 / 0\n", "a = 1\nb = 2 / 0\nc = 3\nd = 4\n"} <= set(found)
    assert WORKING not in found


def test_a_failure_of_which_nothing_is_known_is_mutated() -> None:
    assert children(replace(proposal(one(BROKEN)), operator="repair"), seeds=3)


@pytest.mark.parametrize("operator", ["crossover", "repair", "simplify"])
def test_equal_proposals_get_equal_answers(operator: str) -> None:
    asked = replace(crossed(FIRST, SECOND), operator=operator, inspirations=(individual(one(SECOND), "cnd_other"),))
    assert ask(asked)[0] == ask(asked)[0]
