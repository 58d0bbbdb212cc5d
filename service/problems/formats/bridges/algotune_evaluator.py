"""Written by Evolve: times a solver against the reference of an AlgoTune task, on instances that both solve once."""

import copy
import gc
import logging
import random
import sys
import time
import types
from typing import Any

from evolve_stand_ins import load, read, settings, stand_in

TARGET_SECONDS = 0.01
SEARCH_SECONDS = 20.0
TRIALS = 3
MAX_N = 1_000_000


class Task:
    """What AlgoTune's own base class is for the classes of tasks."""

    def __init__(self, **options: Any) -> None:
        """As they call it."""
        self.n = options.get("n")
        self.dataset_size = options.get("dataset_size")
        self.target_time_ms = options.get("target_time_ms")
        self.data_dir = options.get("data_dir")
        self.oracle = getattr(self, "solve", None)  # the reference, which each task defines


class Messages(logging.Handler):
    """Keeps what a task says about solutions that it refuses."""

    def __init__(self) -> None:
        """With no message yet."""
        super().__init__(logging.WARNING)
        self.texts: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """One more message."""
        self.texts.append(record.getMessage())


def register_task(_: str) -> Any:
    """A decorator that leaves a class as it is."""
    return lambda found: found


def evaluate(program_path: str) -> "dict[str, Any]":
    """The result of a program, as Evolve reads it."""
    said = settings()
    messages = Messages()
    logging.basicConfig(handlers=[messages], force=True)
    stand_in("AlgoTuneTasks")
    stand_in("AlgoTuneTasks.base", Task=Task, register_task=register_task)
    task = getattr(load(said["file"]), said["class"])()
    size = said["n"] or chosen_size(task)
    program = types.ModuleType("program")
    sys.modules["program"] = program
    exec(compile(read(program_path), program_path, "exec"), vars(program))  # noqa: S102 - run in the sandbox
    if "Solver" not in vars(program):
        return {"error": "the program does not define the class Solver"}
    solver = vars(program)["Solver"]()
    warm = instance(task, size, 0)
    timed(task.solve, warm)
    timed(solver.solve, warm)
    ratios = []
    for seed in range(1, said["instances"] + 1):
        problem = instance(task, size, seed)
        reference, _ = timed(task.solve, problem)
        seconds, solution = timed(solver.solve, problem)
        messages.texts.clear()
        if not task.is_solution(problem, solution):
            why = f": {messages.texts[-1]}" if messages.texts else ""
            return {"error": f"is_solution refuses the solution of instance {seed} of size {size}{why}"}
        ratios.append(reference / max(seconds, 1e-9))
    return {"speedup": sum(ratios) / len(ratios), "feedback": f"valid on {len(ratios)} instances of size {size}"}


def chosen_size(task: Any) -> int:
    """The first size, each about a third above the one before, for which the reference takes long enough."""
    began, size, last = time.perf_counter(), 1, 0
    while size <= MAX_N and time.perf_counter() - began < SEARCH_SECONDS:
        try:
            problem = instance(task, size, 0)
            timed(task.solve, problem)
            seconds = min(timed(task.solve, problem)[0] for _ in range(TRIALS))
        except Exception:  # noqa: BLE001 - a task may have no instance of a small size
            seconds = 0.0
        else:
            last = size
        if seconds >= TARGET_SECONDS:
            break
        size += max(1, size // 3)
    if not last:
        raise ValueError("the task generates no problem that its reference solves")
    return last


def instance(task: Any, size: int, seed: int) -> Any:
    """A problem, the same one for equal sizes and seeds."""
    random.seed(seed)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    return task.generate_problem(n=size, random_seed=seed)


def timed(solve: Any, problem: Any) -> "tuple[float, Any]":
    """Seconds that one solution takes, of a copy of the problem, and the solution."""
    given = copy.deepcopy(problem)
    gc.collect()
    gc.disable()
    try:
        began = time.perf_counter()
        solution = solve(given)
        return time.perf_counter() - began, solution
    finally:
        gc.enable()
