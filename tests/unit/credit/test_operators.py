"""Operators: with which probability each is asked for, and when a proposal counts as a success."""

import math

import numpy as np
import pytest

from evolve.credit.operators import Credit, Trials, draw_operator, probabilities
from evolve.evaluation import Evaluation, Outcome
from evolve.program import Program
from evolve.proposal import Individual

ALL = {"mutate", "crossover", "repair", "simplify"}


def individual(name: str, fitness: float | None, rewards: tuple[float, ...] = ()) -> Individual:
    outcome = Outcome.ERROR if fitness is None else Outcome.OK
    return Individual(
        candidate_id=name,
        program=Program.of({"p.py": f"x = {name!r}\n"}),
        evaluation=Evaluation(outcome=outcome),
        fitness=fitness,
        rewards=rewards,
        measures={},
    )


def test_probabilities_are_the_shares_of_what_is_possible() -> None:
    shares = {"mutate": 6.0, "crossover": 3.0, "repair": 1.0, "simplify": 0.0}
    assert probabilities(shares, ALL, None) == pytest.approx({"mutate": 0.6, "crossover": 0.3, "repair": 0.1})
    assert probabilities(shares, {"mutate", "repair"}, None) == pytest.approx({"mutate": 6 / 7, "repair": 1 / 7})
    assert probabilities({"repair": 1.0}, {"mutate"}, None) == {"mutate": 1.0}


@pytest.mark.parametrize("size", [1e-300, 1e100])
def test_shares_of_any_size_are_probabilities(size: float) -> None:
    assert probabilities({"mutate": size, "simplify": size}, ALL, None) == {"mutate": 0.5, "simplify": 0.5}


def test_what_was_never_tried_is_asked_for_by_its_share_above_the_floor() -> None:
    chances = probabilities({"mutate": 3.0, "crossover": 1.0}, ALL, Credit())
    assert chances == pytest.approx({"mutate": 0.05 + 0.9 * 0.75, "crossover": 0.05 + 0.9 * 0.25})


def test_an_adaptive_choice_is_probability_matching_on_fading_counts() -> None:
    credit = Credit()
    for operator, better in (("mutate", True), ("crossover", False), ("mutate", True)):
        credit.settle(operator, better)
    tried = {"mutate": 0.98**2 + 1, "crossover": 0.98}
    won = {"mutate": 0.98**2 + 1, "crossover": 0.0}
    mean = (won["mutate"] + 1) / (sum(tried.values()) + 2)
    rates = {name: (won[name] + 10 * mean) / (tried[name] + 10) for name in tried} | {"simplify": mean}
    total = sum(rates.values())
    expected = {name: 0.05 + (1 - 3 * 0.05) * rate / total for name, rate in rates.items()}
    assert probabilities(dict.fromkeys(rates, 1.0), ALL, credit) == pytest.approx(expected)
    assert math.fsum(expected.values()) == pytest.approx(1.0)


def test_an_operator_that_never_succeeds_falls_to_its_floor() -> None:
    credit = Credit()
    for _ in range(300):
        credit.settle("mutate", True)
        credit.settle("simplify", False)
    chances = probabilities({"mutate": 1.0, "simplify": 1.0}, ALL, credit)
    assert 0.05 < chances["simplify"] < 0.25
    assert sum(chances.values()) == pytest.approx(1.0)


def test_operators_come_as_often_as_their_probabilities_say() -> None:
    rng = np.random.default_rng(3)
    drawn = [draw_operator({"mutate": 0.7, "repair": 0.3}, rng) for _ in range(4000)]
    assert drawn.count("repair") / 4000 == pytest.approx(0.3, abs=3 * math.sqrt(0.3 * 0.7 / 4000))


def test_nothing_is_drawn_where_there_is_but_one() -> None:
    rng = np.random.default_rng(3)
    before = rng.bit_generator.state
    assert draw_operator({"mutate": 1.0}, rng) == "mutate"
    assert rng.bit_generator.state == before


def settled(trials: Trials) -> tuple[float, float]:
    (tried,), (won,) = trials.credit.tried.values(), trials.credit.won.values()
    return tried, won


def test_a_crossover_has_to_beat_the_better_of_its_parents_and_no_inspiration() -> None:
    kin = [(individual("a", 1.0), "parent"), (individual("b", 3.0), "crossover"), (individual("c", 9.0), "inspiration")]
    for fitness, won in ((2.0, 0.0), (3.0, 0.0), (4.0, 1.0)):
        trials = Trials()
        trials.begin(1, "crossover", "toy", (), kin)
        trials.await_children(1, 1)
        trials.close(1)
        trials.tell(1, individual("child", fitness))
        assert settled(trials) == (1.0, won)


def test_a_repair_has_to_beat_the_ancestor_that_worked() -> None:
    broken, origin = individual("broken", None), individual("origin", 2.0)
    for fitness, won in ((1.0, 0.0), (2.5, 1.0)):
        trials = Trials()
        trials.begin(1, "repair", "toy", (), [(broken, "parent"), (origin, "inspiration")])
        trials.await_children(1, 1)
        assert trials.tell(1, individual("child", fitness)) is origin
        trials.close(1)
        assert settled(trials) == (1.0, won)


def test_with_weights_drawn_children_are_compared_under_them() -> None:
    parent, child = individual("a", 9.0, (0.8, 0.2)), individual("b", 1.0, (0.2, 0.9))
    for weights, won in (((0.1, 0.9), 1.0), ((0.9, 0.1), 0.0)):
        trials = Trials()
        trials.begin(1, "mutate", "toy", weights, [(parent, "parent")])
        trials.await_children(1, 1)
        trials.close(1)
        trials.tell(1, child)
        assert settled(trials) == (1.0, won)


def test_a_proposal_is_settled_when_its_policy_and_all_of_its_children_are_done() -> None:
    trials = Trials()
    trials.begin(7, "mutate", "toy", (), [(individual("a", 1.0), "parent")])
    trials.await_children(7, 1)
    trials.await_children(7, 1)
    trials.tell(7, individual("b", 5.0))
    trials.close(7)
    assert not trials.credit.tried
    trials.tell(7, None)
    assert settled(trials) == (1.0, 1.0)
    assert not trials.open


def test_a_proposal_that_brought_nothing_is_no_success() -> None:
    trials = Trials()
    trials.begin(7, "mutate", "toy", (), [(individual("a", 1.0), "parent")])
    trials.close(7)
    assert settled(trials) == (1.0, 0.0)
