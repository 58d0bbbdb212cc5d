import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from evolve.errors import RewardError
from evolve.vpo import (
    METHODS,
    Options,
    RolloutGroup,
    Sampler,
    draw_weights,
    estimator,
    exact_set_reward,
    reward_matrix,
    set_reward,
)
from evolve.vpo.estimators import entropic, max_at_k, vpo

Matrix = NDArray[np.float64]
# Sixteenths: equal rewards are common, and their sums are exact.
REWARD = st.integers(0, 16).map(lambda sixteenths: sixteenths / 16)
SEEDS = st.integers(0, 2**32 - 1)


def matrices(k: int, minimum: int = 1, maximum: int = 4) -> st.SearchStrategy[Matrix]:
    row = st.lists(REWARD, min_size=k, max_size=k)
    return st.lists(row, min_size=minimum, max_size=maximum).map(lambda rows: np.array(rows, dtype=np.float64))


@st.composite
def groups(draw: st.DrawFn) -> RolloutGroup:
    k = draw(st.integers(1, 4))
    rollouts = draw(st.lists(st.one_of(st.none(), matrices(k)), min_size=1, max_size=7))
    weights = draw_weights(k, np.random.default_rng(draw(SEEDS)), 8)
    return RolloutGroup.of(rollouts, weights=weights)


@given(groups(), st.sampled_from(sorted(METHODS)))
def test_every_estimator_gives_each_rollout_one_finite_number(group: RolloutGroup, name: str) -> None:
    (found,) = estimator(name)([group], Options())
    assert found.shape == (len(group),)
    assert np.isfinite(found).all()


@given(groups(), st.sampled_from(sorted(METHODS)), SEEDS)
def test_the_order_of_rollouts_does_not_matter(group: RolloutGroup, name: str, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(len(group))
    turned = RolloutGroup(
        rollouts=tuple(group.rollouts[i] for i in order), preference=group.preference, weights=group.weights
    )
    (found,), (other,) = (estimator(name)([one], Options()) for one in (group, turned))
    assert other == pytest.approx(found[order], rel=1e-6, abs=1e-9)


@given(groups(), st.sampled_from(["vpo", "grpo", "multi_rlvr", "multi_rlvr_best", "gdpo", "maxrl"]))
def test_normalised_advantages_sum_to_nothing(group: RolloutGroup, name: str) -> None:
    (found,) = estimator(name)([group], Options())
    assert found.sum() == pytest.approx(0, abs=1e-6 * max(1.0, np.abs(found).max()))


@given(st.lists(REWARD, min_size=2, max_size=9))
def test_a_better_rollout_never_gets_less(values: list[float]) -> None:
    group = RolloutGroup.of([[value] for value in values], weights=[[1.0]])
    order = np.argsort(values)
    for name in METHODS:
        (found,) = estimator(name)([group], Options())
        assert (np.diff(found[order]) >= -1e-9 * max(1.0, np.abs(found).max())).all()


@given(st.lists(REWARD, min_size=2, max_size=9), st.data())
def test_max_at_k_gives_the_worst_nothing_and_takes_from_nobody(values: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(2, len(values)))
    (found,) = max_at_k([RolloutGroup.of([[value] for value in values])], Options(k=k))
    assert (found >= -1e-9).all()
    assert found[int(np.argmin(values))] == pytest.approx(0, abs=1e-9)


@given(st.lists(REWARD, min_size=3, max_size=9), st.floats(0.1, 10), st.floats(-5, 5))
def test_entropic_advantages_do_not_depend_on_the_scale(values: list[float], scale: float, shift: float) -> None:
    (found,) = entropic([RolloutGroup.of([[value] for value in values])])
    moved = [[scale * value + shift] for value in values]
    (other,) = entropic([RolloutGroup.of(moved, floors={"reward": min(shift, 0.0)})])
    assert other == pytest.approx(found, rel=1e-6, abs=1e-6)


@given(st.integers(1, 4).flatmap(lambda k: st.tuples(matrices(k), matrices(k))), SEEDS)
def test_a_larger_set_is_never_worth_less_and_duplicates_add_nothing(pair: tuple[Matrix, Matrix], seed: int) -> None:
    weights = draw_weights(pair[0].shape[1], np.random.default_rng(seed), 16)
    one, other = (set_reward(rewards, weights) for rewards in pair)
    both = set_reward(np.concatenate(pair), weights)
    # Products of matrices of other shapes may round otherwise.
    assert both >= max(one, other) - 1e-12
    assert set_reward(np.concatenate([pair[0], pair[0]]), weights) == pytest.approx(one, abs=1e-12)


@given(matrices(2, maximum=6))
def test_the_exact_reward_of_two_objectives_agrees_with_a_grid(rewards: Matrix) -> None:
    grid = (np.arange(2000) + 0.5) / 2000
    assert exact_set_reward(rewards) == pytest.approx(set_reward(rewards, np.stack([grid, 1 - grid], axis=1)), abs=1e-5)


@given(groups())
def test_vpo_changes_nothing_when_all_answers_are_repeated(group: RolloutGroup) -> None:
    twice = RolloutGroup(
        rollouts=tuple(None if one is None else np.concatenate([one, one]) for one in group.rollouts),
        preference=group.preference,
        weights=group.weights,
    )
    assert vpo([twice])[0] == pytest.approx(vpo([group])[0], abs=1e-9)


@given(st.integers(1, 12), st.integers(1, 64), st.floats(0.01, 100), st.sampled_from(["naive", "sobol"]), SEEDS)
def test_weights_lie_on_the_simplex(k: int, count: int, alpha: float, sampler: Sampler, seed: int) -> None:
    drawn = draw_weights(k, np.random.default_rng(seed), count, alpha, sampler)
    assert drawn.shape == (count, k)
    assert (drawn >= 0).all()
    assert drawn.sum(axis=1) == pytest.approx(1)


JUNK = st.recursive(
    st.one_of(st.none(), st.floats(), st.text(max_size=3), st.booleans(), st.integers(-5, 5)),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=12,
)


@given(JUNK)
def test_whatever_is_given_as_rewards_is_read_or_refused(junk: object) -> None:
    try:
        matrix = reward_matrix(junk)  # type: ignore[arg-type]  # anything may come from a trainer
    except RewardError:
        return
    assert matrix.ndim == 2
    assert all(math.isfinite(value) for value in matrix.ravel())
