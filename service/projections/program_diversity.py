"""How unlike the programs of a run are: mean distances of their tokens, and of their syntax trees."""

from itertools import combinations

import numpy as np

from evolve.program import Program
from evolve.similarity.similarity import distance, runs
from service.ports import RunReader
from service.projections.columns import Columns
from service.schemas.statistics import ProgramDiversity

MAX_PROGRAMS = 100
DRAWN_WITH = 0
_PYTHON = (".py", ".pyi")


def program_diversity(reader: RunReader, columns: Columns) -> ProgramDiversity:
    """Over the pairs of valid programs, of at most `MAX_PROGRAMS` of them, drawn always alike."""
    valid = np.flatnonzero(~np.isnan(columns.fitness))
    if len(valid) > MAX_PROGRAMS:
        valid = np.sort(np.random.default_rng(DRAWN_WITH).choice(valid, MAX_PROGRAMS, replace=False))
    programs = list(reader.programs([columns.ids[place] for place in valid]).values())
    python = [program for program in programs if any(path.endswith(_PYTHON) for path, _ in program.files)]
    return ProgramDiversity(
        sampled=len(programs),
        tokens=_mean_distance(programs, "tokens"),
        tree=_mean_distance(python, "syntax") if len(python) == len(programs) else None,
    )


def _mean_distance(programs: list[Program], kind: str) -> float | None:
    """Jaccard distance of runs of three words; None where there is no pair."""
    words = [runs(program, kind, "python") for program in programs]
    found = [distance(one, other) for one, other in combinations(words, 2)]
    return float(np.mean(found)) if found else None
