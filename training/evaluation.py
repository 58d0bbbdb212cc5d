"""The answers of a policy in training to mazes outside of its training set."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from evolve.domains.maze import Maze, mazes
from evolve.multiobjective.scalarization import Floats
from training.llama import Weights
from training.measures import mean_of, measure
from training.recipe import Reinforcement, Shape
from training.reinforce import draw_goals, experience

BATCH = 16
GOALS = 16


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
    goals: bool = False,
) -> dict[str, float]:
    """The mean figures of `measure` over the first mazes of a split, each answered `answers` times in chains of m.

    A goal-conditioned policy (`goals`) is asked under `GOALS` drawn weights, equally often under each.
    """
    found = figures_of_mazes(
        weights,
        shape,
        mazes(kind, split, count),
        Reinforcement(m=m, answers=answers, temperature=temperature),
        seed=seed,
        goals=goals,
    )
    return mean_of(found)


def figures_of_mazes(
    weights: Weights,
    shape: Shape,
    asked: Sequence[Maze],
    settings: Reinforcement,
    *,
    seed: int = 0,
    goals: bool = False,
    batch: int = BATCH,
) -> list[dict[str, float]]:
    """The figures of `measure` for each maze, answered as the settings say."""
    found = rewards_of_mazes(weights, shape, asked, settings, seed=seed, goals=goals, batch=batch)
    return [measure(maze, own) for maze, own in zip(asked, found, strict=True)]


@torch.no_grad()
def rewards_of_mazes(
    weights: Weights,
    shape: Shape,
    asked: Sequence[Maze],
    settings: Reinforcement,
    *,
    seed: int = 0,
    goals: bool = False,
    batch: int = BATCH,
) -> Floats:
    """The rewards (mazes, answers, 4) of the answers to each maze, written on the device of the weights.

    Args:
        batch: mazes that are answered at once. Another number draws other answers.
    """
    parts = GOALS if goals else 1
    each = replace(settings, answers=settings.answers // parts)
    device = next(iter(weights.values())).device
    generator, rng = torch.Generator(device).manual_seed(seed), np.random.default_rng(seed)
    found: list[Floats] = []
    for start in range(0, len(asked), batch):
        some = asked[start : start + batch]
        prompts = [maze for maze in some for _ in range(parts)]
        aims = draw_goals(len(prompts), 1.0, rng) if goals else ()
        seen = experience(weights, shape, each, prompts, [None] * len(prompts), generator, aims)
        found.append(np.concatenate(seen.rewards).reshape(len(some), settings.answers, -1))
    return np.concatenate(found)
