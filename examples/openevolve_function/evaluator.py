"""An OpenEvolve evaluator: it loads the program into its own process and scores it in two stages."""

import importlib.util
import math
import time

from openevolve.evaluation_result import EvaluationResult

# With s = x + y and d = x - y, bumpy is sin(s) + s / 2 + (d - 1)^2: lowest in the square at s = -8 pi / 3, d = 1.
MINIMUM = -math.sqrt(3) / 2 - 4 * math.pi / 3
BUDGET = 1000


def bumpy(x, y):
    """McCormick's function: sin(x + y) + (x - y)^2 - 1.5 x + 2.5 y + 1."""
    return math.sin(x + y) + (x - y) ** 2 - 1.5 * x + 2.5 * y + 1


def load(program_path):
    spec = importlib.util.spec_from_file_location("program", program_path)
    program = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    return program


def trial(program, seed):
    calls = 0

    def counted(x, y):
        nonlocal calls
        calls += 1
        if calls > BUDGET:
            raise RuntimeError(f"more than {BUDGET} calls of the function")
        return bumpy(min(5.0, max(-5.0, x)), min(5.0, max(-5.0, y)))

    x, y, _ = program.run_search(counted, seed)
    return max(0.0, bumpy(min(5.0, max(-5.0, float(x))), min(5.0, max(-5.0, float(y)))) - MINIMUM)


def measured(program_path, seeds):
    started = time.perf_counter()
    program = load(program_path)
    gaps = [trial(program, seed) for seed in seeds]
    mean = sum(gaps) / len(gaps)
    return EvaluationResult(
        metrics={"combined_score": 1.0 / (1.0 + mean), "gap": mean},
        artifacts={"gaps": ", ".join(f"{gap:.5f}" for gap in gaps), "seconds": f"{time.perf_counter() - started:.3f}"},
    )


def evaluate_stage1(program_path):
    """One trial: what fails here is not worth ten."""
    return measured(program_path, range(1))


def evaluate_stage2(program_path):
    return measured(program_path, range(10))


def evaluate(program_path):
    return measured(program_path, range(10))
