"""A decoder for GPUs: its step is recorded once as a CUDA graph and replayed for every token.

A small model launches hundreds of kernels a token, and launching them takes longer than running them.
"""

import math
from typing import TYPE_CHECKING

import torch
from torch.nn import functional

from training.llama import Prefix, Weights, attend_step, logits_of, turn_of
from training.recipe import Shape

if TYPE_CHECKING:
    from torch import Tensor


class GraphDecoder:
    """Writes replies as `Decoder` does, with room for all tokens from the start, and keeps every row to the end.

    Where there is no GPU, the same step is computed without a graph.
    """

    def __init__(self, weights: Weights, shape: Shape, prefix: Prefix, each: int, maximum: int) -> None:
        self._weights, self._shape = weights, shape
        lengths, start = prefix.lengths.repeat_interleave(each), prefix.keys[0].shape[2]
        seen = torch.arange(start + maximum, device=lengths.device)[None] < lengths[:, None]
        hidden = torch.zeros(seen.shape, device=lengths.device).masked_fill_(~seen, -math.inf)
        self._hidden = hidden[:, None, None]
        self._keys, self._values = (
            [self._room(part, each, maximum) for part in parts] for parts in (prefix.keys, prefix.values)
        )
        self._ids = torch.zeros_like(lengths)
        self._at = torch.tensor([start], device=lengths.device)
        self._positions = lengths[:, None].clone()
        self._graph: torch.cuda.CUDAGraph | None = None
        self._logits = prefix.last

    @staticmethod
    def _room(part: "Tensor", each: int, maximum: int) -> "Tensor":
        return functional.pad(part.repeat_interleave(each, dim=0).flatten(0, 1), (0, 0, 0, maximum))

    def step(self, ids: "Tensor") -> "Tensor":
        """Logits (rows, vocabulary) of the next token after the tokens (rows,). The next step overwrites them."""
        self._ids.copy_(ids)
        if not self._ids.is_cuda:
            return self._advance()
        if self._graph is None:
            self._graph = self._record()
        self._graph.replay()
        return self._logits

    def _record(self) -> "torch.cuda.CUDAGraph":
        """Record a step. It is computed once before, as libraries set themselves up in their first call."""
        beside = torch.cuda.Stream()
        beside.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(beside):
            self._advance()
            self._at -= 1
            self._positions -= 1
        torch.cuda.current_stream().wait_stream(beside)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self._logits = self._advance()
        return graph

    def _advance(self) -> "Tensor":
        self._hidden.index_fill_(3, self._at, 0.0)
        turn = turn_of(self._shape, self._positions)
        stream = functional.embedding(self._ids[:, None], self._weights["model.embed_tokens.weight"])
        for layer, (keys, values) in enumerate(zip(self._keys, self._values, strict=True)):
            at = (keys, values, self._at)
            stream = attend_step(self._weights, self._shape, layer, stream, turn, at, self._hidden)
        self._at += 1
        self._positions += 1
        return logits_of(self._weights, self._shape, stream[:, 0])
