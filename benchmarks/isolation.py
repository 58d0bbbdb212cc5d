"""Cost of isolation per evaluation, every layer on: `python -m benchmarks.isolation`.

A program that does nothing but import numpy and return a number, scored by an evaluator that does nothing: all that is
measured is the sandbox, the second process for the scorer included. One slot, one after the other.
"""

import asyncio
import statistics
import time
from pathlib import Path

from benchmarks.harness import arguments, report, scratch
from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from service.sandbox.evaluator import open_evaluator

PROGRAM = "import numpy\n\ndef give():\n    return float(numpy.float64({number}))\n"
EVALUATOR = "def score(outputs, program):\n    return {'number': outputs[0]['value']}\n"


async def measure(count: int) -> dict[str, object]:
    with scratch() as folder:
        bundle = Path(folder)
        (bundle / "evaluator.py").write_text(EVALUATOR)
        problem = Problem(
            name="nothing",
            seeds=(Program.of({"program.py": PROGRAM.format(number=0)}),),
            evaluator=EvaluatorSpec(entry="give", preload=("numpy",)),
            objectives=(Objective(name="number"),),
        )
        walls = []
        async with open_evaluator(problem, bundle, slots=1, require=None) as evaluator:
            for number in range(count + 5):
                program = Program.of({"program.py": PROGRAM.format(number=number)})
                began = time.perf_counter()
                evaluation = await evaluator.evaluate(program, f"evl_{number}")
                walls.append(1000 * (time.perf_counter() - began))
                if not evaluation.ok:
                    raise SystemExit(f"evaluation {number} was {evaluation.outcome}: {evaluation.reason}")
            isolation = evaluator.isolation
    walls = sorted(walls[5:])
    return {
        "isolation": isolation,
        "milliseconds": {
            "median": round(statistics.median(walls), 2),
            "p10": round(walls[len(walls) // 10], 2),
            "p90": round(walls[len(walls) * 9 // 10], 2),
        },
    }


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--count", type=int, default=200)
    options = parser.parse_args()
    report("isolation", asyncio.run(measure(options.count)), options.out)


if __name__ == "__main__":
    main()
