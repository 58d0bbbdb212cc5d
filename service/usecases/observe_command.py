"""A command run twice on its seed: what it prints, how noisy and slow it is, and what of it must stay."""

import json
import math
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evolve.evaluation import Evaluation, ScoringRequest
from evolve.problem import Limits
from service.errors import InvalidProblemError
from service.ports.evaluators import EvaluatorFactory, EvaluatorRequest
from service.problems.advice import SLOWER
from service.problems.command.command_scorer.summary import equal
from service.problems.command.problem_files import (
    CommandProblem,
    ScoringRules,
    objective_name,
    write_command_problem,
)
from service.problems.load import load_problem

FIRST_SECONDS = 300.0  # of each of the first runs, of which nobody knows how long they take
RUNS = 2
MIN_WALL_SECONDS = 5
# A relative difference of two runs from which on one evaluation is not enough.
NOISY, VERY_NOISY = 0.01, 0.05
_SMALLER = re.compile(r"loss|error|cost|regret|distance|memory|bytes|size", re.IGNORECASE)
_TIME = re.compile(r"time|second|latency|duration", re.IGNORECASE)
_RATE = re.compile(r"(?<![a-z])per[^a-z]?s(ec|$)|throughput", re.IGNORECASE)
_MEMORY_MB, _PROCESSES, _DISK_MB, _OUTPUT_KB = 2048, 64, 256, 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """What the runs of a seed showed.

    Attributes:
        name: label or key of the score; empty: a number alone was printed.
        unit: of time, as it was printed; empty: none.
        form: how it was printed.
        scores: of each run; `seconds`: how long each took.
        calls: watched calls whose arguments and results were equal in both runs, and show something.
        values, lines: what was printed beside the score and was equal in both runs.
    """

    name: str
    unit: str
    form: str
    scores: tuple[float, ...]
    seconds: tuple[float, ...]
    calls: tuple[Any, ...] = ()
    values: Mapping[str, Any] = field(default_factory=dict)
    lines: tuple[str, ...] = ()

    @property
    def noise(self) -> float:
        """The relative difference of the two scores."""
        largest = max(map(abs, self.scores))
        return (max(self.scores) - min(self.scores)) / largest if largest else 0.0

    @property
    def looks_minimized(self) -> bool:
        """Whether its unit or name say that less is better."""
        if _RATE.search(self.name):
            return False
        return self.looks_timed or _SMALLER.search(self.name) is not None

    @property
    def looks_timed(self) -> bool:
        """Whether its unit or name say that it is a time or a rate, which two evaluations at once distort."""
        return bool(self.unit) or bool(_TIME.search(self.name) or _RATE.search(self.name))

    @property
    def checkable(self) -> bool:
        """Whether something beside the score shows that a program still does what it did."""
        return bool(self.calls or self.values or self.lines)

    def rules(self, *, minimize: bool, goal: float | None, timed: bool) -> ScoringRules:
        """How to score programs, by what the runs showed."""
        seconds = max(self.seconds)
        wall = float(max(MIN_WALL_SECONDS, math.ceil(SLOWER * seconds)))
        cores = len(os.sched_getaffinity(0))
        return ScoringRules(
            objective=objective_name(self.name),
            minimize=minimize,
            goal=goal,
            limits=_limits(wall, wall * min(cores, 4)),
            repeats=1 if self.noise < NOISY else 3 if self.noise < VERY_NOISY else 5,
            slots=1 if timed or self.looks_timed else 0,
            calls=self.calls,
            values=self.values,
            lines=self.lines,
        )


async def observe(command: CommandProblem, evaluators: EvaluatorFactory) -> Observation:
    """Run the seed of a command twice, each time in the sandbox.

    Args:
        command: the command.
        evaluators: of this process.

    Raises:
        InvalidProblemError: it fails, or prints no score.
        RefusedError: the machine does not offer the isolation that is required.
    """
    with tempfile.TemporaryDirectory(prefix="evolve-") as folder:
        write_command_problem(
            Path(folder) / "problem", command, ScoringRules(observe=True, limits=_limits(FIRST_SECONDS, FIRST_SECONDS))
        )
        loaded = load_problem(Path(folder) / "problem")
        request = EvaluatorRequest(problem=loaded.problem, bundle=loaded.bundle, source=loaded.place, slots=1)
        async with evaluators.open(request) as opened:
            program, found = loaded.problem.seeds[0], []
            for _ in range(RUNS):
                evaluation = await opened.evaluator.evaluate(program, "first-run", ScoringRequest(traced=True))
                if not evaluation.ok:
                    raise InvalidProblemError([_failure(evaluation)])
                found.append(evaluation)
    return _compared(found, command)


def _limits(wall_seconds: float, cpu_seconds: float) -> Limits:
    return Limits(
        wall_seconds=wall_seconds,
        cpu_seconds=cpu_seconds,
        memory_mb=_MEMORY_MB,
        processes=_PROCESSES,
        disk_mb=_DISK_MB,
        output_kb=_OUTPUT_KB,
    )


def _failure(evaluation: Evaluation) -> str:
    return f"the command gives no score for the program as it is ({evaluation.outcome}): {evaluation.reason}"


def _compared(runs: Sequence[Evaluation], command: CommandProblem) -> Observation:
    told = [
        {name: json.loads(text) for name, text in (run.trace.artifacts if run.trace else {}).items()} for run in runs
    ]
    first, second = told[0], told[-1]
    score = first["score"]
    source = "\n".join(command.sources.values())
    return Observation(
        name=command.metric or score["name"],
        unit=score["unit"],
        form=score["form"],
        scores=tuple(entry["score"]["value"] for entry in told),
        seconds=tuple(run.seconds for run in runs),
        calls=_steady(first["calls"], second["calls"]),
        values={key: value for key, value in first["beside"].items() if second["beside"].get(key) == value},
        lines=tuple(
            line for line in first["lines"] if line in second["lines"] and re.search(r"\d", line) and line not in source
        ),
    )


def _steady(first: Sequence[Any], second: Sequence[Any]) -> tuple[Any, ...]:
    """Calls that were equal in both runs, up to the first that was not; none where no result of them shows anything."""
    steady = []
    for one, other in zip(first, second, strict=False):
        if one[0] != other[0] or not (equal(one[1], other[1]) and equal(one[2], other[2])):
            break
        steady.append(one)
    return tuple(steady) if any(call[3] for call in steady) else ()
