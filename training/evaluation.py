"""The answers of a policy in training to mazes outside of its training set."""

import torch

from evolve.domains.maze import mazes
from training.llama import Weights
from training.measures import mean_of, measure
from training.recipe import Reinforcement, Shape
from training.reinforce import experience

BATCH = 16


@torch.no_grad()
def evaluate(
    weights: Weights,
    shape: Shape,
    *,
    kind: str,
    m: int,
    count: int = 100,
    answers: int = 64,
    temperature: float = 1.0,
    split: str = "validation",
    seed: int = 0,
) -> dict[str, float]:
    """The mean figures of `measure` over the first mazes of a split, each answered `answers` times in chains of m."""
    settings = Reinforcement(method="vpo", m=m, answers=answers, temperature=temperature)
    generator = torch.Generator().manual_seed(seed)
    found = []
    asked = mazes(kind, split, count)
    for start in range(0, count, BATCH):
        some = asked[start : start + BATCH]
        seen = experience(weights, shape, settings, some, [None] * len(some), generator)
        found += [measure(maze, rewards.reshape(-1, 4)) for maze, rewards in zip(some, seen.rewards, strict=True)]
    return mean_of(found)
