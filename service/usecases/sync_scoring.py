"""Programs of a problem scored one batch after another, for callers that know no event loop: those who train."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from evolve.evaluation import Evaluation
from evolve.problem import Problem
from evolve.program import Program
from service.ports import EvaluatorFactory, EvaluatorRequest
from service.problems.load import load_problem

Evaluate = Callable[[Sequence[Program]], list[Evaluation]]


@contextmanager
def open_sync_scoring(
    folder: Path, evaluators: EvaluatorFactory, *, slots: int = 0, others: bool = False
) -> Iterator[tuple[Problem, Evaluate]]:
    """The problem in a folder, and a function that scores programs, in order.

    Args:
        folder: of the problem.
        evaluators: score the programs.
        slots: evaluations at once; 0: as many as this process has cores.
        others: whether somebody else wrote the problem.

    Raises:
        InvalidProblemError: the problem cannot be searched on, or its evaluator cannot be used.
        RefusedError: the machine offers less isolation, or the problem wants what the operator does not allow.
    """
    loaded = load_problem(folder)
    opening = evaluators.open(
        EvaluatorRequest(problem=loaded.problem, bundle=loaded.bundle, source=loaded.place, slots=slots, others=others)
    )
    with asyncio.Runner() as runner:
        opened = runner.run(opening.__aenter__())

        async def score(programs: Sequence[Program]) -> list[Evaluation]:
            return await asyncio.gather(*(opened.evaluator.evaluate(program, program.id) for program in programs))

        try:
            yield loaded.problem, lambda programs: runner.run(score(programs))
        finally:
            runner.run(opening.__aexit__(None, None, None))
