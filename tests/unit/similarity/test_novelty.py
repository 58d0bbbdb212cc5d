import pytest

from evolve.program import Program
from evolve.similarity.novelty import Reference, distance


def one(text: str) -> Program:
    return Program.of({"main.py": text})


def test_distance_is_jaccard_over_runs_of_three_tokens() -> None:
    # Runs of the first: abc bcd cde; of the second: abc bcd cdf. Two of four are common.
    assert distance(one("a b c d e"), one("a b c d f")) == pytest.approx(1 - 2 / 4)


def test_white_space_does_not_count_and_file_names_do_not_either() -> None:
    assert distance(one("a = (b+1)"), Program.of({"x.c": "a=( b + 1 )\n"})) == 0


def test_short_and_empty_programs_have_a_distance() -> None:
    assert distance(one(""), one(" \n")) == 0
    assert distance(one(""), one("a")) == 1
    assert distance(one("a b"), one("a b")) == 0
    assert distance(one("a b"), one("b a")) == 1


def test_novelty_is_the_mean_distance_to_the_reference() -> None:
    reference = Reference.of([one("a b c d e"), one("a b c d f"), one("x y z")])
    assert reference.novelty(one("a b c d e")) == pytest.approx((0 + 1 / 2 + 1) / 3)


def test_without_a_reference_everything_is_new() -> None:
    assert Reference.of([]).novelty(one("a")) == 1
