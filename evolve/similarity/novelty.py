"""Novelty: how far a program is from a reference set that never changes."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from evolve.program import Program

_TOKEN = re.compile(r"\w+|[^\w\s]")
_WIDTH = 3

Grams = frozenset[tuple[str, ...]]


def tokens_of(text: str) -> list[str]:
    """The tokens of a text in any language: words, and signs one by one."""
    return _TOKEN.findall(text)


def grams(program: Program) -> Grams:
    """The runs of three tokens in the files of a program; of a shorter file, all its tokens as one run."""
    found: set[tuple[str, ...]] = set()
    for _, text in program.files:
        tokens = tokens_of(text)
        if len(tokens) < _WIDTH:
            found.add(tuple(tokens))
        else:
            found.update(zip(tokens, tokens[1:], tokens[2:], strict=False))
    found.discard(())
    return frozenset(found)


def distance(a: Program, b: Program) -> float:
    """Jaccard distance of two programs' token runs: 0 for the same runs, 1 for none in common."""
    return _jaccard(grams(a), grams(b))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """Programs, frozen at a run's start, that novelty is measured against: the measure never drifts.

    Attributes:
        sets: token runs of each.
    """

    sets: tuple[Grams, ...]

    @classmethod
    def of(cls, programs: Iterable[Program]) -> "Reference":
        """The reference that these programs are."""
        return cls(sets=tuple(grams(program) for program in programs))

    def novelty(self, program: Program) -> float:
        """Mean distance to the reference, in [0, 1]; 1 when there is none."""
        if not self.sets:
            return 1.0
        own = grams(program)
        return sum(_jaccard(own, other) for other in self.sets) / len(self.sets)


def _jaccard(a: Grams, b: Grams) -> float:
    common = len(a & b)
    union = len(a) + len(b) - common
    return 1.0 - common / union if union else 0.0
