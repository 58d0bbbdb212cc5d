"""Maze policies of a few thousand random weights, which train in no time."""

from dataclasses import replace
from typing import TYPE_CHECKING

from evolve.domains.maze import Maze, maze_of, reward, steps, walk
from tests.conftest import TORCH
from training.recipe import Recipe, Reinforcement, Shape, WarmStart
from training.vocabulary import answer_words, encode, prompt_words

if TYPE_CHECKING or TORCH:
    import torch

    from training.batches import PaddedBatch
    from training.llama import Weights, initial

SHAPE = Shape(hidden=32, layers=2, heads=2, head_size=16, inner=48)
RECIPE = Recipe(
    seed=3,
    kinds=("small",),
    pool=12,
    shape=replace(SHAPE, layers=1),
    warm_start=WarmStart(steps=5, mazes=2, chains=2),
    reinforcement=Reinforcement(steps=6, mazes=2, answers=4, m=2, draws=4, parents=("small",)),
)
WALKS = (("RRDD", "LLU"), ("U",), ("DRDRDR", "UUUU", "LRLRLRLR"))


def random_weights(shape: Shape = SHAPE, seed: int = 0, scale: float = 12.0) -> "Weights":
    """Large enough that what comes next depends on what was read, and as half precision stores them."""
    weights = initial(shape, torch.Generator().manual_seed(seed))
    with torch.no_grad():
        grown = {name: weight * (scale if weight.dim() > 1 else 1.0) for name, weight in weights.items()}
        return {name: weight.half().float().requires_grad_() for name, weight in grown.items()}


def some_mazes(count: int = 3) -> list[Maze]:
    """Prompts about them differ in length."""
    return [maze_of(("small", "hard", "nine")[number % 3], "train", number) for number in range(count)]


def prompt(maze: Maze, parent: str = "") -> list[int]:
    if not parent:
        return encode(prompt_words(maze, 2))
    return encode(prompt_words(maze, 2, steps(maze, parent), reward(maze, walk(maze, parent))))


def prompts() -> list[list[int]]:
    """Three, the second with a parent."""
    return [prompt(maze, "RDRD" * place) for place, maze in enumerate(some_mazes())]


def replies(each: int = 2) -> list[list[int]]:
    """As many for each of the prompts, of different lengths, those of a prompt beside each other."""
    return [
        encode(answer_words([steps(maze, moves) for moves in WALKS[(place + number) % 3]]))
        for place, maze in enumerate(some_mazes())
        for number in range(each)
    ]


def padded(rows: list[list[int]], more: int = 0, filling: int = 7) -> "PaddedBatch":
    """Rows as one tensor; what is padded holds `filling`, and `more` columns of it lie behind."""
    found = PaddedBatch.of(rows)
    ids = torch.where(found.mask, found.ids, filling)
    return PaddedBatch(ids=torch.nn.functional.pad(ids, (0, more), value=filling), lengths=found.lengths)
