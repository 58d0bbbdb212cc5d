"""The tuner: which numbers it moves, how far, and that its state follows from the record of a session."""

import asyncio
import json
import math
import os
import platform
import re
import statistics
import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

from evolve.evaluation import Evaluation, Outcome
from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from evolve.proposal import Answer, CompletedReply, Individual, Proposal, TuningRecord
from service.policy.tuner.policy import TunerPolicy
from service.policy.tuner.steps import ScoredPoint, SparseSteps

ANSWERS = 8
SESSIONS, LONG = 5, 100
Score = Callable[[list[float]], float]


def individual(text: str, fitness: float) -> Individual:
    program = Program.of({"program.py": text})
    evaluation = Evaluation(outcome=Outcome.OK, scores={"score": fitness})
    return Individual(candidate_id=program.id, program=program, evaluation=evaluation, measures={}, fitness=fitness)


def problem(text: str) -> Problem:
    return Problem(
        name="numbers",
        seeds=(Program.of({"program.py": text}),),
        evaluator=EvaluatorSpec(entry="solve"),
        objectives=(Objective(name="score", low=-1.0, high=0.0),),
    )


def written(numbers: list[float]) -> str:
    return f"NUMBERS = {json.dumps(numbers)}\n"


def numbers_of(text: str) -> list[float]:
    found: list[float] = json.loads(text.partition("=")[2])
    return found


class Session:
    """A tuning session on a program that is a list of numbers."""

    def __init__(self, text: str, score: Score, seed: int = 1) -> None:
        self.score = score
        self.policy = TunerPolicy(problem(text), answers=ANSWERS)
        self.record = TuningRecord(session=1, seed=seed, base=individual(text, score(numbers_of(text))))
        self.best = score(numbers_of(text))
        self.programs: list[list[str]] = []

    def ask(self, policy: TunerPolicy | None = None) -> list[str]:
        """The programs of the next proposal."""
        proposal = Proposal(
            id="prp_1", number=1, island=0, operator="tune", parent=self.record.base, answers=ANSWERS, limit=ANSWERS,
            tuning=self.record,
        )  # fmt: skip

        async def texts() -> list[str]:
            replies = [reply async for reply in (policy or self.policy).propose(proposal)]
            assert isinstance(replies[-1], CompletedReply)
            return [reply.text.split("\n", 1)[1].rsplit("\n", 1)[0] for reply in replies if isinstance(reply, Answer)]

        return asyncio.run(texts())

    def turn(self) -> None:
        """One proposal, and what came of it."""
        programs = self.ask()
        scores = tuple(self.score(numbers_of(program)) for program in programs)
        self.programs.append(programs)
        self.best = max(self.best, *scores)
        generations = (*self.record.generations, scores)
        self.record = TuningRecord(session=1, seed=self.record.seed, base=self.record.base, generations=generations)


def rough(numbers: list[float]) -> float:
    """How far numbers are from rising by equal steps from 1.0: a step that moves all of them far makes it worse."""
    return -sum(abs(number - 1.0 - place / 20) for place, number in enumerate(numbers))


def valley(numbers: list[float]) -> float:
    """Numbers that must be moved together: those that differ cost a hundred times as much as their mean."""
    mean = sum(numbers) / len(numbers)
    return -100.0 * sum((number - mean) ** 2 for number in numbers) - (mean - 2.0) ** 2


@pytest.mark.parametrize(
    ("start", "score", "proposals", "share"),
    [
        ([1.0 + place / 20 + 0.004 * (-1) ** place for place in range(20)], rough, 80, 0.5),
        ([1.0] * 6, valley, 100, 0.5),
    ],
    ids=["good already", "together"],
)
def test_a_program_gets_better(start: list[float], score: Score, proposals: int, share: float) -> None:
    sessions = [Session(written(start), score, seed) for seed in range(SESSIONS)]
    for session in sessions:
        for _ in range(proposals):
            session.turn()
    assert min(session.best for session in sessions) > score(start)
    assert statistics.median(session.best for session in sessions) > share * score(start)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="OpenBLAS has its kernel Prescott on x86-64 alone")
def test_a_session_that_another_processor_takes_up_asks_for_the_same_programs() -> None:
    """Equal eigenvalues of a covariance matrix have any eigenvectors: which ones is up to the kernels of BLAS."""
    script = (
        "from tests.unit.policy.test_tuner import Session, valley, written\n"
        "session = Session(written([1.0] * 6), valley)\n"
        f"for _ in range({LONG}): session.turn()\n"
        "print(session.programs)"
    )
    found = [
        subprocess.check_output([sys.executable, "-c", script], env={**os.environ, **kernels}, text=True)
        for kernels in ({}, {"OPENBLAS_CORETYPE": "Prescott"})
    ]
    assert found[0].count("NUMBERS") == LONG * ANSWERS
    assert found[0] == found[1]


def test_a_session_that_is_made_again_from_its_record_asks_for_the_same_programs() -> None:
    session = Session(written([0.5, -1.5, 2.25]), valley)
    for _ in range(6):
        session.turn()
    again = TunerPolicy(problem(written([0.5, -1.5, 2.25])), answers=ANSWERS)
    assert session.ask(again) == session.ask()


def test_no_program_comes_twice_and_some_keep_most_numbers_as_they_are_written() -> None:
    texts = ["0.50", "1.25e-3", "3.0", "0.1", "7.125"]
    session = Session(f"NUMBERS = [{', '.join(texts)}]\n", valley)
    for _ in range(4):
        session.turn()
    programs = [program for turn in session.programs for program in turn]
    assert len(programs) == len(set(programs)) == 4 * ANSWERS
    first = [re.findall(r"[-\d.e]+(?=[,\]])", program) for program in session.programs[0]]
    kept = [sum(a == b for a, b in zip(found, texts, strict=True)) for found in first]
    assert max(kept) >= len(texts) - 2
    assert min(kept) == 0


def test_whole_numbers_move_by_one_and_more_and_stay_whole() -> None:
    session = Session("NUMBERS = [0, 3, 12]\n", valley)
    for _ in range(5):
        session.turn()
    found = [numbers_of(program) for turn in session.programs for program in turn]
    assert all(isinstance(number, int) for numbers in found for number in numbers)
    assert len({tuple(numbers) for numbers in found}) == 5 * ANSWERS


def test_a_single_number_is_tuned() -> None:
    session = Session("NUMBERS = [1.0]\n", lambda numbers: -abs(numbers[0] - 1.5))
    for _ in range(10):
        session.turn()
    assert session.best > -0.02


@pytest.mark.parametrize("fitness", [1.0, -math.inf])
def test_sparse_steps_go_on_from_the_best_point_whoever_found_it_and_from_none_that_failed(fitness: float) -> None:
    steps = SparseSteps(dimensions=3, length=3, fitness=fitness, seed=0)
    failed, step = steps.ask()
    steps.learn([ScoredPoint(point=failed, fitness=-math.inf, step=step)])
    assert not steps.best.any()
    found = np.array([1.0, 2.0, 3.0])
    steps.learn([ScoredPoint(point=found, fitness=2.0), ScoredPoint(point=failed, fitness=1.5, step=step)])
    assert steps.best is found
    equal, step = steps.ask()
    steps.learn([ScoredPoint(point=equal, fitness=2.0, step=step)])
    assert steps.best is equal
    assert steps.fitness == 2.0
    assert set(np.flatnonzero(equal - found)) == set(step.places)
