"""Vectors: how far embeddings are apart, and which are kept."""

import math

import pytest

from evolve.program import Program
from evolve.similarity.vectors import Vectors, distance
from tests.fakes.vectors import direction


def programs(count: int) -> list[Program]:
    return [Program.of({"x.py": f"x = {number}\n"}) for number in range(count)]


@pytest.mark.parametrize("angle", [0.0, 0.2, math.pi / 3, math.pi / 2, math.pi])
def test_the_distance_of_two_directions_is_one_less_the_cosine_between_them(angle: float) -> None:
    for begin in (0.0, 1.1, 4.0):
        found = distance(direction(begin), direction(begin + angle))
        assert found == pytest.approx(1 - math.cos(angle), abs=1e-6)
        assert found >= 0


def test_what_lives_is_kept_and_what_is_compared_for_a_proposal_that_is_open() -> None:
    known, all_of_them = Vectors(), programs(4)
    for number, program in enumerate(all_of_them):
        known.add(number, [program], [direction(number)])
    living, older, open_one, open_two = (program.id for program in all_of_them)
    known.keep({living}, {2, 3})
    assert [name in known for name in (living, older, open_one, open_two)] == [True, False, True, True]


@pytest.mark.parametrize("later", [3, 5])
def test_what_two_proposals_brought_is_kept_for_the_one_that_is_still_open(later: int) -> None:
    known, (program,) = Vectors(), programs(1)
    for number in (5, 3):
        known.add(number, [program], [direction(1.0)])
    known.keep((), {4, later})
    assert program.id in known
    known.keep((), {4})
    assert program.id not in known


def test_one_that_has_no_vector_is_known_to_have_none() -> None:
    known, (program,) = Vectors(), programs(1)
    assert (program.id in known, known.get(program.id)) == (False, None)
    known.add(0, [program], [None])
    assert (program.id in known, known.get(program.id)) == (True, None)


def test_the_store_is_full_at_a_thousand_more_than_twice_what_is_needed() -> None:
    known, all_of_them = Vectors(), programs(3000)
    for number, program in enumerate(all_of_them):
        known.add(0, [program], [None])
        assert known.full == (number + 1 > 1024)
    known.keep({program.id for program in all_of_them[:800]}, ())
    assert (len(known), known.full) == (800, False)
    known.add(0, all_of_them, [None] * 3000)
    known.keep({program.id for program in all_of_them[:2624]}, ())
    assert not known.full
