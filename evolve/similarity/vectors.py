"""Vectors: the embeddings of programs, and how far two of them are apart."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evolve.program import Program
from evolve.proposal import Charge

Vector = NDArray[np.float32]

_SPARE = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPrograms:
    """What an embedder made of programs.

    Attributes:
        vectors: one for each program, in their order, all of one length and of norm 1; None: it has none for that one.
        charge: what they cost.
    """

    vectors: tuple[Vector | None, ...]
    charge: Charge


def distance(a: Vector, b: Vector) -> float:
    """Cosine distance of two vectors of norm 1: 0 for the same direction, 1 at a right angle, 2 for the opposite."""
    return max(0.0, 1.0 - float(np.dot(a, b)))


class Vectors:
    """The vectors that a search compares programs by, by the ids of programs.

    Nothing here is state of the search: what is lost is embedded again.
    """

    def __init__(self) -> None:
        self._known: dict[str, Vector | None] = {}
        self._wanted_by: dict[str, set[int]] = {}
        self._maximum = _SPARE

    def __contains__(self, program_id: str) -> bool:
        return program_id in self._known

    def __len__(self) -> int:
        return len(self._known)

    def get(self, program_id: str) -> Vector | None:
        """The vector of a program; None where it has none."""
        return self._known.get(program_id)

    @property
    def full(self) -> bool:
        """Whether it is time to forget those that nobody needs."""
        return len(self._known) > self._maximum

    def add(self, number: int, programs: Sequence[Program], vectors: Sequence[Vector | None]) -> None:
        """Keep the vectors of programs.

        Args:
            number: of the proposal that they are compared for; 0: of none.
            programs: whose vectors they are.
            vectors: one for each; None: it cannot have one.
        """
        for program, vector in zip(programs, vectors, strict=True):
            self._known[program.id] = vector
            self._wanted_by.setdefault(program.id, set()).add(number)

    def keep(self, living: Collection[str], proposals: Collection[int]) -> None:
        """Forget all but these programs and those of these proposals; it is full when there are twice as many."""
        for name, numbers in [*self._wanted_by.items()]:
            if name not in living and numbers.isdisjoint(proposals):
                del self._known[name], self._wanted_by[name]
        self._maximum = 2 * len(self._known) + _SPARE
