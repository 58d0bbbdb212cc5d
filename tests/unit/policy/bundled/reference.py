"""The network once more, as slow and plain as its formulas: a token and a head at a time, nothing remembered."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float64]


def log_probabilities(shape: Mapping[str, Any], weights: Mapping[str, Any], ids: Sequence[int]) -> list[Vector]:
    """Of what follows each of the tokens, in double precision."""
    tensors = {name.removesuffix(".weight"): np.asarray(tensor, dtype=np.float64) for name, tensor in weights.items()}
    embedding = tensors["model.embed_tokens"]
    states = [embedding[token] for token in ids]
    for layer in range(shape["num_hidden_layers"]):
        states = block(shape, tensors, f"model.layers.{layer}", states)
    head = embedding if shape["tie_word_embeddings"] else tensors["lm_head"]
    return [normal(head @ norm(state, tensors["model.norm"], shape["rms_norm_eps"])) for state in states]


def block(shape: Mapping[str, Any], tensors: Mapping[str, Vector], place: str, states: list[Vector]) -> list[Vector]:
    eps = shape["rms_norm_eps"]
    read = [norm(state, tensors[f"{place}.input_layernorm"], eps) for state in states]
    group, theta = shape["num_attention_heads"] // shape["num_key_value_heads"], shape["rope_theta"]
    queries, keys, values = (
        [heads(tensors[f"{place}.self_attn.{name}_proj"] @ state, shape["head_dim"]) for state in read]
        for name in ("q", "k", "v")
    )
    found = []
    for here, state in enumerate(states):
        seen = []
        for head in range(shape["num_attention_heads"]):
            asked = rotate(queries[here][head], here, theta)
            scores = np.array(
                [asked @ rotate(keys[there][head // group], there, theta) for there in range(here + 1)]
            ) / math.sqrt(shape["head_dim"])
            shares = np.exp(normal(scores))
            seen.append(sum(share * values[there][head // group] for there, share in enumerate(shares)))
        state = state + tensors[f"{place}.self_attn.o_proj"] @ np.concatenate(seen)
        inner = norm(state, tensors[f"{place}.post_attention_layernorm"], eps)
        gate = tensors[f"{place}.mlp.gate_proj"] @ inner
        gate = np.array([number / (1.0 + math.exp(-number)) for number in gate])
        found.append(state + tensors[f"{place}.mlp.down_proj"] @ (gate * (tensors[f"{place}.mlp.up_proj"] @ inner)))
    return found


def heads(vector: Vector, size: int) -> list[Vector]:
    return [vector[place : place + size] for place in range(0, len(vector), size)]


def rotate(vector: Vector, position: int, theta: float) -> Vector:
    """Number i with number i + size / 2, by position * theta^(-2 i / size)."""
    half = len(vector) // 2
    found = vector.copy()
    for place in range(half):
        angle = position * theta ** (-2.0 * place / len(vector))
        one, other = vector[place], vector[place + half]
        found[place] = one * math.cos(angle) - other * math.sin(angle)
        found[place + half] = other * math.cos(angle) + one * math.sin(angle)
    return found


def norm(vector: Vector, gain: Vector, eps: float) -> Vector:
    return vector / math.sqrt(float(np.mean(vector**2)) + eps) * gain


def normal(logits: Vector) -> Vector:
    """Logits as logarithms of probabilities."""
    maximum = logits.max()
    found: Vector = logits - maximum - math.log(float(np.exp(logits - maximum).sum()))
    return found
