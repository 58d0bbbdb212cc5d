"""A reward manager for veRL that tells which tokens are answers and whether a completion was cut off.

veRL loads it in its reward workers. It hands a reward function the text alone, without the tokens.
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from verl.experimental.reward_loop.reward_manager.naive import NaiveRewardManager

from training.adapters.answer_spans import token_spans
from training.adapters.verl import CUT, SPANS, TOKENS


class CutRewardManager(NaiveRewardManager):
    """veRL's own manager, which adds to `extra_info` whether the response ran out of tokens."""

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Score one response."""
        last = data[-1]
        length = last.batch["responses"].shape[-1]
        written = int(last.batch["attention_mask"][-length:].sum())
        full = written >= int(self.config.data.max_response_length)
        cut = full and int(last.batch["responses"][written - 1]) != self.tokenizer.eos_token_id
        told = {**last.non_tensor_batch.get("extra_info", {}), CUT: cut}
        data.non_tensor_batch["extra_info"] = np.array([told] * len(data), dtype=object)
        scored: dict[str, Any] = await super().run_single(data)
        sent = scored.get("reward_extra_info", {})
        if SPANS in sent:
            ids = last.batch["responses"][:written].tolist()
            spans = token_spans(ids, json.loads(sent[SPANS]), self._text)
            sent[TOKENS] = json.dumps(spans)
        return scored

    def _text(self, ids: Sequence[int]) -> str:
        return str(self.tokenizer.decode(ids, skip_special_tokens=True))
