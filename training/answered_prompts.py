"""Prompts that a run asked, with their replies and rewards, and what an update of its policy learns from them."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evolve.answers.continuation import CONTINUE
from evolve.multiobjective.scalarization import Floats
from evolve.vpo import Options, RolloutGroup, method_of
from training.errors import TrainingError

if TYPE_CHECKING:
    from torch import Tensor

METHODS: Mapping[str, str] = {"entropic": "entropic", "pkpo": "max_at_k"}
MINIBATCH = 4  # prompts of a gradient step
PASSES = 2  # over the batch
MAX_NORM = 1.0
REPLAYED = 8  # replies of the archive
_CLIP = 0.2  # of the ratio of probabilities, as in PPO

Message = Mapping[str, str]
# The tokens of a prompt, and of replies to it. Each reply comes with whether it ended by itself.
Encode = Callable[[Sequence[Message], Sequence[tuple[str, bool]]], tuple[Sequence[int], Sequence[Sequence[int]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateSettings:
    """How a policy is updated.

    Attributes:
        objective: `entropic` (TTT-Discover) or `pkpo` (the best of k).
        k: of `pkpo`. Groups with fewer replies take the best of all.
        rate: learning rate.
        divergence: weight of the penalty for distance to the policy that the run began with, in nats a token.
        replay: weight of the best replies of the run so far, which are imitated in proportion to their fitness.
    """

    objective: str = "entropic"
    k: int = 8
    rate: float = 1e-4
    divergence: float = 0.0
    replay: float = 0.0
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AnsweredPrompt:
    """A prompt and its replies, as tokens.

    Attributes:
        rewards: a matrix (answers, objectives) for each reply. An answer that is missing, invalid or a duplicate has
            zeros.
        fitness: of the best new answer of each reply. None: it has none.
    """

    ids: Sequence[int]
    replies: Sequence[Sequence[int]]
    rewards: Sequence[Floats]
    fitness: Sequence[float | None]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaughtPrompt:
    """Replies to a prompt, each with a worth."""

    ids: Sequence[int]
    replies: Sequence[Sequence[int]]
    worth: Floats


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BestReply:
    """A reply that is imitated, with its weight among all of them."""

    ids: Sequence[int]
    reply: Sequence[int]
    weight: float


def taught_prompts(batch: Sequence[AnsweredPrompt], settings: UpdateSettings) -> list[TaughtPrompt]:
    """The prompts whose replies differ in worth, with advantages of unit spread.

    Raises:
        TrainingError: there is none.
    """
    estimator, found = method_of(METHODS[settings.objective]).estimator, list[TaughtPrompt]()
    for prompt in batch:
        options = Options(k=min(settings.k, len(prompt.replies))) if settings.objective == "pkpo" else Options()
        (advantages,) = estimator([RolloutGroup.of(list(prompt.rewards))], options)
        if np.any(advantages):
            found.append(TaughtPrompt(ids=prompt.ids, replies=prompt.replies, worth=advantages / np.std(advantages)))
    if not found:
        raise TrainingError("all replies to each prompt of the batch are worth the same: nothing can be learnt")
    return found


def minibatches_of(taught: Sequence[TaughtPrompt], seed: int, archive: int) -> list[list[TaughtPrompt]]:
    """Prompts in a random order, in minibatches. The seed and the number of prompts in the archive decide it."""
    order = np.random.default_rng([seed, archive]).permutation(len(taught))
    return [[taught[place] for place in some] for some in np.array_split(order, math.ceil(len(order) / MINIBATCH))]


def best_replies(archive: Sequence[AnsweredPrompt]) -> list[BestReply]:
    """The best replies of the run, each with a weight: a softmax over their spread in fitness."""
    found = [
        (fitness, place, prompt.ids, reply)
        for place, prompt in enumerate(archive)
        for reply, fitness in zip(prompt.replies, prompt.fitness, strict=True)
        if fitness is not None
    ]
    kept = sorted(found, key=lambda one: (-one[0], one[1]))[:REPLAYED]
    if not kept:
        return []
    values = np.array([one[0] for one in kept])
    raised = np.exp((values - values.max()) / max(float(values.std()), 1e-6))
    weights = raised / raised.sum()
    return [
        BestReply(ids=ids, reply=reply, weight=float(weight))
        for (_, _, ids, reply), weight in zip(kept, weights, strict=True)
    ]


def policy_loss(
    losses: "Tensor",
    old: "Tensor",
    start: "Tensor",
    worth: "Tensor | float",
    share: "Tensor | float",
    divergence: float,
) -> "tuple[Tensor, float]":
    """The clipped loss of replies with the penalty, and their distance to the start in nats a token.

    Args:
        losses: negative log-probability of each token.
        old: before the update.
        start: of the policy that the run began with.
        worth: of each token's reply.
        share: what each token counts.
        divergence: weight of the penalty.
    """
    ratio = (old - losses).exp()
    gained = (ratio * worth).minimum(ratio.clamp(1 - _CLIP, 1 + _CLIP) * worth)
    # Half the square of the difference in log-probability: its gradient is that of the divergence where the policy
    # wrote the tokens, and it stays small where another version wrote what the policy would not.
    distance = ((losses - start) ** 2 / 2 * share).sum()
    return divergence * distance - (gained * share).sum(), float(distance.detach())


def batch_figures(batch: Sequence[AnsweredPrompt]) -> dict[str, float]:
    """Prompts and replies of a batch, the share of replies with a new valid answer, and the mean fitness of these."""
    scored = [value for prompt in batch for value in prompt.fitness if value is not None]
    replies = sum(len(prompt.replies) for prompt in batch)
    mean = float(np.mean(scored)) if scored else 0.0
    return {"prompts": float(len(batch)), "replies": float(replies), "new": len(scored) / replies, "mean": mean}


def read_prompts(
    lines: Sequence[str],
    encode: Encode,
    scaled: Callable[[Sequence[float]], Floats] = lambda rewards: np.maximum(rewards, 0.0),
) -> list[tuple[int, AnsweredPrompt]]:
    """Training records as tokens, with the numbers of their proposals.

    Records without a prompt, and those of replies that continue a program, are left out.

    Args:
        lines: of the file.
        encode: gives the tokens.
        scaled: gives the rewards of an answer, 0 being the worst.

    Raises:
        TrainingError: a line is not a training record.
    """
    found = []
    for line in lines:
        try:
            record = json.loads(line)
            if record["messages"] and record["completions"] and record["asked"].get("edits") != CONTINUE:
                found.append((int(record["number"]), _prompt(record, encode, scaled)))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise TrainingError(f"a line of the records is not a training record: {error}") from error
    return found


def rewards_of(lines: Sequence[str]) -> Iterator[Sequence[float]]:
    """The rewards of all scored answers of training records."""
    for line in lines:
        yield from (answer["rewards"] for answer in json.loads(line)["answers"] if answer["rewards"])


def _prompt(record: Mapping[str, Any], encode: Encode, scaled: Callable[[Sequence[float]], Floats]) -> AnsweredPrompt:
    m, width = int(record["asked"]["answers"] or 1), max(len(record["objectives"]), 1)
    rewards = [np.zeros((m, width)) for _ in record["completions"]]
    fitness: list[float | None] = [None] * len(rewards)
    for answer in record["answers"]:
        reply, place = divmod(int(answer["position"]), m)
        if answer["rewards"] and not answer["duplicate_of"] and reply < len(rewards):
            rewards[reply][place] = scaled(answer["rewards"])
            value = float(answer["fitness"])
            fitness[reply] = value if fitness[reply] is None else max(value, fitness[reply] or value)
    reasons = (reason != "length" for reason in record["finish_reasons"])
    ids, replies = encode(record["messages"], list(zip(record["completions"], reasons, strict=True)))
    kept = [place for place, reply in enumerate(replies) if reply]
    return AnsweredPrompt(
        ids=ids,
        replies=[replies[place] for place in kept],
        rewards=[rewards[place] for place in kept],
        fitness=[fitness[place] for place in kept],
    )
