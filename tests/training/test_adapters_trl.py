"""The reward function inside TRL's own trainer, on the processor."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.vpo import set_reward
from training.adapters.completions import Completion
from training.adapters.trl import set_reward_function
from training.adapters.weighting import Weighting

pytestmark = [
    pytest.mark.training,
    # TRL and torch say of each other what is on its way out, and that there is no GPU.
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning"),
]

ROOT = Path(__file__).parents[2]
GROUP, STEPS = 4, 3
PROMPTS: dict[str, list[Any]] = {
    "plain": ["ask red", "ask blue"],
    "conversational": [[{"role": "user", "content": f"ask {word}"}] for word in ("red", "blue")],
}
WEIGHTING = Weighting(seed=4, draws=20)


def shares(completions: list[Completion]) -> list[list[list[float]]]:
    """Each half of a completion is an answer, worth its shares of two words."""
    texts = [completion.text.split() for completion in completions]
    halves = [(words[: len(words) // 2], words[len(words) // 2 :]) for words in texts]
    return [[[half.count(word) / 8 for word in ("red", "blue")] for half in pair] for pair in halves]


def train(model: Path, prompts: list[Any], reward: Any, output: Path, batch: int = GROUP) -> Any:
    """Run the trainer for a few steps; gives it back."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    config = GRPOConfig(
        output_dir=str(output), use_cpu=True, seed=0, max_steps=STEPS, per_device_train_batch_size=batch,
        num_generations=GROUP, max_completion_length=16, learning_rate=1e-2, scale_rewards="group", beta=0.0,
        logging_steps=1, save_strategy="no", report_to=[], disable_tqdm=True,
    )  # fmt: skip
    rows = Dataset.from_dict({"prompt": prompts, "level": [1] * len(prompts)})
    trainer = GRPOTrainer(model=str(model), reward_funcs=reward, args=config, train_dataset=rows)
    trainer.train()
    return trainer


@pytest.mark.parametrize("kind", PROMPTS)
def test_the_trainer_learns_from_set_rewards(kind: str, tiny_model: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModelForCausalLM

    calls: list[tuple[int, list[Completion], list[float]]] = []
    judged: list[list[Completion]] = []

    def judge(completions: Any) -> Any:
        judged.append(list(completions))
        return shares(completions)

    reward = set_reward_function(judge, WEIGHTING)

    def set_reward_seen(prompts: Any, completions: Any, **columns: Any) -> list[float]:
        values = reward(prompts, completions, **columns)
        calls.append((columns["trainer_state"].global_step, judged[-1], values))
        return values

    trainer = train(tiny_model, PROMPTS[kind], set_reward_seen, tmp_path)
    assert [step for step, _, _ in calls] == [0, 1, 2]
    for step, completions, values in calls:
        expected = [
            set_reward(matrix, WEIGHTING.weights(step, completion.prompt, 2))
            for completion, matrix in zip(completions, shares(completions), strict=True)
        ]
        assert values == expected
        assert {completion.columns["level"] for completion in completions} == {1}
    history = [entry for entry in trainer.state.log_history if "vpo/set_reward" in entry]
    for entry, (_, _, values) in zip(history, calls, strict=True):
        assert entry["reward"] == pytest.approx(np.mean(values), abs=1e-4)
        assert entry["vpo/set_reward"] == pytest.approx(np.mean(values), abs=1e-4)
        assert entry["reward_std"] == pytest.approx(np.std(values, ddof=1), abs=1e-4)
        assert entry["vpo/pool_size"] == 2
    before = AutoModelForCausalLM.from_pretrained(tiny_model).state_dict()
    after = trainer.model.state_dict()
    assert any(not torch.equal(after[name], weight) for name, weight in before.items())


WORKER = """
import json, os, sys
from pathlib import Path
from tests.training.test_adapters_trl import WEIGHTING, shares, train
from training.adapters.trl import set_reward_function

calls = []
reward = set_reward_function(shares, WEIGHTING)

def seen(prompts, completions, **columns):
    values = reward(prompts, completions, **columns)
    calls.append([columns["trainer_state"].global_step, prompts, completions, values])
    return values

trainer = train(Path(sys.argv[1]), ["ask red"], seen, Path(sys.argv[2]), batch=2)
history = [entry["reward_std"] for entry in trainer.state.log_history if "reward_std" in entry]
Path(sys.argv[2], f"rank{os.environ['RANK']}.json").write_text(json.dumps([calls, history]))
# Gloo's threads are joined here: torn down at the interpreter's exit they abort the process now and then.
trainer.accelerator.wait_for_everyone()
trainer.accelerator.end_training()
"""


def test_a_group_split_over_two_processes_is_one_group(tiny_model: Path, tmp_path: Path) -> None:
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*command, str(tiny_model), str(tmp_path)],
        env=environment,
        timeout=300,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (first, history), (second, _) = (json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in (0, 1))
    assert len(first) == len(second) == STEPS
    for (step, prompts, texts, values), (_, _, other_texts, other_values), spread in zip(
        first, second, history, strict=True
    ):
        weights = WEIGHTING.weights(step, prompts[0], 2)
        both = [Completion(text=text) for text in texts + other_texts]
        assert values + other_values == [set_reward(matrix, weights) for matrix in shares(both)]
        assert spread == pytest.approx(np.std(values + other_values, ddof=1), abs=1e-4)
