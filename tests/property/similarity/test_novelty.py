import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.program import Program
from evolve.similarity.novelty import Reference, distance

PROGRAMS = st.dictionaries(
    st.sampled_from(["a", "b"]), st.text("ab+ \n", max_size=12), min_size=1, max_size=2
).map(Program.of)  # fmt: skip


@given(PROGRAMS, PROGRAMS, PROGRAMS)
def test_distance_is_a_metric_on_token_runs(a: Program, b: Program, c: Program) -> None:
    assert distance(a, a) == 0
    assert 0 <= distance(a, b) <= 1
    assert distance(a, b) == distance(b, a)
    assert distance(a, c) <= distance(a, b) + distance(b, c) + 1e-12


@given(PROGRAMS, st.lists(PROGRAMS, min_size=1, max_size=4))
def test_novelty_lies_between_the_nearest_and_the_farthest(program: Program, programs: list[Program]) -> None:
    distances = [distance(program, other) for other in programs]
    novelty = Reference.of(programs).novelty(program)
    assert novelty == pytest.approx(sum(distances) / len(distances))
    assert 0 <= novelty <= 1
