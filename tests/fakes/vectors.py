"""A toy embedder: what programs are embedded as follows from their text alone, and who asks may have to wait."""

import asyncio
import math
from collections.abc import Callable, Sequence

import numpy as np

from evolve.errors import PolicyDenied, PolicyUnavailable
from evolve.money import FREE, Money
from evolve.program import Program
from evolve.proposal import Answer, Charge, Usage
from evolve.search.deterministic_schedule import DeterministicSchedule
from evolve.search.search import Search
from evolve.similarity.vectors import EmbeddedPrograms, Vector
from tests.fakes.world import value_of

Make = Callable[[Program], Vector | None]


def drawn(program: Program) -> Vector:
    """A direction in the plane that looks drawn by lot, always the same for the same program."""
    return direction(int(program.id[-8:], 16) / 2**32 * math.tau)


def by_value(program: Program) -> Vector:
    """A direction that turns by a tenth of x: programs of near x are near, 1 - cos(0.1 d) where they are d apart."""
    return direction(value_of(program) / 10)


def direction(angle: float) -> Vector:
    return np.array([math.cos(angle), math.sin(angle)], dtype=np.float32)


def look(search: Search | DeterministicSchedule, number: int, answers: Sequence[Answer], make: Make = drawn) -> None:
    """Hand a search the vectors that it wants before it is told these answers to a proposal."""
    answer_filter = search.answer_filter
    owed = answer_filter.owed()
    answer_filter.see(0, owed, [make(program) for program in owed])
    wanted = [program for answer in answers if (program := answer_filter.wanted(number, answer)) is not None]
    answer_filter.see(number, wanted, [make(program) for program in wanted])


class ToyEmbedder:
    """An embedder without a server.

    Args:
        make: the vector of a program.
        cost: of each call, of as many tokens as programs.
        turns: of the event loop that a call takes.

    Attributes:
        calls: programs of each call that came through.
        away: why no call comes through; empty: they do.
        denied: whether that is the key's fault.
        cancelled: calls that were given up by whoever made them.
    """

    name = "eye"

    def __init__(self, make: Make = by_value, cost: Money | None = FREE, turns: int = 1) -> None:
        self.calls: list[list[Program]] = []
        self.away = ""
        self.denied = False
        self.refused_calls = self.cancelled = 0
        self._make, self._cost, self._turns = make, cost, turns

    async def embed(self, programs: Sequence[Program]) -> EmbeddedPrograms:
        try:
            for _ in range(self._turns):
                await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.away:
            self.refused_calls += 1
            raise PolicyDenied(self.away) if self.denied else PolicyUnavailable(self.away, 0.01)
        self.calls.append(list(programs))
        charge = Charge(
            policy=self.name, purpose="embedding", usage=Usage(input=len(programs)), cost=self._cost, seconds=0.5
        )
        return EmbeddedPrograms(vectors=tuple(map(self._make, programs)), charge=charge)
