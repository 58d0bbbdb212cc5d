"""Writes chains: many samples of many prompts at once, each of them drawn from a generator of its own."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from evolve.errors import PolicyRefused
from service.policy.bundled.cache import Ints
from service.policy.bundled.model import Model
from service.policy.bundled.weights import Floats

Bools = npt.NDArray[np.bool_]
Doubles = npt.NDArray[np.float64]

# Rows written side by side: more of them gain nothing, and their keys and values fall out of the processor's caches.
MAX_ROWS = 256
# Chains that have ended are dropped when they are so large a part of all.
_ENDED_PART = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledChain:
    """A chain.

    Attributes:
        ids: the drawn tokens, including the token that ended it.
        text: its words without special words, joined by a blank.
        finish_reason: `stop`: it ended by itself. `length`: it was cut at a limit.
        log_probability: of `ids` under the model itself, for any temperature and top_p of the draws. Natural logarithm.
    """

    ids: tuple[int, ...]
    text: str
    finish_reason: str
    log_probability: float


@dataclass(frozen=True, slots=True, kw_only=True)
class DecodingStep:
    """The next token of every unfinished chain of a batch.

    Attributes:
        chains: their numbers, `prompt * samples + sample`.
        ids: the tokens.
        log_probabilities: of the tokens, under the model itself.
        stopped, cut: whether the chain ended with it, by itself or at a limit.
    """

    chains: Ints
    ids: Ints
    log_probabilities: Floats
    stopped: Bools
    cut: Bools


@dataclass(frozen=True, slots=True, kw_only=True)
class _Draw:
    """How tokens are drawn."""

    samples: int
    max_tokens: int
    temperature: float
    top_p: float


def generate(
    model: Model,
    prompts: Sequence[Sequence[int]],
    *,
    samples: int,
    max_tokens: int,
    temperature: float,
    top_p: float = 1.0,
    seeds: Sequence[int],
) -> list[list[SampledChain]]:
    """Write `samples` chains for each prompt.

    Chain i of a prompt depends only on the model, the prompt, its seed and i, except for the rounding of sums. A draw
    within the rounding of a boundary may differ in another batch.

    Args:
        model: writes the chains.
        prompts: tokens of each, as from `Model.encode` and `Model.render`.
        samples: chains for each prompt.
        max_tokens: maximum number of tokens of a chain. The model's context is another limit.
        temperature: 0: always the most likely token.
        top_p: draws use the most likely tokens with this total probability.
        seeds: for each prompt, not negative.

    Returns:
        The chains of each prompt in order.

    Raises:
        PolicyRefused: a prompt is empty, leaves no room in the model's context, or holds an invalid token.
    """
    ids: list[list[int]] = [[] for _ in range(len(prompts) * samples)]
    sums, reasons = np.zeros(len(ids)), [""] * len(ids)
    how = {"samples": samples, "max_tokens": max_tokens}
    for step in stream(model, prompts, **how, temperature=temperature, top_p=top_p, seeds=seeds):
        sums[step.chains] += step.log_probabilities
        for chain, token in zip(step.chains.tolist(), step.ids.tolist(), strict=True):
            ids[chain].append(token)
        for reason, ended in (("stop", step.stopped), ("length", step.cut)):
            for chain in step.chains[ended].tolist():
                reasons[chain] = reason
    chains = [
        SampledChain(
            ids=tuple(own), text=model.vocabulary.decode(own), finish_reason=reason, log_probability=float(total)
        )
        for own, reason, total in zip(ids, reasons, sums, strict=True)
    ]
    return [chains[place : place + samples] for place in range(0, len(chains), samples)]


def stream(
    model: Model,
    prompts: Sequence[Sequence[int]],
    *,
    samples: int,
    max_tokens: int,
    temperature: float,
    top_p: float = 1.0,
    seeds: Sequence[int],
) -> Iterator[DecodingStep]:
    """The same token by token, with the arguments and errors of `generate`. Closing it ends the work."""
    if samples < 1 or max_tokens < 1 or temperature < 0.0 or not 0.0 < top_p <= 1.0 or len(seeds) != len(prompts):
        raise ValueError("samples, max_tokens, temperature, top_p or the number of seeds is out of range")
    for prompt in prompts:
        check_prompt(model, prompt)
    draw = _Draw(samples=samples, max_tokens=max_tokens, temperature=temperature, top_p=top_p)
    together = max(1, MAX_ROWS // samples)
    for first in range(0, len(prompts), together):
        for start in range(0, samples, MAX_ROWS):
            chains = np.arange(first, min(first + together, len(prompts)))[:, None] * samples
            chains = chains + np.arange(start, min(start + MAX_ROWS, samples))
            yield from _Batch(model, prompts, seeds, chains, draw).steps()


def check_prompt(model: Model, prompt: Sequence[int]) -> None:
    """Refuse a prompt that the model cannot continue.

    Raises:
        PolicyRefused: the prompt is refused.
    """
    context = model.config.max_position_embeddings
    if not 0 < len(prompt) < context:
        raise PolicyRefused(
            f"The prompt takes {len(prompt)} tokens, and the context of the model {model.folder.name} is {context}: the"
            " prompt and the reply each need at least one."
        )
    if min(prompt) < 0 or max(prompt) >= model.config.vocab_size:
        raise PolicyRefused(f"The prompt holds numbers that are not tokens of the model {model.folder.name}.")


class _Batch:
    """Chains that are written together. `_chains` has a row for each prompt and -1 for ended chains."""

    def __init__(
        self, model: Model, prompts: Sequence[Sequence[int]], seeds: Sequence[int], chains: Ints, draw: _Draw
    ) -> None:
        self._model, self._chains, self._draw = model, chains, draw
        asked = chains[:, 0] // draw.samples
        self._prompts = [prompts[place] for place in asked]
        context = model.config.max_position_embeddings
        room = np.array([min(draw.max_tokens, context - len(prompt)) for prompt in self._prompts])
        self._room: Ints = np.repeat(room, chains.shape[1]).astype(np.int64)
        self._ends = np.array(sorted(model.ends), dtype=np.int64)
        self._chances = _chances(seeds, chains, draw, int(room.max())) if draw.temperature else None

    def steps(self) -> Iterator[DecodingStep]:
        llama, width = self._model.llama, self._chains.shape[1]
        logits, cache = llama.begin(self._prompts, width)
        logits = np.repeat(logits, width, axis=0)
        length = 0
        while True:
            length += 1
            chances = None if self._chances is None else self._chances[:, length - 1]
            ids, log_probabilities = _drawn(logits, chances, self._draw)
            rows = np.flatnonzero(self._chains.ravel() >= 0)
            stopped = np.isin(ids[rows], self._ends)
            cut = ~stopped & (self._room[rows] <= length)
            chains = self._chains.ravel()[rows]
            yield DecodingStep(
                chains=chains, ids=ids[rows], log_probabilities=log_probabilities[rows], stopped=stopped, cut=cut
            )
            self._chains.ravel()[rows[stopped | cut]] = -1
            going = self._chains >= 0
            if not going.any():
                return
            if going.sum() <= (1.0 - _ENDED_PART) * going.size:
                prompts, rows = self._kept(going)
                if rows.size < going.size:
                    cache.keep(prompts, rows)
                    ids = self._narrow(ids, rows)
            logits = llama.step(ids, cache)

    def _kept(self, going: Bools) -> tuple[Ints, Ints]:
        """Prompts with unfinished chains, with as many rows of each as the prompt with most of them has."""
        prompts = np.flatnonzero(going.any(axis=1))
        width = int(going.sum(axis=1).max())
        # Stable: those that go on first and in order, then ended ones to fill up.
        places = np.argsort(~going[prompts], axis=1, kind="stable")[:, :width]
        return prompts, prompts[:, None] * going.shape[1] + places

    def _narrow(self, ids: Ints, rows: Ints) -> Ints:
        flat = rows.ravel()
        self._chains = self._chains.ravel()[flat].reshape(rows.shape)
        self._room = self._room[flat]
        self._chances = None if self._chances is None else self._chances[flat]
        return ids[flat]


def _chances(seeds: Sequence[int], chains: Ints, draw: _Draw, length: int) -> Doubles:
    """Uniform numbers of each chain, (rows, length): the first numbers of its own stream."""
    found = np.empty((chains.size, length))
    for row, chain in enumerate(chains.ravel().tolist()):
        prompt, sample = divmod(chain, draw.samples)
        sequence = np.random.SeedSequence(seeds[prompt], spawn_key=(sample,))
        np.random.Generator(np.random.PCG64(sequence)).random(out=found[row])
    return found


def _drawn(logits: Floats, chances: Doubles | None, draw: _Draw) -> tuple[Ints, Floats]:
    """A token for each row by inversion of its distribution, and its log-probability under the model itself."""
    raw = logits - logits.max(axis=-1, keepdims=True)
    likely = np.exp(raw)
    totals = np.log(likely.sum(axis=-1))
    if chances is None:
        ids = raw.argmax(axis=-1)
    else:
        if draw.temperature != 1.0:
            likely = np.exp(raw / np.float32(draw.temperature))
        if draw.top_p < 1.0:
            likely = _nucleus(likely, draw.top_p)
        steps = np.cumsum(likely, axis=-1, dtype=np.float64)
        # The last step is the total, and a chance is below 1: the first step above always exists.
        ids = (steps > chances[:, None] * steps[:, -1:]).argmax(axis=-1)
    return ids, np.take_along_axis(raw, ids[:, None], axis=-1)[:, 0] - totals


def _nucleus(likely: Floats, top_p: float) -> Floats:
    """Only the most likely tokens with a total probability of `top_p` (Holtzman et al. 2020)."""
    order = np.argsort(-likely, axis=-1, kind="stable")
    ordered = np.take_along_axis(likely, order, axis=-1).astype(np.float64)
    before = np.cumsum(ordered, axis=-1) - ordered
    left_out = before >= top_p * ordered.sum(axis=-1, keepdims=True)
    left_out[:, 0] = False
    found = likely.copy()
    np.put_along_axis(found, order, np.where(left_out, np.float32(0.0), np.take_along_axis(likely, order, -1)), axis=-1)
    return found
