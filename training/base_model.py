"""The base model of an adapter: its tokenizer, the model itself, and the shape of its adapter."""

import json
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from training.errors import ModelError, TrainingError

ADAPTER_CONFIG = "adapter_config.json"


def require_frameworks() -> None:
    """Check the installation first.

    Raises:
        TrainingError: the extra `trl` is not installed.
    """
    missing = [name for name in ("torch", "transformers", "trl", "peft", "datasets") if find_spec(name) is None]
    if missing:
        raise TrainingError(
            f"{', '.join(missing)} is not installed: install the extra trl (docs/how-to/train-a-policy.md says how,"
            " also for a build of torch without CUDA)."
        )


def load_model(name: str, *, on_cpu: str = "float32") -> tuple[Any, Any]:
    """A chat model and its tokenizer, from a folder or by its name on the hub.

    Args:
        name: the folder or the name.
        on_cpu: type of the weights without a GPU. `auto`: as stored, which is faster for bfloat16 if the processor
            supports it.

    Raises:
        ModelError: it cannot be loaded, has no chat template, or has a vocabulary that does not fit.
    """
    transformers, torch = import_module("transformers"), import_module("torch")
    kind = "bfloat16" if torch.cuda.is_available() else on_cpu
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(name)
        model = transformers.AutoModelForCausalLM.from_pretrained(name, dtype=kind)
    except Exception as error:  # a damaged or foreign folder fails in as many ways as there are readers
        reason = str(error).strip().partition("\n")[0][:200]
        raise ModelError(f"The model {name} cannot be loaded: {reason}") from error
    if not tokenizer.chat_template:
        raise ModelError(f"The tokenizer of {name} has no chat template: use an instruction-tuned model.")
    fits = model.get_input_embeddings().num_embeddings
    if len(tokenizer) > fits:
        raise ModelError(
            f"The vocabulary of {name} does not fit: the tokenizer has {len(tokenizer)}, the model {fits}."
        )
    return model, tokenizer


def with_adapter(model: Any, adapter: Path, *, trained: bool = False) -> Any:
    """A model with an adapter on it.

    Args:
        model: the adapter's own.
        adapter: its folder.
        trained: its weights will be trained on.

    Raises:
        ModelError: the folder holds no adapter, or one of another model.
    """
    adapter_model_of(adapter)
    try:
        return import_module("peft").PeftModel.from_pretrained(model, str(adapter), is_trainable=trained)
    except Exception as error:  # a damaged or foreign folder fails in as many ways as there are readers
        reason = str(error).strip().partition("\n")[0][:200]
        raise ModelError(f"The adapter {adapter} does not fit the model: {reason}") from error


def adapter_model_of(adapter: Path) -> str:
    """The model that an adapter was trained on.

    Raises:
        ModelError: the folder holds no adapter.
    """
    try:
        return str(json.loads((adapter / ADAPTER_CONFIG).read_text(encoding="utf-8"))["base_model_name_or_path"])
    except (OSError, ValueError, LookupError) as error:
        raise ModelError(f"{adapter} holds no adapter: name the folder that has {ADAPTER_CONFIG}.") from error


def adapter_config(rank: int) -> Any:
    """LoRA on every linear layer, as vLLM loads it."""
    return import_module("peft").LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )


def context_tokens(model: Any) -> int:
    """How many tokens the model reads and writes together."""
    return getattr(model.config, "max_position_embeddings", None) or 1 << 30
