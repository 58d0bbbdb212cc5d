"""veRL's synchronous trainer with what needs a GPU taken out: vLLM writes by a model in the process, FSDP is one step.

Its task runner, data loader, agent loops, replay buffer, reward workers, TransferQueue and advantages are veRL's own.
"""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import torch
import transfer_queue
from transformers import AutoModelForCausalLM
from verl.experimental.reward_loop import RewardLoopManager
from verl.trainer.ppo.v1.trainer_base import TRAINER_REGISTRY
from verl.trainer.ppo.v1.trainer_sync import PPOTrainerSync
from verl.utils.skip import SkipManager
from verl.workers.rollout.llm_server import LLMServerClient
from verl.workers.rollout.replica import TokenOutput

_SEEDS = itertools.count()  # those of requests are drawn anew in each run, and some write nothing that is worth more


class Writer(LLMServerClient):
    """Writes with a small model instead of vLLM."""

    async def generate(self, request_id: str, *, prompt_ids: list[int], **_: Any) -> Any:
        model = AutoModelForCausalLM.from_pretrained(self.config.actor_rollout_ref.model.path)
        asked = torch.tensor([prompt_ids])
        length = self.config.data.max_response_length
        torch.manual_seed(next(_SEEDS))
        written = model.generate(asked, max_new_tokens=length, do_sample=True)[0, len(prompt_ids) :].tolist()
        return TokenOutput(token_ids=written)


class CpuTrainer(PPOTrainerSync):
    """Steps on a processor, each of which is a line of a log."""

    def init(self) -> None:
        self._init_tokenizer()
        self._init_dataloader()
        self.reward_loop_manager = RewardLoopManager(config=self.config)
        self.model = AutoModelForCausalLM.from_pretrained(self.config.actor_rollout_ref.model.path)
        self.global_steps = 0

    def get_llm_client(self) -> Any:
        return Writer(self.config)

    def fit(self, agent_loop_manager: Any) -> None:
        self.agent_loop_manager = agent_loop_manager
        SkipManager.init(self.config)
        for step in range(1, self.total_training_steps + 1):
            self.global_steps = step
            self.prepare_step()
            batch, _ = self.replay_buffer.sample(self.global_steps, "train", self.config.data.train_batch_size)
            batch = self._compute_advantage(batch, metrics={})
            self._update(batch)
            transfer_queue.kv_clear(keys=batch.keys, partition_id=batch.partition_id)

    def _update(self, batch: Any) -> None:
        names = ["uid", "input_ids", "prompts", "responses", "advantages", "extra_fields"]
        data = transfer_queue.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=names)
        before = self.model.lm_head.weight.detach().clone()
        worth = [float(row.max() + row.min()) if len(row.unique()) > 1 else float(row[0]) for row in data["advantages"]]
        losses = [
            self.model(ids.unsqueeze(0), labels=ids.unsqueeze(0)).loss * value
            for ids, value in zip(data["input_ids"], worth, strict=True)
        ]
        torch.stack(losses).mean().backward()
        torch.optim.SGD(self.model.parameters(), lr=0.1).step()
        line = {
            "step": self.global_steps,
            "process": os.getpid(),
            "uids": data.pop("uid").tolist(),
            "advantages": worth,
            "texts": [self.tokenizer.decode(ids, skip_special_tokens=False) for ids in data["responses"]],
            "sent": [fields["reward_extra_info"] for fields in data.pop("extra_fields").tolist()],
            "moved": float((self.model.lm_head.weight - before).abs().max()),
        }
        with Path(os.environ["EVOLVE_TEST_LOG"]).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")


TRAINER_REGISTRY["sync"] = CpuTrainer
