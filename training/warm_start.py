"""Warm start: imitation of the noisy demonstrator, a common base for single answers, chains and edits of a parent."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evolve.domains.maze import reward, steps, walk
from training.batches import MazePool, PaddedBatch
from training.demonstrator import Demonstrator, Field, Rng
from training.llama import Weights, reply_losses
from training.recipe import Shape, WarmStart
from training.vocabulary import answer_words, encode, prompt_words

if TYPE_CHECKING:
    from torch import Tensor

_STOPS = {"small": 3}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """The data of an update: prompts, and the same number of adjacent replies for each."""

    prompts: PaddedBatch
    replies: PaddedBatch


def lesson(pool: MazePool, kind: str, settings: WarmStart, rng: Rng, device: str = "cpu") -> Lesson:
    """Draw mazes and let the demonstrator answer them."""
    demonstrator = Demonstrator(stops=_STOPS.get(kind, 6))
    shown = rng.random() < settings.parents
    count = int(rng.choice(settings.taught))
    prompts, replies = [], []
    for field in pool.draw(kind, settings.mazes, rng):
        parent = demonstrator.walk(field, rng) if shown else ""
        prompts.append(encode(_prompt(field, count, parent)))
        for _ in range(settings.chains):
            walks = [
                demonstrator.edit(field, parent, rng) if shown else demonstrator.walk(field, rng) for _ in range(count)
            ]
            replies.append(encode(answer_words([steps(field.maze, moves) for moves in walks])))
    return Lesson(prompts=PaddedBatch.of(prompts, device), replies=PaddedBatch.of(replies, device))


def _prompt(field: Field, count: int, parent: str) -> list[str]:
    if not parent:
        return prompt_words(field.maze, count)
    rewards = reward(field.maze, walk(field.maze, parent))
    return prompt_words(field.maze, count, steps(field.maze, parent), rewards)


def imitation_loss(weights: Weights, shape: Shape, taught: Lesson) -> "Tensor":
    """Mean cross-entropy of the replies' tokens, in nats."""
    return reply_losses(weights, shape, taught.prompts, taught.replies).sum() / taught.replies.lengths.sum()


def rate_at(step: int, steps_in_all: int, peak: float) -> float:
    """Learning rate: up in a straight line over the first 2 %, then down to zero."""
    rise = max(1, steps_in_all // 50)
    return peak * min((step + 1) / rise, max(0.0, (steps_in_all - step) / max(1, steps_in_all - rise)))
