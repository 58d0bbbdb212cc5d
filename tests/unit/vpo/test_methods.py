import itertools
import math

import numpy as np
import pytest

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo import METHODS, Options, RolloutGroup, advantages, draw_weights, estimator, method_of
from evolve.vpo.estimators import (
    marginal_worths,
    max_at_k,
    max_at_k_centred,
    random_weighting,
    vector_max_at_k,
    vpo_marginal,
)

CHANCES = np.array([0.5, 0.3, 0.2])
WORTHS = np.array([[0.9, 0.1], [0.5, 0.5], [0.0, 1.0]])  # of three possible answers
WEIGHTS = np.array([[1.0, 0.0], [0.2, 0.8], [0.5, 0.5]])
SCORES = np.eye(3) - CHANCES  # gradient of log p of a softmax, by answer
PUBLISHED = ("vpo", "vpo_single", "grpo", "gdpo", "maxrl", "max_at_k", "multi_rlvr", "random_weighting")


def tuples(size: int) -> list[tuple[list[int], float]]:
    """Every way to draw that many answers, with its probability."""
    return [(list(drawn), float(np.prod(CHANCES[list(drawn)]))) for drawn in itertools.product(range(3), repeat=size)]


def gradient_of_set_reward(k: int) -> Floats:
    """The gradient of E_w[expected best of k answers under w], by enumeration."""
    total = np.zeros(3)
    for drawn, chance in tuples(k):
        total += chance * (WORTHS[drawn] @ WEIGHTS.T).max(axis=0).mean() * SCORES[drawn].sum(axis=0)
    return total


@pytest.mark.parametrize(("n", "k"), [(3, 1), (3, 2), (4, 3), (4, 4)])
def test_vector_max_at_k_is_an_unbiased_gradient(n: int, k: int) -> None:
    estimate = np.zeros(3)
    for drawn, chance in tuples(n):
        group = RolloutGroup.of(list(WORTHS[drawn]), weights=WEIGHTS)
        estimate += chance * (vector_max_at_k([group], Options(k=k))[0] @ SCORES[drawn]) / n
    assert estimate == pytest.approx(gradient_of_set_reward(k))


def test_marginal_worths_are_an_unbiased_gradient_of_the_set_reward_of_independent_answers() -> None:
    estimate = np.zeros(3)
    for drawn, chance in tuples(4):
        chains = WORTHS[drawn].reshape(2, 2, 2)
        (worths,) = marginal_worths([RolloutGroup.of(list(chains), weights=WEIGHTS)])
        estimate += chance * (np.concatenate(worths) @ SCORES[drawn]) / 4
    assert estimate == pytest.approx(gradient_of_set_reward(2))


def test_marginal_worths_have_less_noise_than_an_advantage_a_chain() -> None:
    exact, spread = gradient_of_set_reward(2), {"answers": 0.0, "chains": 0.0}
    for drawn, chance in tuples(4):
        chains = WORTHS[drawn].reshape(2, 2, 2)
        (worths,) = marginal_worths([RolloutGroup.of(list(chains), weights=WEIGHTS)])
        values = np.array([(chain @ WEIGHTS.T).max(axis=0).mean() for chain in chains])
        leads = np.repeat(values - values[::-1], 2)  # each chain against the other: unbiased as well
        for name, credit in (("answers", np.concatenate(worths)), ("chains", leads)):
            found = (credit @ SCORES[drawn]) / (4 if name == "answers" else 2)
            spread[name] += chance * float(((found - exact) ** 2).sum())
    assert spread["answers"] < 0.5 * spread["chains"]


def test_marginal_worths_are_those_of_single_answers() -> None:
    rewards = np.random.default_rng(2).random((6, 3))
    weights = draw_weights(3, np.random.default_rng(3), 10)
    flat = RolloutGroup.of(list(rewards), weights=weights)
    chains = RolloutGroup.of(list(rewards.reshape(2, 3, 3)), weights=weights)
    (worths,) = marginal_worths([chains])
    assert np.concatenate(worths) == pytest.approx(vector_max_at_k([flat], Options(k=3))[0])
    means = np.array([worth.mean() for worth in worths])
    assert vpo_marginal([chains])[0] == pytest.approx(means - means.mean())


def test_a_chain_without_a_matrix_counts_as_an_answer_of_zeros() -> None:
    chain = [[0.2, 0.6], [0.4, 0.1]]
    missing = RolloutGroup.of([chain, None], weights=WEIGHTS)
    zeros = RolloutGroup.of([chain, [[0.0, 0.0]]], weights=WEIGHTS)
    (worths,), (others,) = marginal_worths([missing]), marginal_worths([zeros])
    assert [worth.size for worth in worths] == [2, 0]
    assert worths[0] == pytest.approx(others[0])
    assert vpo_marginal([missing])[0] == pytest.approx(worths[0].mean() / 2 * np.array([1, -1]))


def test_vector_max_at_k_of_one_weight_is_max_at_k() -> None:
    rewards = list(np.random.default_rng(4).random((7, 2, 3)))
    group = RolloutGroup.of(rewards, weights=[[0.5, 0.3, 0.2]], preference=[0.5, 0.3, 0.2])
    for k in (1, 2, 5):
        assert vector_max_at_k([group], Options(k=k))[0] == pytest.approx(max_at_k([group], Options(k=k))[0])


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_centred_max_at_k_scores_the_mean_best_of_the_subsets_with_a_rollout(k: int) -> None:
    values = [0.3, 0.9, 0.3, 0.1, 0.7]
    means = []
    for i, own in enumerate(values):
        rest = [value for j, value in enumerate(values) if j != i]
        bests = [max(own, *others, -1.0) for others in itertools.combinations(rest, k - 1)]
        means.append(sum(bests) / math.comb(4, k - 1))
    centred = np.array(means) - np.mean(means)
    expected = centred / (np.std(means) + 1e-6) if k < 5 else np.zeros(5)
    group = RolloutGroup.of([[value] for value in values])
    assert max_at_k_centred([group], Options(k=k))[0] == pytest.approx(expected)


def test_random_weights_are_drawn_anew_for_a_group() -> None:
    rollouts = [[1.0, 0.0], [0.0, 1.0]]
    first, second = (RolloutGroup.of(rollouts, weights=[weight]) for weight in ([0.9, 0.1], [0.1, 0.9]))
    found = random_weighting([first, second])
    assert found[0] == pytest.approx([1, -1], abs=1e-4)
    assert found[1] == pytest.approx([-1, 1], abs=1e-4)


def test_goals_come_from_the_prompt() -> None:
    rollouts = [[1.0, 0.0], [0.0, 1.0]] * 2
    goals = {"gold": [1.0, 0.0], "lava": [0.0, 1.0]}
    prompts = ["gold", "gold", "lava", "lava"]
    found = advantages("goal_conditioned", rollouts, prompts, _none, preference=lambda prompt: goals[str(prompt)])
    assert found.rollouts == pytest.approx([1, -1, -1, 1], abs=1e-4)
    with pytest.raises(RewardError, match="'goal_conditioned' needs the weights that each prompt shows"):
        advantages("goal_conditioned", rollouts, prompts, _none)


def test_credits_of_answers_come_back_in_the_order_of_the_batch() -> None:
    rollouts = [[[0.9, 0.1], [0.1, 0.1]], [[0.2, 0.2]], [[0.0, 0.9], [0.3, 0.3]], None]
    found = advantages("vpo_marginal", rollouts, [1, 2, 1, 2], lambda *_: WEIGHTS)
    group = RolloutGroup.of([rollouts[0], rollouts[2]], weights=WEIGHTS)
    (worths,) = marginal_worths([group])
    assert found.answers is not None
    assert found.answers[0] == pytest.approx(worths[0])
    assert found.answers[2] == pytest.approx(worths[1])
    assert [part.size for part in found.answers] == [2, 1, 2, 0]
    assert advantages("vpo", rollouts, [1, 2, 1, 2], lambda *_: WEIGHTS).answers is None


def test_every_method_of_the_paper_is_one_word() -> None:
    assert tuple(METHODS)[:9] == (*PUBLISHED, "goal_conditioned")
    assert {name for name, method in METHODS.items() if method.chains} == {
        "vpo", "multi_rlvr", "multi_rlvr_best", "vpo_marginal",
    }  # fmt: skip
    with pytest.raises(RewardError) as raised:
        method_of("ppo")
    assert str(raised.value) == f"No training method is called 'ppo'; there are {', '.join(METHODS)}."
    assert estimator("vpo_single") is estimator("vpo")


def _none(_: object, objectives: int) -> Floats:
    return np.full((1, objectives), 1 / objectives)
