"""The systems that search the catalogue for benchmarks, each on the same project, with the same policy and budget.

The policy is the built-in mutator behind a policy server (`benchmarks.mutator`), which writes whole programs, one
answer a call. Nothing of the search is set but budget, seed and cores.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks import openevolve, shinka
from benchmarks.evolve_runs import run_evolve, served
from benchmarks.mutator import Mutator
from benchmarks.policy_server import policy_server
from benchmarks.tasks import scores_of
from evolve.problem import Direction, Objective
from service.problems.catalogue import init_from_catalogue
from service.problems.load import load_problem

EVOLVE, TUNED = "Evolve", "Evolve with the tuner"
OPENEVOLVE, SHINKA = f"OpenEvolve {openevolve.VERSION}", f"ShinkaEvolve {shinka.VERSION}"
TITLES = {"evolve": EVOLVE, "tuner": TUNED, "openevolve": OPENEVOLVE, "shinka": SHINKA}
OURS, PEERS = (EVOLVE, TUNED), (OPENEVOLVE, SHINKA)
CLOSING_SECONDS = 120.0
SCORING_SECONDS = 60.0  # for what stands around a program: no system cuts off a program that the evaluator lets run
MEMORY_MB = 4096

# The scores of a run in order, the seed's first, in [0, 1]: of a problem, a seed, a folder of its own and the options.
Run = Callable[[str, int, Path, Any], list[float]]
EVALUATOR = '''
"""Scores a program by the problem's own scorer, in [0, 1]; the program runs in a fork of this process."""

import contextlib
import importlib.util
import json
import os
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE / "evolve_imports")]
import scorer

ENTRY, NAME, WORST, BEST, SECONDS, BYTES = {entry!r}, {name!r}, {worst!r}, {best!r}, {seconds!r}, {memory!r}
INPUTS = scorer.inputs() if hasattr(scorer, "inputs") else [[]]
GLANCE_SECONDS = 0.001


def run(path):
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    spec = importlib.util.spec_from_file_location("program", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    values = []
    for arguments in json.loads(json.dumps(INPUTS)):
        start = time.perf_counter()
        value = getattr(module, ENTRY)(*arguments)
        values.append(dict(value=value, seconds=time.perf_counter() - start, error=None))
    return json.dumps(values)


def child(path, results):
    try:
        silence = os.open(os.devnull, os.O_RDWR)
        for stream in range(3):
            os.dup2(silence, stream)
        sys.dont_write_bytecode = True
        written = run(path)
    except BaseException as error:
        written = json.dumps(f"{{type(error).__name__}}: {{error}}"[-500:])
    with contextlib.suppress(OSError):
        results.write(written.encode())
        results.flush()
    os._exit(0)


def outputs(path):
    with tempfile.TemporaryFile() as results:
        pid = os.fork()
        if pid == 0:
            child(path, results)
        end = time.monotonic() + SECONDS
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                return nothing(f"the program takes longer than {{SECONDS:g}} s")
            time.sleep(GLANCE_SECONDS)
        results.seek(0)
        try:
            values = json.loads(results.read())
        except ValueError:
            return nothing("the program ended its process")
    return values if isinstance(values, list) else nothing(values)


def nothing(reason):
    return [dict(value=None, seconds=0.0, error=reason) for _ in INPUTS]


def examine(program_path):
    scores = scorer.score(outputs(program_path), {{}})
    error = str(scores["error"]) if "error" in scores else None
    combined = max(0.0, (scores[NAME] - WORST) / (BEST - WORST)) if error is None else 0.0
    try:
        with (HERE / "scores.txt").open("a") as file:
            file.write(f"{{combined!r}}\\n")
    except OSError:
        pass  # a sandbox that lets nothing be written there keeps its own account
    return combined, error


def evaluate(program_path):
    return {{"combined_score": examine(program_path)[0]}}
'''
_PROBLEM = """
schema = 1
name = "{name}"
seeds = ["initial_program.py"]

[evaluator]
integrity = "shared"

[limits]
memory_mb = {memory}
wall_seconds = {seconds}
cpu_seconds = {seconds}

[[objectives]]
name = "combined_score"
direction = "maximize"
low = 0.0
high = 1.0
"""


def systems(names: Sequence[str], options: Any) -> Mapping[str, Run]:
    """How each system searches, by its title; the environments of peers are made where they are missing."""
    install: Mapping[str, Callable[[], Run]] = {
        "evolve": lambda: partial(by_evolve, tuner=False),
        "tuner": lambda: partial(by_evolve, tuner=True),
        "openevolve": lambda: partial(
            by_openevolve, openevolve.install_openevolve(options.openevolve.absolute())
        ),
        "shinka": lambda: partial(by_shinka, shinka.install_shinka(options.shinka.absolute())),
    }  # fmt: skip
    return {TITLES[name]: install[name]() for name in TITLES if name in names}


def write_project(folder: Path, name: str, url: str, seed: int, options: Any) -> Path:
    """A problem of the catalogue as a project of OpenEvolve, and as a problem of Evolve that says nothing else."""
    init_from_catalogue(folder, name)
    problem = load_problem(folder).problem
    (objective,) = problem.objectives
    worst, best = ends(objective)
    (folder / "evaluator.py").rename(folder / "scorer.py")
    (folder / "verify.py").unlink(missing_ok=True)
    seconds = problem.limits.wall_seconds
    text = EVALUATOR.format(
        entry=problem.evaluator.entry,
        name=objective.name,
        worst=worst,
        best=best,
        seconds=seconds,
        memory=MEMORY_MB << 20,
    )
    (folder / "evaluator.py").write_text(text)
    limit = seconds + SCORING_SECONDS
    (folder / "problem.toml").write_text(_PROBLEM.format(name=name, memory=MEMORY_MB, seconds=limit))
    iterations = openevolve.SPARE * options.evaluations
    openevolve.write_config(folder, url, iterations, options.cores, seed=seed, timeout_seconds=round(limit))
    return folder


def ends(objective: Objective) -> tuple[float, float]:
    """The worst and the best value of an objective."""
    assert objective.low is not None
    assert objective.high is not None
    bounds = objective.low, objective.high
    return bounds if objective.direction is Direction.MAXIMIZE else bounds[::-1]


def by_openevolve(python: Path, name: str, seed: int, home: Path, options: Any) -> list[float]:
    """A run of OpenEvolve. It is stopped at the budget: its iterations are more, as some evaluate nothing."""
    with policy_server(write=Mutator(seed)) as url:
        project = write_project(home / "project", name, url, seed, options)
        iterations = openevolve.SPARE * options.evaluations
        openevolve.run_openevolve(
            python, project, home / "out", iterations, options.limit,
            lambda: len(scores_of(project)) > options.evaluations,
        )  # fmt: skip
    return scores_of(project)


def by_shinka(python: Path, name: str, seed: int, home: Path, options: Any) -> list[float]:
    """A run of ShinkaEvolve."""
    with policy_server(write=Mutator(seed)) as url:
        project = write_project(home / "project", name, url, seed, options)
        shinka.run_shinka(
            python, project, url, home / "out", options.evaluations, options.cores, options.limit, lambda: False
        )
    return shinka.evaluated(project, home / "out")


def by_evolve(name: str, seed: int, home: Path, options: Any, *, tuner: bool) -> list[float]:
    """A run of Evolve, with the tuner beside the mutator or without it; what the tuner writes counts as the rest."""
    with policy_server(write=Mutator(seed)) as url:
        project = write_project(home / "project", name, url, seed, options)
        words = ["--evaluations", str(options.evaluations + 1), "--wall-seconds", str(options.limit)]
        policies = served(url, options.cores, tuner=tuner)
        return run_evolve(project, policies, seed, options.cores, words, options.limit + CLOSING_SECONDS)
