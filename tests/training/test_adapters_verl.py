"""The estimator inside veRL's own dispatch."""

import json
from functools import partial
from typing import Any

import numpy as np
import pytest

from evolve.errors import RewardError
from evolve.vpo import advantages
from training.adapters.completions import one_by_one
from training.adapters.verl import NAME, estimator, register, score_function
from training.adapters.weighting import Weighting

pytestmark = [
    pytest.mark.training,
    # What importing veRL's trainer brings along: ray uses what it deprecates, engines of GPUs are absent.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore:.*not available.*:UserWarning"),
]

MATRICES: list[Any] = [
    [[1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5]], None, [[0.9, 0.0]],
    [[0.3, 0.3]], [[0.3, 0.3]], [[0.3, 0.3]], [[0.3, 0.3]],
]  # fmt: skip
UIDS = np.array(["a"] * 4 + ["b"] * 4, dtype=object)
LENGTH = 5


@pytest.fixture
def batch() -> Any:
    """What veRL holds after scoring: the score at the last token, the rest of the reward beside it."""
    import torch
    from verl import DataProto

    compute_score = score_function(one_by_one(json.loads), Weighting(seed=2))
    scored = [
        compute_score("set", json.dumps(matrix), extra_info={"index": uid})
        for matrix, uid in zip(MATRICES, UIDS, strict=True)
    ]
    mask = torch.ones(len(MATRICES), LENGTH)
    mask[:, 3:] = 0
    rewards = torch.zeros_like(mask)
    rewards[:, 2] = torch.tensor([each["score"] for each in scored])
    extra = {key: np.array([each[key] for each in scored]) for key in scored[0] if key != "score"}
    return DataProto.from_dict(
        tensors={"token_level_rewards": rewards, "response_mask": mask}, non_tensors={"uid": UIDS, **extra}
    )


def test_verl_finds_the_estimator_and_its_advantages_are_those_of_the_library(batch: Any) -> None:
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn
    from verl.trainer.ppo.ray_trainer import compute_advantage

    assert register() is get_adv_estimator_fn(NAME)
    done = compute_advantage(batch, NAME, config={})
    groups = {uid: Weighting(seed=2).weights(0, ["set", "", uid], 2) for uid in ("a", "b")}
    expected = advantages("vpo", MATRICES, UIDS.tolist(), lambda uid, _: groups[str(uid)])
    shown = done.batch["advantages"].numpy()
    assert shown[:, :3] == pytest.approx(np.repeat(expected[:, None], 3, axis=1), abs=1e-5)
    assert not shown[:, 3:].any()
    assert not shown[4:].any()  # a group that is all alike


def test_it_differs_from_grpo_of_verl_by_the_deviation_alone(batch: Any) -> None:
    from verl.trainer.ppo.ray_trainer import compute_advantage

    register()
    ours = compute_advantage(batch, NAME, config={}).batch["advantages"].clone()
    theirs = compute_advantage(batch, "grpo", config={}).batch["advantages"]
    assert ours[:4, 0].numpy() == pytest.approx(theirs[:4, 0].numpy() * np.sqrt(4 / 3), rel=1e-4)


def test_with_the_matrices_each_call_draws_new_weights(batch: Any) -> None:
    compute, weighting = estimator(Weighting(seed=9)), Weighting(seed=9)
    given = {
        "token_level_rewards": batch.batch["token_level_rewards"],
        "response_mask": batch.batch["response_mask"],
        "index": batch.non_tensor_batch["uid"],
        "non_tensor_batch": batch.non_tensor_batch,
    }
    for step in range(2):
        expected = advantages("vpo", MATRICES, UIDS.tolist(), partial(weighting.weights, step))
        found, returns = compute(**given)
        assert found[:, 0].numpy() == pytest.approx(expected, abs=1e-5)
        assert (found == returns).all()


def test_what_is_no_json_is_named(batch: Any) -> None:
    batch.non_tensor_batch["vpo_rewards"][0] = "[[1"
    with pytest.raises(RewardError, match="which is not JSON"):
        estimator(Weighting())(
            batch.batch["token_level_rewards"],
            batch.batch["response_mask"],
            UIDS,
            non_tensor_batch=batch.non_tensor_batch,
        )
