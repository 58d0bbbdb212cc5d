"""Mazes: drawn by chance or fixed, walked through, scored, and solved exactly."""

from evolve.domains.maze.domain import MazeDomain
from evolve.domains.maze.generation import hard, nine, small
from evolve.domains.maze.grid import MOVES, Maze, Rules, Walk, read, render, walk
from evolve.domains.maze.oracle import BestWalk, best, front, optimum, outcomes
from evolve.domains.maze.reward import OBJECTIVES, reward, vectors
from evolve.domains.maze.splits import KINDS, SPLITS, kind_of, maze_of, mazes
from evolve.domains.maze.symmetry import FORMS, symmetric_form
from evolve.domains.maze.words import brief, read_brief, steps

__all__ = [
    "FORMS",
    "KINDS",
    "MOVES",
    "OBJECTIVES",
    "SPLITS",
    "BestWalk",
    "Maze",
    "MazeDomain",
    "Rules",
    "Walk",
    "best",
    "brief",
    "front",
    "hard",
    "kind_of",
    "maze_of",
    "mazes",
    "nine",
    "optimum",
    "outcomes",
    "read",
    "read_brief",
    "render",
    "reward",
    "small",
    "steps",
    "symmetric_form",
    "vectors",
    "walk",
]
