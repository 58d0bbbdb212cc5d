"""Evaluations at once follow the evaluator's slots where the configuration names no number."""

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from evolve.configuration import ConcurrencyConfig
from evolve.evaluation import PLAIN, Evaluation, Outcome, ScoringRequest
from evolve.program import Program
from evolve.proposal import Candidate
from evolve.search.dispatcher import Dispatcher
from evolve.search.search import SearchStep


class Gate:
    """An evaluator whose slots come and go; each evaluation waits to be let through."""

    def __init__(self) -> None:
        self.slots = 1
        self.waiting = ""
        self.under_way: dict[str, asyncio.Event] = {}

    async def evaluate(self, program: Program, evaluation_id: str, scoring: ScoringRequest = PLAIN) -> Evaluation:
        await self.under_way.setdefault(evaluation_id, asyncio.Event()).wait()
        del self.under_way[evaluation_id]
        return Evaluation(outcome=Outcome.CANCELLED)

    def let_one_through(self) -> None:
        next(iter(self.under_way.values())).set()


class Listener:
    """The search as far as results are told to it, and its limits are read."""

    def __init__(self, limits: ConcurrencyConfig) -> None:
        self.state = SimpleNamespace(config=SimpleNamespace(concurrency=limits))

    def tell(self, candidate_id: str, evaluation: Evaluation) -> SearchStep:
        return SearchStep()


def candidates(count: int) -> tuple[Candidate, ...]:
    programs = [Program.of({"main.py": f"x = {number}"}) for number in range(count)]
    return tuple(
        Candidate(
            id=f"cnd_{number:032x}",
            proposal_number=0,
            position=number,
            island=0,
            program=program,
            fingerprint=program.id,
        )
        for number, program in enumerate(programs)
    )


async def turns() -> None:
    """Let everything go as far as it can without anything from outside."""
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("maximum", "expected"), [(0, [1, 3, 2]), (2, [1, 2, 2])])
async def test_evaluations_at_once_follow_the_slots_up_to_a_number_that_is_set(
    maximum: int, expected: list[int]
) -> None:
    parts: tuple[Any, Any, Any] = (Listener(ConcurrencyConfig(evaluations=maximum)), (), gate := Gate())
    dispatcher = Dispatcher(*parts, lambda _: None)
    dispatcher.take(SearchStep(candidates=candidates(12)))
    await turns()
    found = [len(gate.under_way)]
    for slots in (3, 2):
        gate.slots = slots
        for _ in range(2):  # the first that end make room for more, or leave fewer
            gate.let_one_through()
            await turns()
        found.append(len(gate.under_way))
    await dispatcher.cancel()
    assert found == expected
