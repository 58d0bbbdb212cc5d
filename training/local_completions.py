"""Completions of a model in this process: a folder or a name on the hub, with or without a LoRA adapter."""

import hashlib
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from training.base_model import adapter_model_of, context_tokens, load_model, require_frameworks, with_adapter
from training.errors import ModelError, TrainingError
from training.harness import EvaluationSettings, SampledCompletions

Messages = Sequence[Mapping[str, str]]


class LocalModel:
    """A source of completions, see `training.harness.CompletionSource`.

    Sampling is as the settings say, without the top-k and penalties that a model's folder may recommend.

    Args:
        settings: of the evaluation.
        model: folder or name of a chat model. None: that of the adapter.
        adapter: folder of an adapter, as `evolve train` writes it.
        batch: prompts that are completed together.

    Raises:
        TrainingError: the extra `trl` is not installed.
        ModelError: the model or the adapter cannot be loaded.
    """

    concurrency = 1  # a call takes the whole processor

    def __init__(
        self, settings: EvaluationSettings, *, model: str | None, adapter: Path | None = None, batch: int = 1
    ) -> None:
        require_frameworks()
        self.batch = batch
        self._settings = settings
        loaded, self._tokenizer = load_model(model or _model_of(adapter))
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token
        self._model = (loaded if adapter is None else with_adapter(loaded, adapter)).eval()
        if import_module("torch").cuda.is_available():
            self._model = self._model.to("cuda")

    def complete(self, prompts: Sequence[str | Messages], count: int, seed: int) -> list[SampledCompletions]:
        """So many completions of each prompt, a text or a chat. Equal calls give equal completions.

        Raises:
            TrainingError: a prompt does not fit, or memory runs out.
        """
        torch = import_module("torch")
        shown = [
            self._tokenizer.apply_chat_template(
                [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [*prompt],
                add_generation_prompt=True,
                tokenize=False,
            )
            for prompt in prompts
        ]
        asked = self._tokenizer(shown, add_special_tokens=False, padding=True, return_tensors="pt")
        width = asked["input_ids"].shape[1]
        room = min(self._settings.max_tokens, context_tokens(self._model) - width)
        if room < 1:
            raise TrainingError(f"A prompt has {width} tokens, which leaves no room in the model's context.")
        torch.manual_seed(int.from_bytes(hashlib.sha256(f"{seed} {shown}".encode()).digest()[:7], "big"))
        try:
            with torch.no_grad():
                written = self._model.generate(
                    **asked.to(self._model.device), generation_config=self._sampling(count, room)
                )
        except RuntimeError as error:  # torch's word for memory that is gone
            reason = str(error).strip().partition("\n")[0][:200]
            raise TrainingError(f"The model stopped ({reason}): lower --concurrency or --chains.") from error
        rows = written[:, width:].tolist()
        lengths = asked["attention_mask"].sum(dim=1).tolist()
        return [
            self._completions(rows[place * count : (place + 1) * count], int(lengths[place]), room)
            for place in range(len(prompts))
        ]

    def _sampling(self, count: int, room: int) -> Any:
        settings, sampled = self._settings, self._settings.temperature > 0
        drawn = {"temperature": settings.temperature, "top_p": settings.top_p, "top_k": 0} if sampled else {}
        return import_module("transformers").GenerationConfig(
            do_sample=sampled, max_new_tokens=room, num_return_sequences=count, eos_token_id=sorted(self._ends),
            pad_token_id=self._tokenizer.pad_token_id, **drawn,
        )  # fmt: skip

    @property
    def _ends(self) -> set[int]:
        """Tokens that end a completion: those of the model's folder, and the tokenizer's."""
        told = self._model.generation_config.eos_token_id
        ends = set(told if isinstance(told, list) else [told])
        return {int(token) for token in ends | {self._tokenizer.eos_token_id} if token is not None}

    def _completions(self, rows: Sequence[list[int]], prompt_tokens: int, room: int) -> SampledCompletions:
        ends = self._ends
        lengths = [next((place + 1 for place, token in enumerate(row) if token in ends), None) for row in rows]
        texts = self._tokenizer.batch_decode(
            [row[:length] for row, length in zip(rows, lengths, strict=True)], skip_special_tokens=True
        )
        return SampledCompletions(
            texts=tuple(texts),
            cut=tuple(length is None for length in lengths),
            prompt_tokens=prompt_tokens,
            completion_tokens=sum(room if length is None else length for length in lengths),
        )


def _model_of(adapter: Path | None) -> str:
    if adapter is None:
        raise ModelError("Name a model, or an adapter.")
    return adapter_model_of(adapter)
