"""Weights of a Llama, read from a safetensors file and checked against its shape."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors

from service.policy.bundled.config import LlamaConfig

Floats = npt.NDArray[np.float32]

MAX_BYTES = 512 << 20
_NOT_NEEDED = ("lm_head.weight", "rotary_emb.inv_freq")


def read_weights(path: Path, config: LlamaConfig) -> dict[str, Floats]:
    """All weights by name, in single precision.

    Raises:
        ValueError: the file is not a complete safetensors file, or its weights do not fit the shape. The text says
            which.
        OSError: it cannot be read.
    """
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"its weights are larger than {MAX_BYTES >> 20} MB: serve it with vLLM")
    wanted = _shapes(config)
    try:
        with safetensors.safe_open(path, framework="numpy") as file:
            _check_names(wanted, set(file.keys()))
            return {name: _tensor(file, name, shape) for name, shape in wanted.items()}
    except safetensors.SafetensorError as error:
        raise ValueError(
            f"its model.safetensors is damaged ({' '.join(str(error).split())[:200]}): copy or export it again"
        ) from error


def _shapes(config: LlamaConfig) -> dict[str, tuple[int, ...]]:
    hidden, inner = config.hidden_size, config.intermediate_size
    query, key = config.num_attention_heads * config.head_dim, config.num_key_value_heads * config.head_dim
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (config.vocab_size, hidden)}
    for layer in range(config.num_hidden_layers):
        shapes |= {
            f"model.layers.{layer}.{name}.weight": shape
            for name, shape in {
                "input_layernorm": (hidden,),
                "self_attn.q_proj": (query, hidden),
                "self_attn.k_proj": (key, hidden),
                "self_attn.v_proj": (key, hidden),
                "self_attn.o_proj": (hidden, query),
                "post_attention_layernorm": (hidden,),
                "mlp.gate_proj": (inner, hidden),
                "mlp.up_proj": (inner, hidden),
                "mlp.down_proj": (hidden, inner),
            }.items()
        }
    shapes["model.norm.weight"] = (hidden,)
    if not config.tie_word_embeddings:
        shapes["lm_head.weight"] = (config.vocab_size, hidden)
    return shapes


def _check_names(wanted: Mapping[str, object], found: set[str]) -> None:
    if missing := sorted(set(wanted) - found):
        raise ValueError(f"its model.safetensors lacks {missing[0]}, which its config.json needs: export it again")
    if more := sorted(name for name in found - set(wanted) if not name.endswith(_NOT_NEEDED)):
        raise ValueError(f"its model.safetensors holds {more[0][:80]}, which a plain Llama lacks: serve it with vLLM")


def _tensor(file: Any, name: str, shape: tuple[int, ...]) -> Floats:
    part = file.get_slice(name)
    if part.get_dtype() not in ("F32", "F16"):
        raise ValueError(f"its {name} is of the type {part.get_dtype()}: save the weights as float16 or float32")
    if tuple(part.get_shape()) != shape:
        raise ValueError(f"its {name} has the shape {tuple(part.get_shape())}, and its config.json needs {shape}")
    tensor: Floats = file.get_tensor(name).astype(np.float32)
    if not np.isfinite(tensor).all():
        raise ValueError(f"its {name} holds values that are not finite: train or export it again")
    return tensor
