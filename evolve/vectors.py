"""Vectors: the embeddings of programs, and how far two of them are apart."""

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from evolve.program import Program

Vector = NDArray[np.float32]

_SPARE = 1024


def distance(a: Vector, b: Vector) -> float:
    """Cosine distance of two vectors of norm 1: 0 for the same direction, 1 at a right angle, 2 for the opposite."""
    return max(0.0, 1.0 - float(np.dot(a, b)))


class Vectors:
    """The vectors that a search compares programs by, by the ids of programs.

    Nothing here is state of the search: what is lost is embedded again.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, Vector | None]] = {}
        self._most = _SPARE

    def __contains__(self, program_id: str) -> bool:
        return program_id in self._known

    def __len__(self) -> int:
        return len(self._known)

    def get(self, program_id: str) -> Vector | None:
        """The vector of a program; None where it has none."""
        return self._known[program_id][1] if program_id in self._known else None

    @property
    def full(self) -> bool:
        """Whether it is time to forget those that nobody needs."""
        return len(self._known) > self._most

    def add(self, number: int, programs: Sequence[Program], vectors: Sequence[Vector | None]) -> None:
        """Keep the vectors of programs.

        Args:
            number: of the proposal that they are compared for; 0: of none.
            programs: whose vectors they are.
            vectors: one for each; None: it cannot have one.
        """
        for program, vector in zip(programs, vectors, strict=True):
            before, _ = self._known.get(program.id, (0, None))
            self._known[program.id] = (max(before, number), vector)

    def keep(self, living: Collection[str], oldest: int) -> None:
        """Forget all but these and those of the proposals from `oldest` on; as many again are kept until the next time.

        Args:
            living: ids of programs.
            oldest: number of a proposal.
        """
        self._known = {name: one for name, one in self._known.items() if one[0] >= oldest or name in living}
        self._most = 2 * len(self._known) + _SPARE
