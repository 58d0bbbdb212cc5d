"""Rollouts: a policy's replies to prompts, sampled in whole batches."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from training.batches import PaddedBatch
from training.graph_decoder import GraphDecoder
from training.llama import Decoder, Prefix, Weights, read_prompts
from training.recipe import Shape
from training.vocabulary import EOS, IDS, PAD

if TYPE_CHECKING:
    from torch import Generator, Tensor

_LOOK = 8  # tokens between two looks for rows that have ended


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollouts:
    """Replies, the same number for each prompt, with those of a prompt adjacent.

    Attributes:
        replies: their tokens, including the end if they reached it.
        cut: (rows,) whether a reply was cut off at the token limit.
        entropy: mean entropy of the next token in nats, over all tokens written.
    """

    replies: PaddedBatch
    cut: tuple[bool, ...]
    entropy: float

    @property
    def written(self) -> list[list[int]]:
        """The tokens of each reply."""
        rows = zip(self.replies.ids.tolist(), self.replies.lengths.tolist(), strict=True)
        return [ids[:length] for ids, length in rows]


@torch.no_grad()
def roll_out(
    weights: Weights,
    shape: Shape,
    prompts: PaddedBatch,
    *,
    each: int,
    maximum: int,
    generator: "Generator",
    temperature: float = 1.0,
) -> Rollouts:
    """Write `each` replies of at most `most` tokens to each prompt."""
    prefix = read_prompts(weights, shape, prompts.ids, prompts.lengths)
    return _Writing(weights, shape, prefix, each, maximum).finish(generator, temperature)


class _Writing:
    """Unfinished replies. Ended rows are sometimes removed from the batch."""

    def __init__(self, weights: Weights, shape: Shape, prefix: Prefix, each: int, maximum: int) -> None:
        self._logits = prefix.last.repeat_interleave(each, dim=0)
        rows, device = len(self._logits), self._logits.device
        graph = device.type == "cuda"
        self._decoder: Decoder | GraphDecoder = (
            GraphDecoder(weights, shape, prefix, each, maximum) if graph else Decoder(weights, shape, prefix, each)
        )
        self._ids = torch.full((rows, maximum), IDS[PAD], device=device)
        self._lengths = torch.full((rows,), maximum, device=device)
        self._open = torch.arange(rows, device=device)
        self._entropy: list[Tensor] = []
        self._counted: list[Tensor] = []

    def finish(self, generator: "Generator", temperature: float) -> Rollouts:
        maximum = self._ids.shape[1]
        ended = torch.zeros(len(self._open), dtype=torch.bool, device=self._open.device)
        for place in range(maximum):
            drawn = self._draw(generator, temperature, ended)
            # A mask as an index would wait for the device at every token.
            self._ids[self._open, place] = drawn.masked_fill(ended, IDS[PAD])
            closing = ~ended & (drawn == IDS[EOS])
            self._lengths[self._open] = self._lengths[self._open].masked_fill(closing, place + 1)
            ended = ended | closing
            if place + 1 == maximum or (place % _LOOK == 0 and bool(ended.all())):
                break
            if isinstance(self._decoder, Decoder) and place % _LOOK == 0 and float(ended.float().mean()) > 0.25:
                self._open, drawn = self._open[~ended], drawn[~ended]
                self._decoder.keep((~ended).nonzero()[:, 0])
                ended = torch.zeros_like(drawn, dtype=torch.bool)
            self._logits = self._decoder.step(drawn)
        rows = torch.arange(len(self._ids), device=self._ids.device)
        cut = self._ids[rows, self._lengths - 1] != IDS[EOS]
        replies = PaddedBatch(ids=self._ids[:, : int(self._lengths.max())], lengths=self._lengths)
        entropy = float(torch.cat(self._entropy)[torch.cat(self._counted)].mean())
        return Rollouts(replies=replies, cut=tuple(cut.tolist()), entropy=entropy)

    def _draw(self, generator: "Generator", temperature: float, ended: "Tensor") -> "Tensor":
        logs = torch.log_softmax(self._logits.float() / temperature, dim=-1)
        chances = logs.exp()
        self._entropy.append(-(chances * logs).sum(dim=-1))
        self._counted.append(~ended)
        below = chances.cumsum(dim=-1)
        drawn = torch.rand(len(below), 1, generator=generator, device=below.device) * below[:, -1:]
        return torch.searchsorted(below, drawn, right=True)[:, 0].clamp(max=below.shape[1] - 1)
