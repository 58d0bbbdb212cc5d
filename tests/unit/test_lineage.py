"""The lineage is the fold of what was proposed, answered and evaluated."""

import math

import numpy as np
import pytest

from evolve.lineage import Lineage, LineageRecord


def test_a_seed_stands_alone() -> None:
    lineage = Lineage()
    lineage.evaluate("seed", 0, 3.0, (3.0,))
    assert lineage.standing("seed") == LineageRecord(
        parent=None, visits=0, in_flight=0, children=0, expansions=0, best=3.0, seen=1
    )


def test_the_best_of_the_descendants_goes_up_as_far_as_it_is_the_best() -> None:
    lineage = Lineage()
    lineage.evaluate("a", 0, 5.0, (5.0,))
    for number, (parent, child, fitness) in enumerate(
        [("a", "b", 1.0), ("b", "c", 4.0), ("c", "d", 2.0), ("d", "e", 9.0), ("b", "f", 6.0), ("f", "g", None)], start=1
    ):
        lineage.propose(number, parent)
        lineage.evaluate(child, number, fitness, () if fitness is None else (fitness,))
    assert [lineage.standing(name).best for name in "abcdefg"] == [9.0, 9.0, 9.0, 9.0, 9.0, 6.0, -math.inf]
    assert [lineage.standing(name).parent for name in "abcdefg"] == [None, "a", "b", "c", "d", "b", "f"]
    assert [lineage.standing(name).expansions for name in "abcdefg"] == [6, 5, 2, 1, 0, 1, 0]
    assert [lineage.standing(name).children for name in "abcdefg"] == [1, 2, 1, 1, 0, 1, 0]


def test_a_proposal_is_in_flight_until_its_policy_has_ended_and_all_its_candidates_have_their_fate() -> None:
    lineage = Lineage()
    lineage.evaluate("seed", 0, 1.0, (1.0,))
    lineage.propose(1, "seed")
    lineage.await_score(1)
    lineage.await_score(1)
    lineage.settle(1)  # the policy has ended
    assert lineage.standing("seed").in_flight == lineage.flights == 1
    lineage.settle(1)  # a duplicate
    assert lineage.flights == 1
    lineage.evaluate("child", 1, None, ())
    lineage.settle(1)
    assert lineage.standing("seed").in_flight == lineage.flights == 0
    assert (lineage.standing("seed").visits, lineage.standing("seed").children) == (1, 1)


def test_outcomes_are_told_apart_by_three_digits_of_their_rewards() -> None:
    lineage = Lineage()
    rewards = [(1.0, 0.12345), (1.0, 0.12349), (1.004, 0.1230), (1.01, 0.123), (-0.0, 0.0), (0.0, -0.0)]
    for number, row in enumerate(rewards):
        lineage.evaluate(f"c{number}", 0, 0.0, row)
    assert [lineage.standing(name).seen for name in lineage] == [3, 3, 3, 1, 2, 2]
    lineage.propose(1, "c1")
    rows = lineage.rows(["c0", "c3", "c1"])
    assert lineage.seen(rows).tolist() == [4, 1, 4]
    assert lineage.airborne(rows).tolist() == [1, 0, 1]
    assert lineage.observations == 7
    lineage.settle(1)
    assert lineage.airborne(rows).tolist() == [0, 0, 0]


def test_what_failed_has_no_outcome_and_may_be_built_upon() -> None:
    lineage = Lineage()
    lineage.evaluate("broken", 0, None, ())
    lineage.propose(1, "broken")
    lineage.settle(1)
    assert lineage.standing("broken") == LineageRecord(
        parent=None, visits=1, in_flight=0, children=0, expansions=1, best=-math.inf, seen=0
    )
    assert lineage.observations == 0


def test_a_proposal_from_what_was_never_evaluated_is_refused() -> None:
    with pytest.raises(KeyError):
        Lineage().propose(1, "nobody")


def test_what_descends_from_what_is_in_flight_is_of_its_lineage_and_what_is_beside_it_is_not() -> None:
    rng = np.random.default_rng(5)
    lineage, parents = Lineage(), [-1, -1]
    for seed in range(2):
        lineage.evaluate(f"c{seed}", 0, 0.0, (0.0,))
    for number in range(1, 120):
        parents.append(int(rng.integers(len(parents))))
        lineage.propose(number, f"c{parents[-1]}")
        lineage.evaluate(f"c{number + 1}", number, 0.0, (0.0,))
        lineage.settle(number)

    def line(place: int) -> set[int]:
        return set() if place < 0 else {place} | line(parents[place])

    lineage.propose(999, f"c{len(parents) - 1}")  # the newest, whom a seed has nothing to do with but for its place
    assert lineage.related(lineage.rows(["c0", "c1"])).tolist() == [seed in line(len(parents) - 1) for seed in (0, 1)]
    lineage.settle(999)
    flying: list[int] = []
    members = rng.permutation(len(parents))[:60].tolist()
    rows = lineage.rows([f"c{member}" for member in members])
    assert not lineage.related(rows).any()
    expected: list[bool] = []
    for number in range(1000, 1006):
        flying.append(int(rng.integers(2, len(parents))))
        lineage.propose(number, f"c{flying[-1]}")
        expected = [any(member in line(start) or start in line(member) for start in flying) for member in members]
        assert lineage.related(rows).tolist() == expected
    assert any(expected)
    assert not all(expected)


def test_it_grows() -> None:
    lineage = Lineage()
    lineage.evaluate("c0", 0, 0.0, (0.0,))
    for number in range(1, 100):
        lineage.propose(number, f"c{number - 1}")
        lineage.evaluate(f"c{number}", number, float(number), (float(number),))
        lineage.settle(number)
    assert list(lineage) == [f"c{number}" for number in range(100)]
    assert {lineage.standing(name).best for name in lineage} == {99.0}
    assert [lineage.standing(name).expansions for name in lineage] == list(range(99, -1, -1))
