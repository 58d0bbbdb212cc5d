"""veRL as it is started, in its own processes: main program, task runner, agent loops, reward workers."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.vpo import advantages
from tests.training.verl_task import ROWS, WEIGHTING

pytestmark = [pytest.mark.training, pytest.mark.timeout(1000)]

TOP = Path(__file__).parents[2]
MODULES = "tests.training.verl_task,tests.training.verl_trainer"
MANAGER = (
    "reward.reward_manager.source=importlib",
    "reward.reward_manager.name=CutRewardManager",
    "reward.reward_manager.module.path=pkg://training.adapters.verl_reward",
)
LENGTH, GROUP, STEPS = 4, 4, 2


def start(folder: Path, model: Path, *more: str, modules: str = MODULES) -> Any:
    """Run `verl.trainer.main_ppo` to its end."""
    from datasets import Dataset

    rows = [
        {
            "data_source": "colours",
            "prompt": [{"role": "user", "content": f"ask {word}"}],
            "reward_model": {"ground_truth": ""},
            "extra_info": {"index": number, "split": "train"},
        }
        for number, word in enumerate(("more", "words"))
    ]
    Dataset.from_list(rows).to_parquet(folder / "rows.parquet")
    settings = [
        "algorithm.adv_estimator=evolve",
        f"data.train_files={folder / 'rows.parquet'}",
        f"data.val_files={folder / 'rows.parquet'}",
        "data.train_batch_size=2",
        "data.max_prompt_length=16",
        f"data.max_response_length={LENGTH}",
        "data.dataloader_num_workers=0",
        f"actor_rollout_ref.model.path={model}",
        "actor_rollout_ref.rollout.name=vllm",
        f"actor_rollout_ref.rollout.n={GROUP}",
        "actor_rollout_ref.rollout.agent.num_workers=1",
        "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=1",
        "actor_rollout_ref.actor.ppo_mini_batch_size=2",
        "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=1",
        f"reward.custom_reward_function.path={TOP / 'tests/training/verl_task.py'}",
        "reward.custom_reward_function.name=compute_score",
        "reward.num_workers=2",
        "trainer.n_gpus_per_node=1",
        f"trainer.total_training_steps={STEPS}",
        "trainer.logger=console",
        "+ray_kwargs.ray_init.include_dashboard=False",
        "ray_kwargs.ray_init.num_cpus=16",
        "transfer_queue.backend.SimpleStorage.num_data_storage_units=1",
        *more,
    ]
    environment = {
        **os.environ, "PYTHONPATH": str(TOP), "VERL_USE_EXTERNAL_MODULES": modules, "PYTHONWARNINGS": "ignore",
        "EVOLVE_TEST_LOG": str(folder / "log.jsonl"), "RAY_TMPDIR": "/tmp", "RAY_USAGE_STATS_ENABLED": "0",
    }  # fmt: skip
    return subprocess.run(
        [sys.executable, "-m", "verl.trainer.main_ppo", *settings],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip


def check_step(line: dict[str, Any]) -> None:
    """What a step sent and made of it, computed again from its texts."""
    prompts = {uid: json.loads(sent["vpo_prompt"]) for uid, sent in zip(line["uids"], line["sent"], strict=True)}
    matrices = [json.loads(sent["vpo_rewards"]) for sent in line["sent"]]
    for text, matrix, sent in zip(line["texts"], matrices, line["sent"], strict=True):
        cut = not text.endswith("<eos>")
        assert sent["vpo_cut"] == str(cut)
        assert sent["vpo_tokens"] == "[]"  # no answer stands in numbered tags
        assert matrix == ([ROWS[word] for word in text.split() if word in ROWS and not cut] or None)
    expected = advantages(
        "vpo", matrices, line["uids"], lambda uid, k: WEIGHTING.weights(line["step"], prompts[str(uid)], k)
    )
    np.testing.assert_allclose(line["advantages"], expected.rollouts, atol=1e-5)


def test_vectors_go_from_reward_workers_to_the_advantages_of_each_step(tmp_path: Path, tiny_model: Path) -> None:
    done = start(tmp_path, tiny_model, *MANAGER)
    assert done.returncode == 0, done.stderr[-4000:] + done.stdout[-4000:]
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, STEPS + 1))
    for line in lines:
        check_step(line)
    assert any(line["moved"] > 0 for line in lines)
