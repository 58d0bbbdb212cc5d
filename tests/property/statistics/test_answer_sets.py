import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evolve.multiobjective.scalarization import dirichlet
from evolve.statistics import answer_sets

SCORES = st.lists(st.floats(-100, 100), min_size=1, max_size=7)
REWARDS = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(st.floats(0, 1), min_size=k, max_size=k), min_size=1, max_size=8).map(np.array)
)
SEEDS = st.integers(0, 2**32 - 1)


@given(st.integers(1, 60), st.data())
def test_pass_at_k_is_the_exact_ratio_of_binomials(n: int, data: st.DataObject) -> None:
    c, k = data.draw(st.integers(0, n)), data.draw(st.integers(1, n))
    exact = 1 - math.comb(n - c, k) / math.comb(n, k)
    assert float(answer_sets.pass_at_k(n, c, k)) == pytest.approx(exact, abs=1e-12)


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.data())
def test_best_at_k_of_passes_is_pass_at_k(passed: list[bool], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(passed)))
    expected = answer_sets.pass_at_k(len(passed), sum(passed), k)
    assert float(answer_sets.best_at_k(passed, k)) == pytest.approx(float(expected), abs=1e-9)


@given(SCORES)
def test_best_at_k_is_the_mean_over_subsets_and_rises_with_k(scores: list[float]) -> None:
    curve = [float(answer_sets.best_at_k(scores, k)) for k in range(1, len(scores) + 1)]
    for k, value in enumerate(curve, 1):
        subsets = [max(subset) for subset in itertools.combinations(scores, k)]
        assert value == pytest.approx(sum(subsets) / len(subsets), abs=1e-9)
    assert all(b >= a - 1e-9 for a, b in itertools.pairwise(curve))


@given(REWARDS, SEEDS)
def test_the_set_reward_is_monotone_and_contributions_never_exceed_it(
    rewards: np.ndarray[tuple[int, int], np.dtype[np.float64]], seed: int
) -> None:
    weights = dirichlet(np.random.default_rng(seed), rewards.shape[1], count=16)
    whole = answer_sets.expected_max(rewards, weights)
    added = answer_sets.contributions(rewards, weights)
    assert (added >= 0).all()
    assert added.sum() <= whole + 1e-9
    for index in range(1, len(rewards)):
        without = answer_sets.expected_max(np.delete(rewards, index, axis=0), weights)
        assert whole - without == pytest.approx(added[index], abs=1e-9)


@given(REWARDS)
def test_pairwise_distances_agree_with_all_pairs(rewards: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    pairs = list(itertools.combinations(rewards, 2))
    l1 = sum(np.abs(a - b).sum() for a, b in pairs) / max(1, len(pairs))
    l2 = sum(math.dist(a, b) for a, b in pairs) / max(1, len(pairs))
    assert answer_sets.mean_pairwise_l1(rewards) == pytest.approx(l1, abs=1e-9)
    assert answer_sets.mean_pairwise_l2(rewards) == pytest.approx(l2, abs=1e-9)


@given(st.lists(st.tuples(st.integers(0, 3), st.floats(1, 10)), min_size=1, max_size=12), st.floats(0.1, 0.95))
def test_utility_is_a_discounted_mean_of_what_is_new(answers: list[tuple[int, float]], patience: float) -> None:
    classes, utilities = zip(*answers, strict=True)
    reach = [patience**i for i in range(len(answers))]
    new = [kind not in classes[:i] for i, kind in enumerate(classes)]
    total = sum(r * u for r, u, fresh in zip(reach, utilities, new, strict=True) if fresh)
    assert answer_sets.utility_k(classes, utilities, patience) == pytest.approx(total / sum(reach))


@given(REWARDS)
def test_shares_are_shares(rewards: np.ndarray[tuple[int, int], np.dtype[np.float64]]) -> None:
    assert 0 < answer_sets.pareto_fraction(rewards) <= 1
    assert 0 <= answer_sets.coverage(rewards, 0.5) <= 1
    assert 0 <= answer_sets.collinearity(rewards) <= 1 + 1e-9
    assert 1 <= answer_sets.distinct_k(answer_sets.classes_by_reward(rewards)) <= len(rewards)
