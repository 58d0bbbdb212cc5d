"""Advice on a problem that can be searched on: limit of time, modules to import once, duration of a run."""

import math
from collections.abc import Sequence

from evolve.evaluation import Evaluation
from evolve.problem import Limits

# A program may be so much slower than the seed before its time is up.
SLOWER = 10
MIN_WALL_SECONDS = 1
DEFAULT_EVALUATIONS = 1000
# Imports that take less of an evaluation, or of a second, are left where they are.
MIN_IMPORT_SHARE, MIN_IMPORT_SECONDS = 0.2, 0.02
# A module that takes less of all imports is not named.
MIN_MODULE_SHARE = 0.1


def advise_limit(seconds: Sequence[float], limits: Limits) -> str:
    """A sentence with a better time limit for the seeds. Empty: the present limit suits them.

    Args:
        seconds: time of each seed.
        limits: of the problem.
    """
    slowest, limit = max(seconds, default=0.0), limits.wall_seconds
    if not slowest:
        return ""
    better = max(MIN_WALL_SECONDS, math.ceil(SLOWER * slowest))
    if 2 * better <= limit:
        return (
            f"the slowest seed takes {slowest:.2g} s, and limits.wall_seconds is {limit:g}: with {better}, programs"
            " that hang cost less time"
        )
    if 2 * slowest > limit:
        return (
            f"the slowest seed takes {slowest:.2g} s of limits.wall_seconds = {limit:g}: slower programs are cut off,"
            f" raise it to {better}"
        )
    return ""


def advise_preload(seeds: Sequence[Evaluation], preload: Sequence[str]) -> str:
    """A sentence with the modules that the warm process should import. Empty: imports take little of the time.

    Args:
        seeds: successful evaluations, with the times of their imports.
        preload: modules that it already imports.
    """
    traced = [(seed.seconds / max(1, seed.repeats), seed.trace.imports) for seed in seeds if seed.trace]
    seconds, imports = max(traced, key=lambda one: sum(one[1].values()), default=(0.0, {}))
    total = sum(imports.values())
    if total < max(MIN_IMPORT_SECONDS, MIN_IMPORT_SHARE * seconds):
        return ""
    named = sorted((name for name in imports if imports[name] >= MIN_MODULE_SHARE * total), key=lambda n: -imports[n])
    if not named:
        return ""
    took = ", ".join(f"{name} {imports[name]:.2g} s" for name in named)
    key = ", ".join(f'"{name}"' for name in [*preload, *named])
    return (
        f"importing takes {total:.2g} s of the {seconds:.2g} s of an evaluation ({took}):"
        f" the key evaluator.preload with [{key}] imports them once"
    )


def expected_seconds(seconds: Sequence[float], evaluations: int, slots: int) -> float:
    """How long the evaluations of a run take, if its programs are as fast as the seeds.

    Args:
        seconds: that each seed took.
        evaluations: of the run.
        slots: evaluations at once.
    """
    return sum(seconds) / max(1, len(seconds)) * math.ceil(evaluations / max(1, slots))
