"""Cost of a container around the evaluator: `python -m benchmarks.containers --image IMAGE`.

The same program, which returns a number, and the same evaluator are evaluated in turn in the sandbox, in the sandbox at
the level that a container reaches, in a warm container, and by a container that is started for one command alone. The
ratios are what matters: all four see the same load of the machine.
"""

import asyncio
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path

from benchmarks.harness import arguments, report, scratch
from evolve.problem import EvaluatorSpec, Objective, Problem
from evolve.program import Program
from service.config import SandboxSettings
from service.sandbox.container_runtime import ContainerImage, image_of
from service.sandbox.evaluator import SandboxEvaluator, open_evaluator
from service.sandbox.layers import IsolationLevel

PROGRAM = "def give():\n    return float({number})\n"
EVALUATOR = "def score(outputs, program):\n    return {'number': outputs[0]['value']}\n"
ONCE = ("run", "--rm", "--network", "none", "--read-only", "--cap-drop", "ALL", "--pull", "never")


async def measure(image_name: str, count: int) -> dict[str, object]:
    spec = EvaluatorSpec(entry="give", image=image_name)
    image = await image_of(spec, SandboxSettings())
    if image is None:
        raise SystemExit("name an image that has Python 3.11: --image IMAGE")
    problem = Problem(
        name="nothing",
        seeds=(Program.of({"program.py": PROGRAM.format(number=0)}),),
        evaluator=spec,
        objectives=(Objective(name="number"),),
    )
    with scratch() as folder:
        bundle = Path(folder)
        (bundle / "evaluator.py").write_text(EVALUATOR)
        async with AsyncExitStack() as stack:

            async def opened(image: ContainerImage | None, force: IsolationLevel | None = None) -> SandboxEvaluator:
                opening = open_evaluator(problem, bundle, 1, require=None, force=force, image=image)
                return await stack.enter_async_context(opening)

            began = time.perf_counter()
            contained = await opened(image)
            start = time.perf_counter() - began
            ways = {
                "sandbox": _evaluating(await opened(None)),
                "sandbox at medium": _evaluating(await opened(None, IsolationLevel.MEDIUM)),
                "warm container": _evaluating(contained),
                "container for each": _once(image),
            }
            taken: dict[str, list[float]] = {name: [] for name in ways}
            for number in range(count + 1):
                for name, way in ways.items():
                    taken[name].append(await _timed(way, number))
    medians = {name: round(statistics.median(times[1:]), 2) for name, times in taken.items()}
    return {
        "runtime": str(image.runtime),
        "start_seconds": round(start, 2),
        "milliseconds": medians,
        "ratio": {name: round(took / medians["sandbox at medium"], 2) for name, took in medians.items()},
    }


def _evaluating(evaluator: SandboxEvaluator) -> Callable[[int], Awaitable[None]]:
    async def evaluate(number: int) -> None:
        evaluation = await evaluator.evaluate(Program.of({"program.py": PROGRAM.format(number=number)}), f"e{number}")
        if not evaluation.ok:
            raise SystemExit(f"{evaluation.outcome}: {evaluation.reason}")

    return evaluate


def _once(image: ContainerImage) -> Callable[[int], Awaitable[None]]:
    words = [image.runtime.program, *ONCE, "--entrypoint", "python3", image.id, "-c", "print(1.0)"]

    async def run(_: int) -> None:
        await asyncio.to_thread(subprocess.run, words, check=True, capture_output=True)

    return run


async def _timed(way: Callable[[int], Awaitable[None]], number: int) -> float:
    began = time.perf_counter()
    await way(number)
    return 1000 * (time.perf_counter() - began)


def main() -> None:
    parser = arguments(__doc__ or "")
    parser.add_argument("--image", required=True)
    parser.add_argument("--count", type=int, default=50)
    options = parser.parse_args()
    report("containers", asyncio.run(measure(options.image, options.count)), options.out)


if __name__ == "__main__":
    main()
