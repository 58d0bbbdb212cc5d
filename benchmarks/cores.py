"""Share of the cores' time that goes into evaluations: `python -m benchmarks.cores`.

A program burns CPU for 10 ms, 100 ms or 1 s in the sandbox, on as many slots as there are cores; the share is what the
programs burned, as measured inside them, over cores x wall time. Beside it stands what bare processes that do nothing
but burn get of the cores just before and after: a shared machine gives nobody all of them.
"""

import asyncio
import multiprocessing
import time
from pathlib import Path

from benchmarks.harness import InstantPolicy, Watch, arguments, new_job, open_log, report, scratch
from evolve.configuration import BudgetConfig, RunConfig
from evolve.problem import EvaluatorSpec, Limits, Objective, Problem
from evolve.program import Program
from service.runner.desired_state import RunOrders
from service.runner.run_loop import drive
from service.runner.status import RunStatus
from service.sandbox.evaluator import open_evaluator

PROGRAM = """
import time

def burn():
    began = time.process_time()
    while time.process_time() - began < {seconds}:
        pass
    return {number}
"""
EVALUATOR = """
def score(outputs, program):
    return {"number": float(outputs[0]["value"])}
"""


class BurningPolicy(InstantPolicy):
    """Programs that burn CPU, each with another constant."""

    def __init__(self, seconds: float) -> None:
        super().__init__(write=lambda number: PROGRAM.format(seconds=seconds, number=number))


def available(cores: int, seconds: float = 5.0) -> float:
    """Share of the cores that bare processes get."""
    with multiprocessing.get_context("spawn").Pool(cores) as pool:
        pool.map(burned, [0.1] * cores)
        before = time.monotonic()
        used = pool.map(burned, [seconds] * cores)
        return sum(used) / (cores * (time.monotonic() - before))


def burned(seconds: float) -> float:
    """CPU seconds that a process gets while so many pass."""
    began, cpu = time.monotonic(), time.process_time()
    while time.monotonic() - began < seconds:
        pass
    return time.process_time() - cpu


async def measure(seconds: float, evaluations: int, cores: int) -> dict[str, float]:
    with scratch() as folder:
        bundle = Path(folder) / "problem"
        bundle.mkdir()
        (bundle / "evaluator.py").write_text(EVALUATOR)
        problem = Problem(
            name="burn",
            seeds=(Program.of({"program.py": PROGRAM.format(seconds=seconds, number=0)}),),
            evaluator=EvaluatorSpec(entry="burn"),
            limits=Limits(),
            objectives=(Objective(name="number"),),
        )
        config = RunConfig(budget=BudgetConfig(evaluations=evaluations))
        marks: list[tuple[float, int]] = []

        def hear(status: RunStatus) -> None:
            marks.append((time.monotonic(), status.counters.evaluations))

        async with open_evaluator(problem, bundle, slots=cores, require=None) as evaluator:
            job = new_job(open_log(folder), problem, config, BurningPolicy(seconds), evaluator)
            await drive(job, observer=Watch(hear), orders=RunOrders())
    first = next(mark for mark in marks if mark[1] >= 2 * cores)
    wall, done = marks[-1][0] - first[0], marks[-1][1] - first[1]
    return {
        "evaluation_seconds": seconds,
        "evaluations": done,
        "share_of_core_time": round(done * seconds / (cores * wall), 4),
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    rows = []
    for seconds, count in ((0.01, 1000), (0.1, 400), (1.0, 60)):
        before = available(options.cores)
        row = asyncio.run(measure(seconds, count, options.cores))
        bare = (before + available(options.cores)) / 2
        rows.append(row | {"bare_processes": round(bare, 4), "ratio": round(row["share_of_core_time"] / bare, 4)})
    report("cores", {"cores_used": options.cores, "shares": rows}, options.out)


if __name__ == "__main__":
    main()
