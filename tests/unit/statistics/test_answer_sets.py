import itertools
import math
import sys
import time

import numpy as np
import pytest

from evolve.multiobjective.scalarization import dirichlet
from evolve.statistics import answer_sets


def weights(k: int, count: int = 40_000) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return dirichlet(np.random.default_rng(5), k, count=count)


def test_pass_at_k_is_chens_formula() -> None:
    assert answer_sets.pass_at_k(30, 3, 1) == pytest.approx(3 / 30)
    assert answer_sets.pass_at_k(30, 3, 10) == pytest.approx(1 - math.comb(27, 10) / math.comb(30, 10))
    assert answer_sets.pass_at_k(10, [0, 1, 8, 10], 3).tolist() == pytest.approx(
        [0, 1 - math.comb(9, 3) / math.comb(10, 3), 1, 1]
    )
    assert answer_sets.pass_at_k([5, 10_000], 1, [[1], [2]]).shape == (2, 2)
    assert answer_sets.pass_at_k(10_000, 1, 5_000) == pytest.approx(0.5)


def test_where_nothing_passed_the_probability_is_nothing_at_all() -> None:
    for n in range(1, 130):
        assert not answer_sets.pass_at_k(n, 0, np.arange(1, n + 1)).any()


@pytest.mark.parametrize(("n", "c", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0), (3, 1, 4)])
def test_pass_at_k_refuses_counts_that_cannot_be(n: int, c: int, k: int) -> None:
    with pytest.raises(ValueError, match="pass@k"):
        answer_sets.pass_at_k(n, c, k)


def test_best_at_k_is_the_mean_of_the_best_over_all_subsets() -> None:
    scores = [0.3, -1.0, 2.0, 0.3, 7.0, 1.5]
    for k in range(1, 7):
        subsets = [max(subset) for subset in itertools.combinations(scores, k)]
        assert answer_sets.best_at_k(scores, k) == pytest.approx(sum(subsets) / len(subsets))


def test_best_at_k_works_along_the_last_axis_and_for_many_answers() -> None:
    table = np.random.default_rng(0).random((2, 3, 4))
    assert answer_sets.best_at_k(table, 4) == pytest.approx(table.max(axis=-1))
    assert answer_sets.best_at_k(table, 1) == pytest.approx(table.mean(axis=-1))
    # Order statistics of the numbers 1..n: the expected largest of k is k (n + 1) / (k + 1).
    assert answer_sets.best_at_k(np.arange(1, 5001), 100) == pytest.approx(100 * 5001 / 101)
    for k in (0, 5):
        with pytest.raises(ValueError, match="best@k"):
            answer_sets.best_at_k(table, k)


def test_a_chain_counts_once_for_its_answers() -> None:
    passed = [[True, True, True], [False, False, False], [False, True, False], [False, False, False]]
    assert answer_sets.chain_pass_at_k(passed, 1) == pytest.approx(2 / 4)
    assert answer_sets.chain_pass_at_k(passed, 2) == pytest.approx(1 - math.comb(2, 2) / math.comb(4, 2))
    assert answer_sets.chain_best_at_k([[0.0, 3.0], [1.0, 2.0], [0.0, 1.0]], 2) == pytest.approx((3 + 3 + 2) / 3)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_specialists_have_the_expected_maximum_of_uniform_weights(k: int) -> None:
    # The expected largest of k uniform simplex weights is H_k / k.
    harmonic = sum(1 / i for i in range(1, k + 1))
    assert answer_sets.expected_max(np.eye(k), weights(k)) == pytest.approx(harmonic / k, abs=0.005)


def test_specialists_that_leave_an_objective_uncovered_lose_to_a_generalist() -> None:
    drawn = weights(4)
    specialists = answer_sets.expected_max(np.eye(4)[:3], drawn)
    assert specialists == pytest.approx((1 + 1 / 2 + 1 / 3) / 4, abs=0.005)
    assert specialists < answer_sets.expected_max(np.full((1, 4), 0.5), drawn) == pytest.approx(0.5)


def test_one_answer_is_worth_its_mean_reward() -> None:
    assert answer_sets.expected_max([[0.2, 0.6]], weights(2)) == pytest.approx(0.4, abs=0.005)
    assert answer_sets.contributions([[0.2, 0.6]], weights(2)) == pytest.approx([0.4], abs=0.005)
    with pytest.raises(ValueError, match="the set is empty"):
        answer_sets.expected_max(np.empty((0, 2)), weights(2, 1))


def test_the_expected_best_of_k_answers_is_a_mean_over_subsets() -> None:
    rewards, drawn = np.random.default_rng(1).random((6, 3)), weights(3, 50)
    for k in range(1, 7):
        subsets = [
            answer_sets.expected_max(rewards[list(chosen)], drawn) for chosen in itertools.combinations(range(6), k)
        ]
        assert answer_sets.expected_max_at_k(rewards, drawn, k) == pytest.approx(sum(subsets) / len(subsets))
    with pytest.raises(ValueError, match="best@k needs"):
        answer_sets.expected_max_at_k(rewards, drawn, 7)


def test_the_best_of_k_is_each_answer_in_its_share_of_subsets() -> None:
    # Of C(5, 3) = 10 subsets 1, 3 and 6 have the third, fourth and fifth as their best.
    assert answer_sets.best_of_k_shares(5, 3) == pytest.approx([0, 0, 0.1, 0.3, 0.6])
    assert answer_sets.best_of_k_shares(5, 2, of=3) == pytest.approx([0, 0.1, 0.2, 0.3, 0.4])


def test_an_answer_contributes_what_the_set_loses_without_it() -> None:
    rewards = np.array([[1.0, 0.0, 0.2], [0.0, 1.0, 0.1], [0.5, 0.5, 0.5], [0.1, 0.1, 0.1], [0.0, 1.0, 0.1]])
    drawn = weights(3, 500)
    whole = answer_sets.expected_max(rewards, drawn)
    lost = [whole - answer_sets.expected_max(np.delete(rewards, i, axis=0), drawn) for i in range(5)]
    assert answer_sets.contributions(rewards, drawn) == pytest.approx(lost)
    assert lost[3] == pytest.approx(0)
    assert lost[1] == pytest.approx(0)


def test_the_volume_is_exact_for_few_objectives_and_sampled_where_nothing_computes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(3)
    assert answer_sets.volume([[2.0, 4.0], [4.0, 2.0]], [1.0, 1.0], rng) == pytest.approx(5.0)
    two_boxes = [[1.0, 0.5, 1.0, 1.0], [0.5, 1.0, 1.0, 1.0], [0.4, 0.4, 0.4, 0.4], [-1.0, 2.0, 2.0, 2.0]]
    assert answer_sets.volume(two_boxes, [0.0] * 4, rng) == pytest.approx(0.75, abs=1e-12)
    assert answer_sets.volume([[-1.0] * 4], [0.0] * 4, rng) == 0.0
    monkeypatch.setitem(sys.modules, "moocore", None)
    assert answer_sets.volume(two_boxes[:2], [0.0] * 4, rng) == pytest.approx(0.75, abs=0.03)


def test_the_pareto_fraction_counts_the_front() -> None:
    assert answer_sets.pareto_fraction([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0], [1.0, 0.0]]) == 0.75
    assert answer_sets.pareto_fraction(np.empty((0, 2))) == 0


def test_pairwise_distances_by_hand() -> None:
    rewards = [[0.0, 0.0], [3.0, 4.0], [0.0, 4.0]]
    assert answer_sets.mean_pairwise_l1(rewards) == pytest.approx((7 + 4 + 3) / 3)
    assert answer_sets.mean_pairwise_l2(rewards) == pytest.approx((5 + 4 + 3) / 3)
    assert answer_sets.mean_pairwise_l1(rewards[:1]) == answer_sets.mean_pairwise_l2(rewards[:1]) == 0


def test_distances_of_more_answers_than_are_in_memory_at_once() -> None:
    points = np.random.default_rng(4).random((2 * answer_sets.BLOCK + 7, 3))
    pairs = list(itertools.combinations(points, 2))
    assert answer_sets.mean_pairwise_l2(points) == pytest.approx(sum(math.dist(a, b) for a, b in pairs) / len(pairs))
    # Twins far from the origin are told from neighbours: no difference of large squares.
    twins = np.repeat([[1e8, 1e8], [1e8, 1e8 + 1]], answer_sets.BLOCK, axis=0)
    across = answer_sets.BLOCK**2 / math.comb(2 * answer_sets.BLOCK, 2)
    assert answer_sets.mean_pairwise_l2(twins) == pytest.approx(across, rel=1e-12)


def test_answers_of_equal_reward_are_of_one_class() -> None:
    classes = answer_sets.classes_by_reward([[0.1 + 0.2, 0.0], [1.0, 0.0], [0.3, -0.0]])
    assert classes[0] == classes[2] != classes[1]
    assert answer_sets.distinct_k(classes) == 2
    assert answer_sets.distinct_k(["a", "b", "a"]) == 2
    assert answer_sets.distinct_k([]) == 0


def test_utility_discounts_by_patience_and_ignores_repetitions() -> None:
    assert answer_sets.utility_k([0, 0, 1], [5.0, 9.0, 2.0]) == pytest.approx(0.2 / (1 - 0.512) * (5 + 0.64 * 2))
    assert answer_sets.utility_k(list(range(10)), [3.0] * 10) == pytest.approx(3.0)
    assert answer_sets.utility_k([], []) == 0
    with pytest.raises(ValueError, match="patience"):
        answer_sets.utility_k([0], [1.0], patience=1.0)
    with pytest.raises(ValueError, match="class and a utility"):
        answer_sets.utility_k([0], [1.0, 2.0])


def test_coverage_is_the_share_of_cases_that_some_answer_passes() -> None:
    assert answer_sets.coverage([[1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.5, 0.0]]) == 0.5
    assert answer_sets.coverage([[1.0, 0.0, 0.5, 0.0], [0.0, 1.0, 0.5, 0.0]], threshold=0.5) == 0.75
    assert answer_sets.coverage(np.empty((0, 3))) == 0


def test_objectives_that_say_the_same_are_collinear() -> None:
    x = np.random.default_rng(2).random(50)
    assert answer_sets.collinearity(np.stack([x, 2 * x + 1, -3 * x], axis=1)) == pytest.approx(1)
    # Orthogonal by construction: two columns of a Hadamard matrix.
    assert answer_sets.collinearity([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]) == pytest.approx(0)
    assert answer_sets.collinearity([[1.0], [2.0]]) == 0


def test_collinear_objectives_are_warned_of() -> None:
    rng = np.random.default_rng(2)
    x = rng.random(200)
    same = np.stack([x, x + 0.01 * rng.random(200)], axis=1)
    assert "nearly collinear (mean squared correlation 1.00)" in str(answer_sets.collinearity_warning(same))
    assert answer_sets.collinearity_warning(rng.random((200, 4))) is None
    assert answer_sets.collinearity_warning(rng.random((200, 4)), limit=0.0) is not None


def test_correlations_are_pearsons_and_an_objective_without_spread_has_none() -> None:
    rewards = np.random.default_rng(2).random((30, 3))
    assert answer_sets.correlations(rewards) == pytest.approx(np.corrcoef(rewards.T))
    flat = np.column_stack([rewards[:, 0], np.full(30, 0.1 + 0.2)])
    assert answer_sets.correlations(flat).tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize("spread", ["uniform", "antichain"])
def test_ten_thousand_answers_are_summed_up_in_seconds(spread: str) -> None:
    rewards = np.random.default_rng(6).random((10_000, 16))
    if spread == "antichain":
        rewards /= np.linalg.norm(rewards, axis=1, keepdims=True)
    drawn = weights(16, 100)

    def ranked() -> None:
        answer_sets.best_at_k(rewards.mean(axis=1), 30)
        answer_sets.pass_at_k(10_000, 100, np.arange(1, 10_001))
        answer_sets.expected_max_at_k(rewards, drawn, 30)
        answer_sets.contributions(rewards, drawn)
        answer_sets.classes_by_reward(rewards)
        answer_sets.collinearity(rewards)

    def compared() -> None:
        answer_sets.mean_pairwise_l1(rewards)
        answer_sets.mean_pairwise_l2(rewards)
        answer_sets.pareto_fraction(rewards)

    for work, limit_seconds in ((ranked, 1.0), (compared, 10.0)):
        begun = time.process_time()
        work()
        assert time.process_time() - begun < limit_seconds
