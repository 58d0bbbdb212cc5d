"""Mazes to train on, and the policies' inputs and outputs as padded tensors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from evolve.domains.maze import FORMS, Maze, maze_of, symmetric_form
from training.demonstrator import Field, Rng
from training.vocabulary import IDS, PAD

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class PaddedBatch:
    """Sequences of tokens: ids (rows, length), padded behind their lengths (rows,)."""

    ids: "Tensor"
    lengths: "Tensor"

    @classmethod
    def of(cls, rows: Sequence[Sequence[int]], device: str = "cpu") -> "PaddedBatch":
        """Pad sequences, none of them empty."""
        lengths = np.array([len(row) for row in rows])
        ids = np.full((len(rows), lengths.max()), IDS[PAD])
        for place, row in enumerate(rows):
            ids[place, : len(row)] = row
        return cls(ids=torch.from_numpy(ids).to(device), lengths=torch.from_numpy(lengths).to(device))

    @property
    def mask(self) -> "Tensor":
        """True on tokens, of the shape of `ids`."""
        return torch.arange(self.ids.shape[1], device=self.ids.device)[None] < self.lengths[:, None]


class GivenMazes:
    """Mazes that somebody names, such as those of runs. The kinds are not told apart.

    Each is drawn in one of its symmetric forms, since a policy that sees few mazes often learns them by heart.
    """

    def __init__(self, mazes: Sequence[Maze]) -> None:
        self._mazes = mazes
        self._fields: dict[tuple[int, int], Field] = {}

    def draw(self, kind: str, count: int, rng: Rng) -> list[Field]:  # noqa: ARG002 - the shape of MazePool
        """That many mazes, different while there are enough."""
        few = count > len(self._mazes)
        numbers = rng.choice(len(self._mazes), size=count, replace=few)
        forms = rng.integers(FORMS, size=count)
        return [self._field(int(number), int(form)) for number, form in zip(numbers, forms, strict=True)]

    def _field(self, number: int, form: int) -> Field:
        found = self._fields.get((number, form))
        if found is None:
            found = self._fields[number, form] = Field.of(symmetric_form(self._mazes[number], form))
        return found


class MazePool:
    """Mazes of the training split with their shortest ways, made at first use."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._fields: dict[tuple[str, int], Field] = {}

    def draw(self, kind: str, count: int, rng: Rng) -> list[Field]:
        """That many different mazes of a kind."""
        return [self._field(kind, int(number)) for number in rng.choice(self._size, size=count, replace=False)]

    def _field(self, kind: str, number: int) -> Field:
        found = self._fields.get((kind, number))
        if found is None:
            found = self._fields[kind, number] = Field.of(maze_of(kind, "train", number))
        return found
