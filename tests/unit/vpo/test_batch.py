from collections.abc import Hashable

import numpy as np
import pytest

from evolve.errors import RewardError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo import METHODS, Options, Rollout, RolloutGroup, advantages, draw_weights, estimator


def weights_of(prompt: Hashable, k: int) -> Floats:
    return draw_weights(k, np.random.default_rng([7, int(str(prompt))]), 20)


ROLLOUTS: list[Rollout] = [
    [[1.0, 0.0], [0.0, 1.0]],
    [0.5, 0.5, 0.1],
    None,
    [[0.4, 0.4]],
    [0.0, 0.0, 0.9],
    [[0.2, 0.9], None],
]
PROMPTS = [1, 2, 1, 1, 2, 1]


@pytest.mark.parametrize("name", sorted(METHODS))
def test_rollouts_are_grouped_by_prompt_and_come_back_in_order(name: str) -> None:
    one = RolloutGroup.of([ROLLOUTS[i] for i in (0, 2, 3, 5)], weights=weights_of(1, 2))
    two = RolloutGroup.of([ROLLOUTS[i] for i in (1, 4)], weights=weights_of(2, 3))
    first, second = estimator(name)([one, two], Options())
    expected = np.empty(6)
    expected[[0, 2, 3, 5]], expected[[1, 4]] = first, second
    preference = (lambda prompt: [1.0] * (1 + int(str(prompt)))) if name == "goal_conditioned" else None
    found = advantages(name, ROLLOUTS, PROMPTS, weights_of, preference=preference).rollouts
    assert found.tolist() == expected.tolist()


def test_the_order_of_a_batch_changes_nothing() -> None:
    found = advantages("vpo", ROLLOUTS, PROMPTS, weights_of).rollouts
    turned = advantages("vpo", ROLLOUTS[::-1], PROMPTS[::-1], weights_of).rollouts
    assert turned[::-1] == pytest.approx(found)


def test_an_empty_batch_and_an_unscored_prompt_get_nothing() -> None:
    assert advantages("gdpo", [], [], weights_of).rollouts.size == 0
    assert advantages("vpo", [None, None], [3, 3], weights_of).rollouts.tolist() == [0, 0]


@pytest.mark.parametrize(
    ("rollouts", "said"),
    [
        ([[0.1, 0.2], [0.1]], "prompt 4, rollout 1 has 1 objectives where 2 are expected"),
        ([[0.1, 0.2], [[0.1, float("nan")]]], "prompt 4, rollout 1 holds nan for objective 1 of answer 0"),
        ([[0.1, 0.2]], "Each of the 1 rollouts needs the prompt"),
    ],
)
def test_a_rollout_that_makes_no_sense_is_named(rollouts: list[list[float]], said: str) -> None:
    with pytest.raises(RewardError, match=said):
        advantages("grpo", rollouts, [4, 4], weights_of)


def test_weights_and_preference_must_fit() -> None:
    with pytest.raises(RewardError, match="the weights have 2, the preference has 3"):
        RolloutGroup.of([None], weights=[[0.5, 0.5]], preference=[1.0, 1.0, 1.0])
    with pytest.raises(RewardError, match="has 3 objectives where 2 are expected"):
        RolloutGroup.of([[0.1, 0.2, 0.3]], weights=[[0.5, 0.5]])
    for preference in ([0.0, 0.0], [[0.5, 0.5], [0.5, 0.5]]):
        with pytest.raises(RewardError, match=r"preference|expected"):
            RolloutGroup.of([[0.1, 0.2]], preference=preference)
    with pytest.raises(RewardError, match="No training method is called 'reinforce'"):
        advantages("reinforce", [], [], weights_of)
