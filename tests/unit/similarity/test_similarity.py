"""Nearness: what is hardly new is told from what is, in large archives too."""

import math

import numpy as np
import pytest

from evolve.configuration import NoveltyConfig
from evolve.evaluation import Evaluation, Outcome
from evolve.program import Program
from evolve.proposal import Individual
from evolve.similarity.novelty import distance as token_distance
from evolve.similarity.similarity import LOOKED_AT, SimilarityCheck, distance, runs, sketch
from tests.fakes.vectors import direction


def one(text: str) -> Program:
    return Program.of({"p.py": text})


def member(name: str, text: str) -> Individual:
    return Individual(candidate_id=name, program=one(text), evaluation=Evaluation(outcome=Outcome.OK), measures={})


def numbered(count: int, seed: int = 0) -> str:
    """A program of so many lines that has little in common with that of another seed."""
    rng = np.random.default_rng(seed)
    return "".join(f"v{rng.integers(10**9)} = {rng.integers(10**9)}\n" for _ in range(count))


def similarity(kind: str = "tokens", minimum: float = 0.1, language: str = "python") -> SimilarityCheck:
    return SimilarityCheck([NoveltyConfig(kind=kind, min_distance=minimum)] * 2, language)


@pytest.mark.parametrize(
    ("a", "b"), [("a b c d e", "a b c d f"), ("", "a"), ("a b", "a b"), ("x = 1\n", "x = 2; y = 1")]
)
def test_the_distance_in_tokens_is_the_jaccard_distance_of_their_runs_of_three(a: str, b: str) -> None:
    found = distance(runs(one(a), "tokens", "text"), runs(one(b), "tokens", "text"))
    assert found == pytest.approx(token_distance(one(a), one(b)))


def test_the_syntax_of_python_leaves_formatting_comments_and_docstrings_out() -> None:
    plain, dressed = "def f(x):\n    return x+1\n", 'def f(x):\n    """Add."""\n    # one\n    return (x + 1)\n'
    assert distance(runs(one(plain), "syntax", "python"), runs(one(dressed), "syntax", "python")) == 0
    assert distance(runs(one(plain), "tokens", "python"), runs(one(dressed), "tokens", "python")) > 0
    other = runs(one(plain.replace("1", "2")), "syntax", "python")
    assert 0 < distance(runs(one(plain), "syntax", "python"), other) < 1


@pytest.mark.parametrize("text", ["def f(:\n", "x = 1 \ud7ff ("])
def test_what_does_not_parse_is_compared_by_its_tokens(text: str) -> None:
    assert np.array_equal(runs(one(text), "syntax", "python"), runs(one(text), "tokens", "python"))


@pytest.mark.parametrize("share", [0.0, 0.5, 0.9])
def test_as_many_numbers_of_two_sketches_agree_as_their_programs_are_alike(share: float) -> None:
    common = int(2000 * share)
    a, b = numbered(common) + numbered(2000 - common, 1), numbered(common) + numbered(2000 - common, 2)
    first, second = (runs(one(text), "tokens", "text") for text in (a, b))
    agreed = float(np.mean(sketch(first) == sketch(second)))
    assert agreed == pytest.approx(1 - distance(first, second), abs=0.13)  # three standard errors of 128 draws


def test_a_program_nearer_than_the_least_is_named_with_its_neighbour() -> None:
    text = numbered(20)
    said = similarity(minimum=0.2).objection(
        one(text + "z = 1\n"), 0, [member("cnd_far", numbered(20, 1)), member("cnd_near", text)]
    )
    assert said.startswith(
        "the program is too near to a program of its island: its distance in tokens from cnd_near is 0.0"
    )
    assert said.endswith("and novelty.min_distance asks for 0.2")


@pytest.mark.parametrize(("kind", "minimum"), [("none", 0.9), ("tokens", 0.0), ("tokens", 0.01)])
def test_a_program_that_is_far_enough_meets_no_objection(kind: str, minimum: float) -> None:
    text = numbered(20)
    assert not similarity(kind, minimum).objection(one(text + "z = 1\n"), 0, [member("cnd_1", text)])


def by_embedding(minimum: float, **angles: float | None) -> SimilarityCheck:
    """A nearness that was handed the directions of programs, each called after its text."""
    known = similarity("embedding", minimum)
    for text, angle in angles.items():
        known.vectors.add(0, [one(text)], [None if angle is None else direction(angle)])
    return known


def test_by_embeddings_the_nearest_is_that_of_the_smallest_angle() -> None:
    known = by_embedding(0.1, child=1.0, far=2.0, near=1.2, other=0.7)
    said = known.objection(one("child"), 0, [member(f"cnd_{name}", name) for name in ("far", "near", "other")])
    assert said == (
        "the program is too near to a program of its island: its distance in embedding from cnd_near is"
        f" {1 - math.cos(0.2):.3f}, and novelty.min_distance asks for 0.1"
    )
    assert not by_embedding(0.01, child=1.0, near=1.2).objection(one("child"), 0, [member("cnd_near", "near")])


def test_who_has_no_vector_is_not_compared() -> None:
    members = [member("cnd_blank", "blank"), member("cnd_unseen", "unseen")]
    known = by_embedding(1.0, child=1.0, lost=None, blank=None)
    assert not known.objection(one("child"), 0, members)
    assert not known.objection(one("lost"), 0, [*members, member("cnd_child", "child")])
    assert known.objection(one("child"), 0, [*members, member("cnd_same", "child")])


def test_an_empty_island_has_no_neighbour() -> None:
    assert similarity().nearest(one("x = 1\n"), 0, []) is None


def test_the_nearest_of_a_large_archive_is_found_as_members_come_and_go() -> None:
    known = similarity()
    rng = np.random.default_rng(5)
    members = {f"cnd_{seed}": member(f"cnd_{seed}", numbered(12, seed)) for seed in range(4 * LOOKED_AT)}
    for turn in range(6):
        target = str(rng.choice(list(members)))
        near = known.nearest(one(members[target].program.text + f"z = {turn}\n"), 0, members.values())
        assert near is not None
        assert near.candidate_id == target
        for gone in rng.choice(list(members), 5, replace=False):
            del members[str(gone)]
        members[f"cnd_new{turn}"] = member(f"cnd_new{turn}", numbered(12, 1000 + turn))


def test_the_answer_does_not_depend_on_the_way_an_archive_came_about() -> None:
    members = [member(f"cnd_{seed}", numbered(3, seed) + "y = 1\n") for seed in range(3 * LOOKED_AT)]
    long_lived, fresh = similarity(), similarity()
    for size in range(LOOKED_AT + 1, len(members)):
        long_lived.nearest(one("y = 1\n"), 0, members[size - LOOKED_AT :])
    asked = one("y = 1\n")
    assert long_lived.nearest(asked, 0, members) == fresh.nearest(asked, 0, reversed(members))


def test_islands_do_not_share_their_members() -> None:
    known = similarity()
    here = [member(f"cnd_{seed}", numbered(5, seed)) for seed in range(2 * LOOKED_AT)]
    there = [member(f"cnd_{seed}", numbered(5, seed)) for seed in range(50, 50 + 2 * LOOKED_AT)]
    for island, members in ((0, here), (1, there), (0, here)):
        near = known.nearest(members[3].program, island, members)
        assert near is not None
        assert (near.candidate_id, near.distance) == (members[3].candidate_id, 0.0)
