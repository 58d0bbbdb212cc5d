"""Parts of a run in columns: names as numbers, and sums by kind of candidate."""

from array import array
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(slots=True)
class OutcomeTally:
    """What became of the candidates of one kind.

    Attributes:
        fitness: the sum over the valid ones.
        gain: of fitness, by which they raised the best of the run.
        seconds: that their evaluations took.
    """

    evaluations: int = 0
    valid: int = 0
    improvements: int = 0
    fitness: float = 0.0
    gain: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class CodedColumn:
    """A column of names as places in the list of those that were seen, in the order in which they were."""

    names: list[str] = field(default_factory=list)
    codes: "array[int]" = field(default_factory=lambda: array("i"))

    def append(self, name: str) -> None:
        """Add a name to the column."""
        if name not in self.names:
            self.names.append(name)
        self.codes.append(self.names.index(name))

    def unlike(self, name: str) -> NDArray[np.bool_]:
        """At which places another name stands."""
        codes = np.frombuffer(self.codes, dtype=np.intc) if self.codes else np.zeros(0, dtype=np.intc)
        return np.not_equal(codes, self.names.index(name) if name in self.names else -1)
