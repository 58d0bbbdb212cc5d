"""Written by Evolve: times a solver against the reference of an AlgoTune task, on instances that both solve once."""

import copy
import gc
import logging
import random
import statistics
import sys
import time
import types
from typing import Any

from evolve_stand_ins import load, read, settings, stand_in

TARGET_SECONDS = 0.01
SEARCH_SECONDS = 20.0
TRIALS = 3
SHARE = 3.0
MAX_BEGIN = 0.1
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
    for _ in range(TRIALS):
        timed(task.solve, warm)
        timed(solver.solve, warm)
    times = Times()
    for seed in range(1, said["instances"] + 1):
        problem = instance(task, size, seed)
        solution = times.add(task.solve, solver.solve, problem)
        messages.texts.clear()
        if not task.is_solution(problem, solution):
            why = f": {messages.texts[-1]}" if messages.texts else ""
            return {"error": f"is_solution refuses the solution of instance {seed} of size {size}{why}"}
    return {"speedup": times.speedup(), "feedback": f"valid on {said['instances']} instances of size {size}"}


class Times:
    """Seconds of the reference and of a solver on the same instances, each of which both solve once.

    Whichever is second finds memory and caches warm, so they take turns. Medians of each turn bear a busy machine.
    """

    def __init__(self) -> None:
        """With no instance yet."""
        self.pairs: list[tuple[float, float]] = []

    def add(self, reference: Any, solver: Any, problem: Any) -> Any:
        """Time both on one more instance; the solution of the solver."""
        if len(self.pairs) % 2:
            seconds, solution = timed(solver, problem)
            self.pairs.append((timed(reference, problem)[0], seconds))
        else:
            first, _ = timed(reference, problem)
            seconds, solution = timed(solver, problem)
            self.pairs.append((first, seconds))
        return solution

    def speedup(self) -> float:
        """How many times as long the reference takes."""
        turns = [turn for turn in (self.pairs[::2], self.pairs[1::2]) if turn]
        reference = sum(statistics.median(one for one, _ in turn) for turn in turns)
        return reference / max(sum(statistics.median(one for _, one in turn) for turn in turns), 1e-9)


def chosen_size(task: Any) -> int:
    """The first size, each about a third above the one before, for which the reference takes long enough.

    That is 10 ms, and three times what the smallest instance takes: a reference may take longer to begin than to solve.
    Time of the processor counts too, so that a busy machine chooses the same sizes.
    """
    began, size, last, enough = time.perf_counter(), 1, 0, TARGET_SECONDS
    while size <= MAX_N and time.perf_counter() - began < SEARCH_SECONDS:
        try:
            problem = instance(task, size, 0)
            timed(task.solve, problem)
            clocks = [time.perf_counter, time.process_time] * TRIALS
            seconds = min(timed(task.solve, problem, clock)[0] for clock in clocks)
        except Exception:  # noqa: BLE001 - a task may have no instance of a small size
            seconds = 0.0
        else:
            enough = max(enough, SHARE * seconds) if not last and seconds < MAX_BEGIN else enough
            last = size
        if seconds >= enough:
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


def timed(solve: Any, problem: Any, clock: Any = time.perf_counter) -> "tuple[float, Any]":
    """Seconds that one solution takes, of a copy of the problem, and the solution."""
    given = copy.deepcopy(problem)
    gc.collect()
    gc.disable()
    try:
        began = clock()
        solution = solve(given)
        return clock() - began, solution
    finally:
        gc.enable()
