"""A Llama of a few hundred thousand weights, as functions of a dictionary of tensors with transformers' names.

Rollouts of a prompt share it. The prompt's keys and values are computed once and read by all of them, in sampling and
in training.
"""

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional

from evolve.domains.maze.words import COLUMNS
from training.batches import PaddedBatch
from training.recipe import Shape
from training.vocabulary import MAX_SIDE, WORDS, parts_of

if TYPE_CHECKING:
    from torch import Generator, Tensor

Weights = dict[str, "Tensor"]

_GROWTH = 16  # tokens that a decoder makes room for at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefix:
    """Prompts for rollouts.

    Attributes:
        keys, values: a tensor (prompts, heads, length, head size) for each layer.
        lengths: (prompts,). Longer positions are padding.
        last: (prompts, vocabulary) logits of the first token of a reply.
    """

    keys: tuple["Tensor", ...]
    values: tuple["Tensor", ...]
    lengths: "Tensor"
    last: "Tensor"


def shapes(shape: Shape) -> dict[str, tuple[int, ...]]:
    """The shape of each weight."""
    width = shape.heads * shape.head_size
    found: dict[str, tuple[int, ...]] = {"model.embed_tokens.weight": (shape.vocabulary, shape.hidden)}
    for layer in range(shape.layers):
        at = f"model.layers.{layer}"
        found |= {f"{at}.{name}_layernorm.weight": (shape.hidden,) for name in ("input", "post_attention")}
        found |= {f"{at}.self_attn.{name}_proj.weight": (width, shape.hidden) for name in "qkv"}
        found[f"{at}.self_attn.o_proj.weight"] = (shape.hidden, width)
        found |= {f"{at}.mlp.{name}_proj.weight": (shape.inner, shape.hidden) for name in ("gate", "up")}
        found[f"{at}.mlp.down_proj.weight"] = (shape.hidden, shape.inner)
    found["model.norm.weight"] = (shape.hidden,)
    return found


def count(shape: Shape) -> int:
    """How many weights `shapes` names."""
    return 2 + 9 * shape.layers


def initial(shape: Shape, generator: "Generator", device: str = "cpu") -> Weights:
    """Initial weights: normal, smaller where a layer adds to the stream (GPT-2's rule). Norms are ones."""
    deep = 0.02 / math.sqrt(2 * shape.layers)

    def normal(rows: int, columns: int, deviation: float = 0.02) -> "Tensor":
        return (torch.randn(rows, columns, generator=generator) * deviation).to(device)

    weights: Weights = {}
    for name, size in shapes(shape).items():
        if len(size) == 1:
            weights[name] = torch.ones(size, device=device)
        elif name.endswith("embed_tokens.weight"):
            weights[name] = _embeddings(normal, shape.hidden)
        else:
            adds = name.endswith(("o_proj.weight", "down_proj.weight"))
            weights[name] = normal(size[0], size[1], deep if adds else 0.02)
    return {name: weight.requires_grad_() for name, weight in weights.items()}


def digest(weights: Weights) -> str:
    """Tells weights apart by their content: the SHA-256 of their bytes, in the order of their names."""
    content = hashlib.sha256()
    for name in sorted(weights):
        content.update(weights[name].detach().cpu().contiguous().numpy())
    return content.hexdigest()


def read_prompts(weights: Weights, shape: Shape, ids: "Tensor", lengths: "Tensor") -> Prefix:
    """Read prompts (prompts, length), padded behind their lengths (prompts,)."""
    rows, length = ids.shape
    positions = torch.arange(length, device=ids.device)
    turn = turn_of(shape, positions)
    hidden = _hidden((positions[None, :] <= positions[:, None])[None, None])
    keys, values = [], []
    stream = functional.embedding(ids, weights["model.embed_tokens.weight"])
    for layer in range(shape.layers):
        query, key, value = (part.transpose(1, 2) for part in _project(weights, shape, layer, stream, turn))
        keys.append(key)
        values.append(value)
        attended = _attend(query, key.flatten(0, 1), value.flatten(0, 1), hidden)
        stream = _advance(weights, shape, layer, stream, attended)
    last = stream[torch.arange(rows, device=ids.device), lengths - 1]
    return Prefix(keys=tuple(keys), values=tuple(values), lengths=lengths, last=logits_of(weights, shape, last))


def read_replies(weights: Weights, shape: Shape, prefix: Prefix, ids: "Tensor", read: "Tensor") -> "Tensor":
    """Logits (tokens, vocabulary) of the next token after the tokens of replies (rows, length), row by row.

    Each prompt has the same number of rows, and they are adjacent. Nothing is computed for tokens where `read`, of the
    same shape, is False. Those are at the ends of rows.
    """
    rows, length = ids.shape
    each = rows // len(prefix.lengths)
    lengths = prefix.lengths.repeat_interleave(each)
    own = torch.arange(length, device=ids.device)
    turn = turn_of(shape, (lengths[:, None] + own)[read])
    before = torch.arange(prefix.keys[0].shape[2], device=ids.device)[None] < lengths[:, None]
    causal = (own[None, :] <= own[:, None]).expand(rows, length, length)
    hidden = _hidden(torch.cat([before[:, None].expand(rows, length, -1), causal], dim=-1)[:, None])
    places = read.flatten().nonzero()[:, 0]

    def laid_out(part: "Tensor") -> "Tensor":
        room = part.new_zeros(rows * length, *part.shape[1:])
        return room.index_copy(0, places, part).unflatten(0, (rows, length)).transpose(1, 2)

    stream = functional.embedding(ids[read], weights["model.embed_tokens.weight"])
    for layer in range(shape.layers):
        query, key, value = (laid_out(part) for part in _project(weights, shape, layer, stream, turn))
        key = torch.cat([prefix.keys[layer].repeat_interleave(each, dim=0), key], dim=2).flatten(0, 1)
        value = torch.cat([prefix.values[layer].repeat_interleave(each, dim=0), value], dim=2).flatten(0, 1)
        attended = _attend(query, key, value, hidden).flatten(0, 1)[places]
        stream = _advance(weights, shape, layer, stream, attended)
    return logits_of(weights, shape, stream)


def reply_losses(weights: Weights, shape: Shape, prompts: PaddedBatch, replies: PaddedBatch) -> "Tensor":
    """Negative log-probability in nats of each token of replies to prompts: (rows, length), zero after their ends."""
    prefix = read_prompts(weights, shape, prompts.ids, prompts.lengths)
    first = prefix.last.repeat_interleave(len(replies.ids) // len(prompts.ids), dim=0)
    read = replies.mask[:, 1:]
    following = read_replies(weights, shape, prefix, replies.ids[:, :-1], read)
    rest = functional.cross_entropy(following.float(), replies.ids[:, 1:][read], reduction="none")
    begun = functional.cross_entropy(first.float(), replies.ids[:, 0], reduction="none")
    behind = rest.new_zeros(read.shape).masked_scatter(read, rest)
    return torch.cat([begun[:, None], behind], dim=1)


def _embeddings(normal: Callable[[int, int], "Tensor"], hidden: int) -> "Tensor":
    """Words with the same column, row or meaning start alike, and neighbouring columns and rows are in order."""
    parts = sorted({part for word in WORDS for part in parts_of(word)})
    vectors = dict(zip(parts, normal(len(parts), hidden), strict=True))
    for axis in (COLUMNS[:MAX_SIDE], [str(row) for row in range(1, MAX_SIDE + 1)]):
        slope = 2 * normal(1, hidden)[0]
        for place, part in enumerate(axis):
            vectors[part] = vectors[part] / 2 + slope * (2 * place / (MAX_SIDE - 1) - 1)
    own = normal(len(WORDS), hidden) / 4
    return own + torch.stack([torch.stack([vectors[part] for part in parts_of(word)]).sum(dim=0) for word in WORDS])


class Decoder:
    """Writes replies token by token, each row after its prompt, and caches its computations."""

    def __init__(self, weights: Weights, shape: Shape, prefix: Prefix, each: int) -> None:
        self._weights, self._shape = weights, shape
        self._lengths = prefix.lengths.repeat_interleave(each)
        self._at = self._start = prefix.keys[0].shape[2]
        places = torch.arange(self._start, device=self._lengths.device)
        self._hidden = _hidden(places[None] < self._lengths[:, None])[:, None, None]
        self._keys = [keys.repeat_interleave(each, dim=0).flatten(0, 1) for keys in prefix.keys]
        self._values = [values.repeat_interleave(each, dim=0).flatten(0, 1) for values in prefix.values]

    def step(self, ids: "Tensor") -> "Tensor":
        """Logits (rows, vocabulary) of the next token after the tokens (rows,)."""
        at = self._at
        if at == self._hidden.shape[-1]:
            self._grow()
        self._hidden[..., at] = 0
        turn = turn_of(self._shape, (self._lengths + at - self._start)[:, None])
        stream = functional.embedding(ids[:, None], self._weights["model.embed_tokens.weight"])
        for layer, (keys, values) in enumerate(zip(self._keys, self._values, strict=True)):
            stream = attend_step(self._weights, self._shape, layer, stream, turn, (keys, values, at), self._hidden)
        self._at += 1
        return logits_of(self._weights, self._shape, stream[:, 0])

    def keep(self, rows: "Tensor") -> None:
        """Go on with these rows alone."""
        self._lengths, self._hidden = self._lengths[rows], self._hidden[rows]
        self._keys = [self._kept(keys, rows) for keys in self._keys]
        self._values = [self._kept(values, rows) for values in self._values]

    def _kept(self, room: "Tensor", rows: "Tensor") -> "Tensor":
        return room.unflatten(0, (-1, self._shape.heads))[rows].flatten(0, 1)

    def _grow(self) -> None:
        """Make room for some tokens: products of whole tensors are faster than those of parts of them."""
        self._hidden = functional.pad(self._hidden, (0, _GROWTH), value=-math.inf)
        self._keys = [functional.pad(keys, (0, 0, 0, _GROWTH)) for keys in self._keys]
        self._values = [functional.pad(values, (0, 0, 0, _GROWTH)) for values in self._values]


def attend_step(
    weights: Weights,
    shape: Shape,
    layer: int,
    stream: "Tensor",
    turn: tuple["Tensor", "Tensor"],
    cache: tuple["Tensor", "Tensor", "Tensor | int"],
    hidden: "Tensor",
) -> "Tensor":
    """A layer's work on one token of each row (rows, 1, hidden).

    Args:
        cache: its keys and values (rows * heads, positions, head size), and the position of the token, a number or a
            tensor (1,) on the device. The token's own are written there.
    """
    keys, values, at = cache
    query, key, value = (part.transpose(1, 2) for part in _project(weights, shape, layer, stream, turn))
    if isinstance(at, int):
        keys[:, at : at + 1], values[:, at : at + 1] = key.flatten(0, 1), value.flatten(0, 1)
    else:
        keys.index_copy_(1, at, key.flatten(0, 1))
        values.index_copy_(1, at, value.flatten(0, 1))
    return _advance(weights, shape, layer, stream, _attend(query, keys, values, hidden))


def turn_of(shape: Shape, positions: "Tensor") -> tuple["Tensor", "Tensor"]:
    """Cosine and sine of rotary embeddings (Su et al. 2021) of positions (...), for all heads: (..., 1, head size)."""
    half = shape.head_size // 2
    rates = shape.rope_theta ** (-torch.arange(half, device=positions.device, dtype=torch.float32) / half)
    angles = positions[..., None].to(torch.float32) * rates
    angles = torch.cat([angles, angles], dim=-1)[..., None, :]
    return angles.cos(), angles.sin()


def _turned(tensor: "Tensor", turn: tuple["Tensor", "Tensor"]) -> "Tensor":
    first, second = tensor.chunk(2, dim=-1)
    return tensor * turn[0].to(tensor.dtype) + torch.cat([-second, first], dim=-1) * turn[1].to(tensor.dtype)


def _project(weights: Weights, shape: Shape, layer: int, stream: "Tensor", turn: Any) -> tuple["Tensor", ...]:
    """Queries, keys and values of a stream (..., hidden): (..., heads, head size)."""
    at = f"model.layers.{layer}"
    normal = _normal(stream, weights[f"{at}.input_layernorm.weight"], shape)
    parts = (functional.linear(normal, weights[f"{at}.self_attn.{name}_proj.weight"]) for name in "qkv")
    query, key, value = (part.unflatten(-1, (shape.heads, shape.head_size)) for part in parts)
    return _turned(query, turn), _turned(key, turn), value


def _attend(query: "Tensor", key: "Tensor", value: "Tensor", hidden: "Tensor") -> "Tensor":
    """Attention written out: on processors that takes a third of the time of torch's own, a fifth while writing.

    Args:
        query: (rows, heads, length, head size).
        key, value: (rows * heads, positions, head size).
        hidden: (rows or 1, 1, length, positions), minus infinity where nothing is seen, else 0.
    """
    rows, heads = query.shape[:2]
    scores = torch.bmm(query.flatten(0, 1) / math.sqrt(query.shape[-1]), key.transpose(1, 2))
    chances = torch.softmax(scores.unflatten(0, (rows, heads)) + hidden, dim=-1)
    return torch.bmm(chances.flatten(0, 1), value).unflatten(0, (rows, heads)).transpose(1, 2).flatten(2)


def _hidden(seen: "Tensor") -> "Tensor":
    return torch.zeros(seen.shape, device=seen.device).masked_fill_(~seen, -math.inf)


def _advance(weights: Weights, shape: Shape, layer: int, stream: "Tensor", attended: "Tensor") -> "Tensor":
    at = f"model.layers.{layer}"
    stream = stream + functional.linear(attended, weights[f"{at}.self_attn.o_proj.weight"])
    normal = _normal(stream, weights[f"{at}.post_attention_layernorm.weight"], shape)
    gate = functional.silu(functional.linear(normal, weights[f"{at}.mlp.gate_proj.weight"]))
    up = functional.linear(normal, weights[f"{at}.mlp.up_proj.weight"])
    return stream + functional.linear(gate * up, weights[f"{at}.mlp.down_proj.weight"])


def _normal(stream: "Tensor", weight: "Tensor", shape: Shape) -> "Tensor":
    return functional.rms_norm(stream, (shape.hidden,), weight, shape.epsilon)


def logits_of(weights: Weights, shape: Shape, stream: "Tensor") -> "Tensor":
    """Logits (..., vocabulary) of the next token after a stream (..., hidden) has passed all layers."""
    normal = _normal(stream, weights["model.norm.weight"], shape)
    return functional.linear(normal, weights["model.embed_tokens.weight"])
