"""What the tuner alone gains on programs that are good already: `python -m benchmarks.tuner`.

For each problem of the catalogue and each seed, the syntax mutator searches for a while. The tuner then gets the best
program, and nothing else: a session of its own, which goes on to its end whether it gains anything or not. The report
has the mean score before, and after each budget of the tuner's evaluations, and the share that is closed by then of the
gap to the best known value.
Programs run in this process. What it takes is those of the catalogue whose `entry` has no arguments.
"""

import asyncio
import resource
import sys
import time
from collections.abc import Sequence
from contextlib import aclosing
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.counts import Kept
from benchmarks.exploration import MEMORY_BYTES
from benchmarks.harness import arguments, report, scratch
from benchmarks.stages import InProcess, load_scorer
from evolve.configuration import BudgetConfig, RunConfig
from evolve.errors import PolicyRefused
from evolve.evaluation import fitness
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Answer, Individual, Proposal, TuningRecord
from evolve.search.driver import Driver
from evolve.search.ensemble import EnsembleMember
from service.policy.syntax.policy import SyntaxPolicy
from service.policy.tuner.policy import TunerPolicy
from service.problems.catalogue import find_problem, init_from_catalogue
from service.problems.load import load_problem

PROBLEMS = (
    "autocorrelation-2", "circles-26", "distance-ratio-3d-14", "erdos-minimum-overlap", "heilbronn-triangle-11",
)  # fmt: skip
ANSWERS = 8


async def climb(problem: Problem, evaluator: InProcess, seed: int, evaluations: int) -> Individual:
    """The best program that the syntax mutator finds."""
    config = RunConfig(seed=seed, budget=BudgetConfig(evaluations=evaluations))
    members = [EnsembleMember(policy=SyntaxPolicy(problem, answers=1))]
    result = await Driver("run_climb", problem, config, members, evaluator, monotonic=time.monotonic).run()
    assert result.best is not None
    return result.best


async def tune(problem: Problem, evaluator: InProcess, base: Individual, seed: int, evaluations: int) -> list[float]:
    """The best fitness after each evaluation of a session."""
    policy, generations = TunerPolicy(problem, answers=ANSWERS), list[tuple[float | None, ...]]()
    assert base.fitness is not None
    bests = [base.fitness]
    while len(bests) <= evaluations:
        record = TuningRecord(session=1, seed=seed, base=base, generations=tuple(generations))
        proposal = Proposal(
            id="prp_1", number=1, island=0, operator="tune", parent=base, answers=ANSWERS, limit=ANSWERS, tuning=record
        )
        scores: list[float | None] = []
        try:
            async with aclosing(policy.propose(proposal)) as replies:
                texts = [_program(reply.text) async for reply in replies if isinstance(reply, Answer)]
        except PolicyRefused:  # its steps have become too small
            break
        for text in texts:
            program = Program.of({base.program.files[0][0]: text})
            score = fitness(problem, await evaluator.evaluate(program, "evl_1"))
            scores.append(score)
            bests.append(bests[-1] if score is None else max(bests[-1], score))
        generations.append(tuple(scores))
    return bests


def _program(answer: str) -> str:
    return answer.split("\n", 1)[1].rsplit("\n", 1)[0] + "\n"


def measure(name: str, seed: int, options: Any) -> dict[str, float]:
    """The fitness of one program before, and after each budget."""
    with scratch() as folder:
        place = Path(folder) / name
        init_from_catalogue(place, name)
        sys.path[:0] = [str(place), str(place / "evolve_imports")]
        problem = load_problem(place).problem
        evaluator = InProcess(problem, load_scorer(place))
        base = asyncio.run(climb(problem, evaluator, seed, options.climb))
        bests = asyncio.run(tune(problem, evaluator, base, seed, max(options.budgets)))
        del sys.path[:2]
    return {str(budget): bests[min(budget, len(bests) - 1)] for budget in (0, *options.budgets)}


def best_known(name: str) -> float:
    """The best known value of a problem, with the sign that a fitness has."""
    problem = find_problem(name)
    assert problem.known_best is not None
    return -problem.known_best if problem.direction == "minimize" else problem.known_best


def gained(of: Sequence[dict[str, float]], budget: str, known: float) -> dict[str, float]:
    """The mean fitness after a budget, and how much of the gap to the best known was closed, in the mean."""
    closed = [(one[budget] - one["0"]) / (known - one["0"]) for one in of]
    return {
        "fitness": round(sum(one[budget] for one in of) / len(of), 5),
        "gap_closed": round(sum(closed) / len(closed), 4),
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--climb", type=int, default=600, help="evaluations of the syntax mutator before")
    parser.add_argument("--budgets", type=int, nargs="+", default=[100, 300, 500], help="evaluations of the tuner")
    parser.add_argument("--problems", nargs="+", default=list(PROBLEMS))
    parser.add_argument("--keep", type=Path, help="a file that keeps each session; what stands there is not made again")
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, resource.getrlimit(resource.RLIMIT_AS)[1]))
    kept, figures = Kept[dict[str, float]](options.keep, "fitness"), {}
    for name in options.problems:
        found = [
            kept.result(
                {"problem": name, "seed": seed, "climb": options.climb, "budgets": str(options.budgets)},
                partial(measure, name, seed, options),
            )
            for seed in range(options.seeds)
        ]
        known = best_known(name)
        figures[name] = {str(budget): gained(found, str(budget), known) for budget in (0, *options.budgets)}
    report("tuner", {"seeds": options.seeds, "climb": options.climb, "problems": figures}, options.out)


if __name__ == "__main__":
    main()
