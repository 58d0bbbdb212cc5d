"""How much of what a line of candidates gained came from constants, from structure, and from both at once."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Protocol

UNKNOWN = "unknown"
_WORDS = {"constants": "constants", "structure": "structure", "both": "both at once", UNKNOWN: "unknown changes"}


class GainedStep(Protocol):
    """A candidate on a line."""

    @property
    def fitness(self) -> float | None:
        """Its fitness."""

    @property
    def changed(self) -> str:
        """What of its parent it changed."""


def gain_shares(line: Iterable[GainedStep]) -> dict[str, float]:
    """The share of the gain by what was changed, the largest first; empty where nothing was gained.

    Args:
        line: from the seed on. Steps that lost fitness do not count.
    """
    gains: dict[str, float] = {}
    for before, after in pairwise(line):
        if before.fitness is not None and after.fitness is not None and after.fitness > before.fitness:
            changed = after.changed or UNKNOWN
            gains[changed] = gains.get(changed, 0.0) + after.fitness - before.fitness
    total = sum(gains.values())
    return {changed: gain / total for changed, gain in sorted(gains.items(), key=lambda entry: -entry[1])}


def shares_in_words(shares: Mapping[str, float]) -> str:
    """Such as `62 % constants, 38 % structure`."""
    return ", ".join(f"{round(100 * share)} % {_WORDS.get(changed, changed)}" for changed, share in shares.items())
