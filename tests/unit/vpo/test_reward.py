import math
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import ArrayLike

from evolve.errors import RewardError
from evolve.vpo import (
    draw_weights,
    exact_set_reward,
    exact_specialists,
    reward_matrix,
    rewards_above_floors,
    set_reward,
)


def weights(k: int, count: int = 4096, alpha: float = 1.0) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return draw_weights(k, np.random.default_rng(11), count, alpha, "sobol")


def test_a_set_is_worth_the_mean_of_its_best_under_each_weight() -> None:
    drawn = [[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]
    assert set_reward([[1.0, 0.0], [0.0, 1.0]], drawn) == pytest.approx((1 + 1 + 0.5) / 3)
    assert set_reward([[0.2, 0.6]], drawn) == pytest.approx((0.2 + 0.6 + 0.4) / 3)


@pytest.mark.parametrize("k", [1, 2, 3, 4, 7, 16])
def test_one_hot_specialists_are_worth_the_harmonic_number_over_k(k: int) -> None:
    expected = float(sum(Fraction(1, i) for i in range(1, k + 1)) / k)
    assert exact_specialists(np.ones(k)) == pytest.approx(expected, rel=1e-9)
    assert exact_set_reward(np.eye(k)) == pytest.approx(expected, rel=1e-9)
    assert set_reward(np.eye(k), weights(k)) == pytest.approx(expected, abs=0.004)


def test_the_published_examples() -> None:
    assert exact_set_reward(np.eye(3)) == pytest.approx(0.611, abs=5e-4)
    assert exact_set_reward(np.eye(4)) == pytest.approx(0.521, abs=5e-4)
    # Three specialists that leave a fourth objective uncovered lose to a generalist.
    assert exact_set_reward(np.eye(4)[:3]) == pytest.approx(11 / 24)
    assert exact_set_reward(np.eye(4)[:3]) < exact_set_reward(np.full((1, 4), 0.5)) == 0.5


def test_specialists_of_unequal_worth() -> None:
    # k = 2: max(c t, d (1 - t)) crosses at d / (c + d); by hand (c^2 + c d + d^2) / (2 (c + d)).
    assert exact_specialists([0.8, 0.3]) == pytest.approx((0.64 + 0.24 + 0.09) / 2.2)
    rewards = np.diag([1.0, 0.5, 0.25, 0.0])
    assert exact_set_reward(rewards) == pytest.approx(set_reward(rewards, weights(4)), abs=0.002)
    assert exact_specialists([0.0, 0.0]) == 0


@pytest.mark.parametrize("alpha", [0.2, 1.0, 9.0])
def test_one_answer_is_worth_its_mean(alpha: float) -> None:
    flat = [0.1, 0.4, 0.7, 1.0]
    assert set_reward(flat, weights(4, alpha=alpha)) == pytest.approx(0.55, abs=0.005)
    assert exact_set_reward(flat) == pytest.approx(0.55)
    assert exact_set_reward([flat, [0.1, 0.4, 0.7, 0.9]]) == pytest.approx(0.55)


def test_two_objectives_are_integrated_exactly() -> None:
    # Lines t, 1 - t and 0.6: crossings at 0.4 and 0.6; 2 * integral of t over [0.6, 1] + 0.2 * 0.6.
    assert exact_set_reward([[1.0, 0.0], [0.0, 1.0], [0.6, 0.6]]) == pytest.approx(0.64 + 0.12)
    mixed = np.random.default_rng(2).random((12, 2))
    grid = (np.arange(20_000) + 0.5) / 20_000
    brute = np.max(mixed @ np.stack([grid, 1 - grid]), axis=0).mean()
    assert exact_set_reward(mixed) == pytest.approx(brute, abs=1e-8)


def test_duplicates_and_covered_answers_add_nothing() -> None:
    drawn = weights(3, 64)
    alone = [[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]
    assert set_reward([*alone, alone[0], [0.0, 0.0, 0.1]], drawn) == pytest.approx(set_reward(alone, drawn))


def test_an_unparsed_answer_is_a_row_of_zeros() -> None:
    assert reward_matrix([None, [0.5, 1.0], None]).tolist() == [[0, 0], [0.5, 1.0], [0, 0]]
    assert reward_matrix([None, None], 3).tolist() == [[0.0] * 3] * 2
    assert reward_matrix([None, None]).shape == (0, 0)
    assert set_reward([None, [0.5, 1.0]], [[0.5, 0.5]]) == 0.75


def test_beside_negative_rewards_an_unparsed_answer_is_refused() -> None:
    with pytest.raises(RewardError, match=r"holds -0\.5 for objective 0 of answer 1, below its floor of 0"):
        set_reward([None, [-0.5, -1.0]], [[0.5, 0.5]])
    assert set_reward([[-0.5, -1.0]], [[0.5, 0.5]]) == -0.75  # no answer counts as zeros


def test_rewards_count_from_their_floors() -> None:
    floors = {"helpful": -1.0, "brief": -20.0}
    above = rewards_above_floors([[-0.5, -5.0], None, [0.25, -20.0]], floors)
    assert above.tolist() == [[0.5, 15.0], [0.0, 0.0], [1.25, 0.0]]
    assert rewards_above_floors([None, [0.5, 1.0]]).tolist() == [[0.0, 0.0], [0.5, 1.0]]
    assert rewards_above_floors([], floors).shape == (0, 2)


@pytest.mark.parametrize(
    ("floors", "said"),
    [
        (None, r"rollout 3 holds -5 for objective 1 of answer 0, below its floor of 0"),
        (
            {"helpful": 0.0, "brief": -4.5},
            r"rollout 3 holds -5 for objective brief of answer 0, below its floor of -4\.5",
        ),
        ({"helpful": 0.0}, "has 2 objectives where 1 are expected"),
        ({"helpful": 0.0, "brief": math.nan}, "floors must be finite"),
    ],
)
def test_rewards_below_their_floor_are_refused_by_the_name_of_the_objective(
    floors: dict[str, float] | None, said: str
) -> None:
    with pytest.raises(RewardError, match=said):
        rewards_above_floors([[0.5, -5.0]], floors, name="rollout 3")


@pytest.mark.parametrize(
    ("rewards", "said"),
    [
        ([[0.1, math.nan]], "rewards holds nan for objective 1 of answer 0"),
        ([[0.1, 0.2], [math.inf, 0.2]], "rewards holds inf for objective 0 of answer 1"),
        ([[0.1, 1e200]], "keep rewards within 1e\\+100"),
        ([[0.1, 0.2], [0.3]], "equally many in each"),
        ([None, 0.5], "there is one that is no row"),
        ("abc", "rows of numbers"),
        ([[1j, 0.5]], "complex numbers have no order"),
        (np.array([[1j, 0.5]]), "complex numbers have no order"),
        ([[10**400, 0.5]], "rows of numbers"),
        ([None, [0.5, []]], "rows of numbers"),
        ([["a", "b"]], "rows of numbers"),
        ([[0.1, 0.2, 0.3]], "has 3 objectives where 2 are expected"),
        (np.zeros((2, 2, 2)), r"not shape \(2, 2, 2\)"),
        (0.5, r"not shape \(\)"),
        ([], "no answers"),
        (np.empty((0, 2)), "no answers"),
    ],
)
def test_rewards_that_make_no_sense_are_named(rewards: ArrayLike, said: str) -> None:
    with pytest.raises(RewardError, match=said):
        set_reward(rewards, [[0.5, 0.5]])


@pytest.mark.parametrize("drawn", [[[0.5, -0.5]], [[math.nan, 1.0]], [], [["x"]]])
def test_weights_that_make_no_sense_are_refused(drawn: ArrayLike) -> None:
    with pytest.raises(RewardError, match=r"[Ww]eights"):
        set_reward([[0.5, 0.5]], drawn)


def test_what_has_no_closed_form_says_so() -> None:
    with pytest.raises(RewardError, match="draw weights"):
        exact_set_reward([[1.0, 0.5, 0.0], [0.0, 0.5, 1.0]])
    with pytest.raises(RewardError, match="no answers"):
        exact_set_reward([])
