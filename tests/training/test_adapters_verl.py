"""The estimator inside veRL's own dispatch."""

import json
from typing import Any

import numpy as np
import pytest

from evolve.errors import RewardError
from evolve.vpo import Options, advantages
from training.adapters.completions import one_by_one
from training.adapters.verl import CUT, NAME, TOKENS, SentRewards, register, score_function, sent, verl_estimator
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


EXTRAS = [
    score_function(one_by_one(json.loads), Weighting(seed=2))(
        "set", json.dumps(matrix), extra_info={"index": uid, CUT: False}
    )
    for matrix, uid in zip(MATRICES, UIDS, strict=True)
]


@pytest.fixture
def batch() -> Any:
    """What veRL holds after scoring: the score at the last token."""
    import torch
    from verl import DataProto

    mask = torch.ones(len(MATRICES), LENGTH)
    mask[:, 3:] = 0
    rewards = torch.zeros_like(mask)
    rewards[:, 2] = torch.tensor([each["score"] for each in EXTRAS])
    return DataProto.from_dict(
        tensors={"token_level_rewards": rewards, "response_mask": mask}, non_tensors={"uid": UIDS}
    )


def expected(step: int, method: str = "vpo", options: Options | None = None) -> Any:
    weighting = Weighting(seed=2)
    return advantages(
        method,
        MATRICES,
        UIDS.tolist(),
        lambda uid, k: weighting.weights(step, ["set", "", str(uid)], k),
        options=options or Options(),
    ).rollouts


def test_verl_finds_the_estimator_and_its_advantages_are_those_of_the_library(batch: Any) -> None:
    from verl.trainer.ppo.core_algos import get_adv_estimator_fn
    from verl.trainer.ppo.ray_trainer import compute_advantage

    assert register(Weighting(seed=2)) is get_adv_estimator_fn(NAME)
    with sent(SentRewards(step=7, extras=EXTRAS)):
        done = compute_advantage(batch, NAME, config={})
    shown = done.batch["advantages"].numpy()
    assert shown[:, :3] == pytest.approx(np.repeat(expected(7)[:, None], 3, axis=1), abs=1e-5)
    assert not shown[:, 3:].any()
    assert not shown[4:].any()  # a group that is all alike


def called(batch: Any, extras: Any, step: int = 1, config: Any = None, **settings: Any) -> Any:
    compute = verl_estimator(Weighting(seed=2), **settings)
    with sent(SentRewards(step=step, extras=extras)):
        found, returns = compute(batch.batch["token_level_rewards"], batch.batch["response_mask"], UIDS, config=config)
    assert (found == returns).all()
    return found[:, 0].numpy()


@pytest.mark.parametrize("step", [1, 40])
def test_weights_follow_seed_step_and_prompt_whatever_was_computed_before(batch: Any, step: int) -> None:
    assert called(batch, EXTRAS, step) == pytest.approx(expected(step), abs=1e-5)


@pytest.mark.parametrize("method", ["grpo", "gdpo", "max_at_k", "multi_rlvr", "maxrl"])
def test_every_method_is_one_word(batch: Any, method: str) -> None:
    found = called(batch, EXTRAS, method=method, options=Options(k=2))
    assert found == pytest.approx(expected(1, method, Options(k=2)), abs=1e-5)


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(RewardError, match="No training method is called 'ppo'"):
        verl_estimator(Weighting(), "ppo")


def test_vectors_that_do_not_arrive_are_an_error(batch: Any) -> None:
    from verl.trainer.ppo.ray_trainer import compute_advantage

    register()
    with pytest.raises(RewardError, match="did not reach the estimator: train with veRL's V1 trainer"):
        compute_advantage(batch, NAME, config={})


@pytest.mark.parametrize(
    ("change", "config", "said"),
    [
        ({"vpo_rewards": "[[1"}, None, "which is not JSON"),
        ({CUT: "unknown"}, None, "Whether completions were cut off is unknown"),
        ({}, {"use_kl_in_reward": True}, "has no place among reward vectors"),
    ],
)
def test_what_would_train_for_other_rewards_is_an_error(batch: Any, change: Any, config: Any, said: str) -> None:
    with pytest.raises(RewardError, match=said):
        called(batch, [{**EXTRAS[0], **change}, *EXTRAS[1:]], config=config)
    with pytest.raises(RewardError, match="A completion came without vpo_rewards"):
        called(batch, [{"score": 1.0}, *EXTRAS[1:]])


def test_another_version_of_verl_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda _: "0.8.0")
    with pytest.raises(RewardError, match=r"veRL 0\.8\.0 is installed, and this adapter needs 0\.9"):
        register()


def test_the_reward_manager_finds_the_tokens_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    import asyncio
    from types import SimpleNamespace

    import torch
    from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

    from training.adapters.verl_reward import CutRewardManager

    words = ["so ", "<answer_1>", "a", "</answer_1>", "<answer_2>b", "</answer_2>", "<eos>", "<pad>"]

    class Tokenizer:
        eos_token_id = 6

        def decode(self, ids: Any, **_: Any) -> str:
            return "".join(words[number] for number in ids if number < 6)

    async def score(self: Any, data: Any) -> dict[str, Any]:
        text = self.tokenizer.decode(data[-1].batch["responses"].tolist())
        found = score_function(one_by_one(lambda _: [[0.5], [0.2]]))("set", text, extra_info={"index": 0, CUT: False})
        return {"reward_score": found.pop("score"), "reward_extra_info": found}

    monkeypatch.setattr(NaiveRewardManager, "run_single", score)
    manager = CutRewardManager.__new__(CutRewardManager)
    manager.tokenizer = Tokenizer()
    manager.config = SimpleNamespace(data=SimpleNamespace(max_response_length=8))
    row = SimpleNamespace(
        batch={"responses": torch.arange(8), "attention_mask": torch.tensor([1] * 7 + [0])}, non_tensor_batch={}
    )

    class Rows(list[Any]):
        non_tensor_batch: dict[str, Any] = {}  # noqa: RUF012 - written by the manager under test

    sent_along = asyncio.run(manager.run_single(Rows([row])))["reward_extra_info"]
    assert json.loads(sent_along[TOKENS]) == [[0, 1, 4], [1, 4, 6]]
