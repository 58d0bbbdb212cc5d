"""The Llama network in numpy: log-probabilities of a text, and the next token for many texts at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from service.policy.bundled.cache import Cache, LayerCache
from service.policy.bundled.config import LlamaConfig
from service.policy.bundled.weights import Floats

Ints = npt.NDArray[np.int64]
_Rotations = npt.NDArray[np.complex64]

# Keys that are masked: far below any score, and finite, so that a wholly masked row is no NaN.
_MASKED = np.float32(-1e30)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """A layer. The gains of its norms and the scale of its attention are multiplied into its matrices.

    Attributes:
        qkv: (hidden, (heads + 2 * kv heads) * head size). The two numbers of each rotated pair are adjacent.
        out: (heads * head size, hidden).
        gate_up: (hidden, 2 * inner).
        down: (inner, hidden).
    """

    qkv: Floats
    out: Floats
    gate_up: Floats
    down: Floats


class Llama:
    """A Llama (Touvron et al. 2023) with its weights. Every method takes and returns arrays, without state.

    Args:
        config: its shape.
        weights: by the names of the Hugging Face layout, single precision.
    """

    def __init__(self, config: LlamaConfig, weights: Mapping[str, Floats]) -> None:
        self.config = config
        self._embedding = weights["model.embed_tokens.weight"]
        self._blocks = [_block(config, weights, layer) for layer in range(config.num_hidden_layers)]
        head = weights.get("lm_head.weight", self._embedding)
        self._head = _matrix(weights["model.norm.weight"] * head)
        frequencies = config.rope_theta ** -(np.arange(0, config.head_dim, 2) / config.head_dim)
        angles = np.arange(config.max_position_embeddings)[:, None] * frequencies
        self._rotations: _Rotations = np.exp(1j * angles).astype(np.complex64)

    def logits(self, ids: Sequence[int]) -> Floats:
        """Logits of the next token after each token of a text: (tokens, vocabulary)."""
        tokens = np.asarray(ids, dtype=np.int64)[None]
        hidden, _ = self._read(tokens)
        return self._normed(hidden[0]) @ self._head

    def begin(self, prompts: Sequence[Sequence[int]], samples: int) -> tuple[Floats, Cache]:
        """Read prompts, each once for all its samples.

        Returns:
            Logits of the next token of each prompt, (prompts, vocabulary), and the cache for `samples` rows each.
        """
        lengths = np.array([len(prompt) for prompt in prompts], dtype=np.int64)
        tokens = np.zeros((len(prompts), int(lengths.max())), dtype=np.int64)
        for place, prompt in enumerate(prompts):
            tokens[place, : len(prompt)] = prompt
        hidden, layers = self._read(tokens)
        last = hidden[np.arange(len(prompts)), lengths - 1]
        # The padding lies behind every prompt: reading never looks at it, and going on must not.
        behind = np.arange(tokens.shape[1]) >= lengths[:, None]
        mask = np.where(behind, _MASKED, np.float32(0.0))[:, None, None] if behind.any() else None
        return self._normed(last) @ self._head, Cache(layers, lengths=lengths, samples=samples, mask=mask)

    def step(self, ids: Ints, cache: Cache) -> Floats:
        """Read another token of every row. Returns the logits of the next: (rows, vocabulary)."""
        x = self._embedding[ids]
        turned = self._rotations[cache.advance()][:, None]
        for block, layer in zip(self._blocks, cache.layers, strict=True):
            query, key, value = self._projected(block, x, turned)
            x += self._attend(query, key, value, layer, cache) @ block.out
            x += self._fed(block, x)
        return self._normed(x) @ self._head

    def _read(self, tokens: Ints) -> tuple[Floats, list[tuple[Floats, Floats]]]:
        """Whole texts: the last layer's output (texts, length, hidden), and each layer's keys and values."""
        texts, length = tokens.shape
        x = self._embedding[tokens.ravel()]
        turned = np.tile(self._rotations[:length], (texts, 1))[:, None]
        causal = np.triu(np.full((length, length), _MASKED, dtype=np.float32), 1)
        layers = []
        for block in self._blocks:
            query, key, value = (
                part.reshape(texts, length, -1, self.config.head_dim).swapaxes(1, 2)
                for part in self._projected(block, x, turned)
            )
            key, value = np.ascontiguousarray(key), np.ascontiguousarray(value)
            grouped = query.reshape(texts, -1, self.config.group, length, self.config.head_dim)
            scores = grouped @ key[:, :, None].swapaxes(-1, -2) + causal
            seen = _softmax(scores) @ value[:, :, None]
            x += np.moveaxis(seen, 3, 1).reshape(texts * length, -1) @ block.out
            x += self._fed(block, x)
            layers.append((key, value))
        return x.reshape(texts, length, -1), layers

    def _projected(self, block: _Block, x: Floats, turned: _Rotations) -> tuple[Floats, Floats, Floats]:
        """Queries, keys (both turned to their positions) and values: (rows, heads, head size)."""
        config = self.config
        heads, keys = config.num_attention_heads, config.num_key_value_heads
        parts = (self._normed(x) @ block.qkv).reshape(len(x), heads + 2 * keys, config.head_dim)
        rotated = (parts[:, : heads + keys].view(np.complex64) * turned).view(np.float32)
        return rotated[:, :heads], rotated[:, heads:], parts[:, heads + keys :]

    def _attend(self, query: Floats, key: Floats, value: Floats, layer: LayerCache, cache: Cache) -> Floats:
        """A token of every row, over its prompt, which it shares with its siblings, and over its own tokens."""
        config, prompts, samples = self.config, cache.prompts, cache.samples
        keys, group, size = config.num_key_value_heads, config.group, config.head_dim
        own_keys, own_values = layer.append(key, value, cache.length)
        apart = query.reshape(-1, keys, group, size)
        together = apart.reshape(prompts, samples, keys, group, size).swapaxes(1, 2).reshape(prompts, keys, -1, size)
        shared = together @ layer.prompt_keys.swapaxes(-1, -2)
        if cache.mask is not None:
            shared += cache.mask
        own = apart @ own_keys.swapaxes(-1, -2)
        # One softmax over both: the larger of the two maxima, the sum of the two sums.
        maximum = np.maximum(_spread(shared.max(-1, keepdims=True), samples, group), own.max(-1, keepdims=True))
        shared -= _gathered(maximum, prompts, samples)
        own -= maximum
        np.exp(shared, out=shared)
        np.exp(own, out=own)
        total = _spread(shared.sum(-1, keepdims=True), samples, group) + own.sum(-1, keepdims=True)
        over_prompt: Floats = np.matmul(shared, layer.prompt_values)
        seen: Floats = _spread(over_prompt, samples, group) + np.matmul(own, own_values)
        seen /= total
        return seen.reshape(len(query), -1)

    def _fed(self, block: _Block, x: Floats) -> Floats:
        gate: Floats
        gate, up = np.split(self._normed(x) @ block.gate_up, 2, axis=-1)
        # x * sigmoid(x) by the hyperbolic tangent, which overflows nowhere.
        gate *= np.float32(0.5)
        gate += gate * np.tanh(gate)
        gate *= up
        fed: Floats = np.matmul(gate, block.down)
        return fed

    def _normed(self, x: Floats) -> Floats:
        mean = np.einsum("ij,ij->i", x, x)[:, None] / np.float32(x.shape[-1])
        normed: Floats = x / np.sqrt(mean + np.float32(self.config.rms_norm_eps))
        return normed


def _block(config: LlamaConfig, weights: Mapping[str, Floats], layer: int) -> _Block:
    def weight(name: str) -> Floats:
        return weights[f"model.layers.{layer}.{name}.weight"]

    before, between = weight("input_layernorm"), weight("post_attention_layernorm")
    query = _paired(weight("self_attn.q_proj"), config.head_dim) / np.sqrt(np.float32(config.head_dim))
    key = _paired(weight("self_attn.k_proj"), config.head_dim)
    return _Block(
        qkv=_matrix(before * np.concatenate([query, key, weight("self_attn.v_proj")])),
        out=_matrix(weight("self_attn.o_proj")),
        gate_up=_matrix(between * np.concatenate([weight("mlp.gate_proj"), weight("mlp.up_proj")])),
        down=_matrix(weight("mlp.down_proj")),
    )


def _paired(weight: Floats, size: int) -> Floats:
    """Rows of a projection, ordered so that the two numbers of a rotation are adjacent.

    The layout rotates number i of a head with number i + size / 2. Adjacent, they are a complex number. Scores do not
    depend on the order, as long as queries and keys share it.
    """
    halves = weight.reshape(-1, 2, size // 2, weight.shape[-1])
    return halves.swapaxes(1, 2).reshape(weight.shape)


def _matrix(weight: Floats) -> Floats:
    """A weight of the layout, (out, in), as the right factor of a product: (in, out)."""
    return np.ascontiguousarray(weight.T, dtype=np.float32)


def _spread(shared: Floats, samples: int, group: int) -> Floats:
    """From (prompts, kv heads, samples * group, n) to (rows, kv heads, group, n)."""
    prompts, keys, _, last = shared.shape
    return shared.reshape(prompts, keys, samples, group, last).swapaxes(1, 2).reshape(-1, keys, group, last)


def _gathered(rows: Floats, prompts: int, samples: int) -> Floats:
    """The way back from `_spread`."""
    _, keys, group, last = rows.shape
    return rows.reshape(prompts, samples, keys, group, last).swapaxes(1, 2).reshape(prompts, keys, -1, last)


def _softmax(scores: Floats) -> Floats:
    scores -= scores.max(-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(-1, keepdims=True)
    return scores
