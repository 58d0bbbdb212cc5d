"""The policy of knapsacks: every method trains it from scratch, its answers fit, and a chain sees what came before."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.conftest import TORCH
from training.knapsack import knapsacks, measure
from training.study.knapsack_table import METHODS

if TYPE_CHECKING or TORCH:
    import torch

    from training.knapsack_policy import KnapsackTraining, answers_of, fill, new_policy, train_knapsack

pytestmark = pytest.mark.training


@pytest.mark.parametrize("method", METHODS)
def test_every_method_learns_from_scratch(method: str) -> None:
    settings = KnapsackTraining(method=method, kind="independent", updates=40, rate=1e-2, pool=200)
    asked = knapsacks("independent", "test", 20)
    means = []
    for policy in (new_policy(settings.seed), train_knapsack(settings)):
        found = answers_of(policy, settings, asked, 16)
        assert all(rewards.shape == (16, 3) for rewards in found)
        means.append(np.mean([measure(problem, each)["best@1"] for problem, each in zip(asked, found, strict=True)]))
    assert means[1] > means[0] + 0.02


def test_all_answers_fit_and_are_worth_what_is_said() -> None:
    asked = knapsacks("conflict", "test", 5)
    found = fill(new_policy(1), asked, 8, 4, torch.Generator().manual_seed(1))
    picks = found.picks.numpy().reshape(5, 32, -1)
    rewards = found.by_problem(5).reshape(5, 32, -1)
    for problem, chosen, worth in zip(asked, picks, rewards, strict=True):
        assert (chosen @ problem.costs <= problem.capacity + 1e-9).all()
        np.testing.assert_allclose(worth, problem.rewards(chosen))
    assert not found.picks[~found.open].any()  # an item that does not fit is no choice


def test_only_later_answers_of_a_chain_see_earlier_ones() -> None:
    found = fill(new_policy(2), knapsacks("conflict", "test", 1), 6, 3, torch.Generator().manual_seed(2))
    best = found.features[:, :, 0, 9:12]  # what earlier answers reached
    assert not best[:, 0].any()
    torch.testing.assert_close(best[:, 2].double(), found.rewards[:, :2].amax(dim=1), rtol=1e-5, atol=1e-6)


def test_a_training_is_the_same_again() -> None:
    settings = KnapsackTraining(method="vpo_marginal", kind="conflict", updates=3, pool=50, seed=4)
    one, two = (train_knapsack(settings).state_dict() for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)
