"""Model folders of a few thousand random weights in the Hugging Face layout, made without any of its libraries."""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from safetensors.numpy import save_file

SPECIAL = ("<bos>", "<eos>", "<pad>", "<unk>")
# Keeps of a prompt the words of its last message, each of which the vocabulary knows or not.
TEMPLATE = "{{ bos_token }} {{ messages[-1]['content'] }} \n<answers>\n"
NUMBERS = tuple(str(number) for number in range(10))
WORDS = ("<answers>", "<answer_1>", "</answer_1>", "<answer_2>", "</answer_2>", "x", "=", *NUMBERS)

Weights = dict[str, npt.NDArray[Any]]


def config(words: Sequence[str] = WORDS, **changes: Any) -> dict[str, Any]:
    """A `config.json`; the keyword arguments replace its keys."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 24,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 6,
        "intermediate_size": 40,
        "vocab_size": len(SPECIAL) + len(words),
        "max_position_embeddings": 96,
        "rope_theta": 10000.0,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "tie_word_embeddings": True,
        "bos_token_id": 0,
        "eos_token_id": 1,
        "pad_token_id": 2,
        **changes,
    }


def weights(shape: Mapping[str, Any], seed: int = 0, scale: float = 0.4) -> Weights:
    """Random weights for a `config.json`; gains of norms lie around one."""
    rng = np.random.default_rng(seed)
    hidden, inner, vocabulary = shape["hidden_size"], shape["intermediate_size"], shape["vocab_size"]
    query, key = (shape[f"num_{name}_heads"] * shape["head_dim"] for name in ("attention", "key_value"))
    shapes: dict[str, tuple[int, ...]] = {"model.embed_tokens": (vocabulary, hidden), "model.norm": (hidden,)}
    for layer in range(shape["num_hidden_layers"]):
        place = f"model.layers.{layer}"
        shapes |= {f"{place}.{name}_layernorm": (hidden,) for name in ("input", "post_attention")}
        shapes |= {f"{place}.self_attn.{name}_proj": (size, hidden) for name, size in (("q", query), ("k", key))}
        shapes |= {f"{place}.self_attn.v_proj": (key, hidden), f"{place}.self_attn.o_proj": (hidden, query)}
        shapes |= {f"{place}.mlp.{name}_proj": (inner, hidden) for name in ("gate", "up")}
        shapes |= {f"{place}.mlp.down_proj": (hidden, inner)}
    if not shape["tie_word_embeddings"]:
        shapes["lm_head"] = (vocabulary, hidden)
    return {
        f"{name}.weight": (rng.normal(float(len(size) == 1), scale, size)).astype(np.float32)
        for name, size in shapes.items()
    }


def tokenizer(words: Sequence[str] = WORDS) -> dict[str, Any]:
    """A `tokenizer.json` of whole words."""
    flags = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": place, "content": word, **flags} for place, word in enumerate(SPECIAL)],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {word: place for place, word in enumerate((*SPECIAL, *words))},
            "unk_token": "<unk>",
        },
    }


def write_model(
    folder: Path,
    words: Sequence[str] = WORDS,
    *,
    seed: int = 0,
    template: str = TEMPLATE,
    half: bool = False,
    tensors: Weights | None = None,
    **changes: Any,
) -> Path:
    """Write a model folder; `half` saves its weights as float16, the keyword arguments change its config."""
    folder.mkdir(parents=True, exist_ok=True)
    shape = config(words, **changes)
    tensors = weights(shape, seed) if tensors is None else tensors
    tensors = {name: tensor.astype(np.float16) for name, tensor in tensors.items()} if half else tensors
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    naming = {f"{name}_token": f"<{name}>" for name in ("bos", "eos", "pad", "unk")}
    naming |= {"tokenizer_class": "PreTrainedTokenizerFast", "chat_template": template}
    files = {"config.json": shape, "tokenizer.json": tokenizer(words), "tokenizer_config.json": naming}
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    return folder


def write_parrot(folder: Path, text: str, words: Sequence[str] = WORDS, **changes: Any) -> Path:
    """Write a model folder whose model answers every prompt of `TEMPLATE` with one text of words, each at most once.

    Where the text has words with `|` between them, it takes one of them, each as likely as the others. Each word points
    at the next: attention and the inner layer give nothing, and the head looks up the successors.
    """
    shape = config(words, **{"hidden_size": len(SPECIAL) + len(words), "tie_word_embeddings": False, **changes})
    tensors = weights(shape, scale=0.0)
    numbers = {word: place for place, word in enumerate((*SPECIAL, *words))}
    path = [[numbers[word] for word in place.split("|")] for place in ("<answers>", *text.split(), "<eos>")]
    assert len({word for place in path for word in place}) == sum(len(place) for place in path)
    head = np.zeros((shape["vocab_size"], shape["hidden_size"]), dtype=np.float32)
    for here, there in pairwise(path):
        head[np.ix_(there, here)] = 20.0
    tensors |= {"model.embed_tokens.weight": np.eye(len(head), dtype=np.float32), "lm_head.weight": head}
    return write_model(folder, words, tensors=tensors, **{**shape, **changes})
