"""The method table: every training method from one warm start, at equal answers and equal k, on one kind of mazes.

    python -m training.study.method_table --base models/maze-base -o method-table

Each training and its answers to test mazes are one file, so an interrupted comparison continues. `--report` prints the
tables of the files that there are.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evolve.domains.maze import mazes
from evolve.multiobjective.scalarization import Floats
from evolve.vpo import METHODS
from training.recipe import Recipe, reinforcement_of
from training.study import intervals
from training.study.markdown import cell, signed, table

K = 4  # answers that the methods take the best of, in a chain or among single answers
ARMS = (
    "base", "grpo", "gdpo", "maxrl", "random_weighting", "goal_conditioned", "vpo_single", "max_at_k",
    "max_at_k_centred", "vector_max_at_k", "multi_rlvr", "vpo", "vpo_marginal",
)  # fmt: skip
FIGURES = ("best@1", "best@4", "best@16", "best@64", "ew@4", "ew@64", "volume", "diversity")
COMPARED = ("best@4", "best@64", "ew@64", "diversity")


@dataclass(frozen=True, slots=True, kw_only=True)
class TableScope:
    """The size of the comparison: training seeds, steps and their mazes, the learning rate, and test mazes."""

    seeds: int = 5
    steps: int = 60
    mazes: int = 6
    rate: float = 5e-4
    tested: int = 60
    answers: int = 64
    kind: str = "small"


def recipe_of(method: str, seed: int, scope: TableScope) -> Recipe:
    """The recipe of a training."""
    settings = reinforcement_of(method)
    k = K if method in METHODS and METHODS[method].subsets else None
    settings = replace(settings, k=k, steps=scope.steps, mazes=scope.mazes, rate=scope.rate, parents=())
    return Recipe(seed=seed, kinds=(scope.kind,), reinforcement=settings)


def measure_method(method: str, seed: int, scope: TableScope, base: Path, folder: Path) -> None:
    """Train a method from the base with a seed, answer the test mazes, and keep the figures of each maze."""
    path = folder / f"{method}-s{seed}.json"
    if path.exists():
        return
    from training.evaluation import figures_of_mazes
    from training.maze import RunFolder, base_of, reinforce

    recipe = recipe_of(method, seed, scope)
    weights = base_of(base, recipe)
    if method != "base":
        place = RunFolder(folder=folder / "trainings" / path.stem, save_every=scope.steps)
        weights = reinforce(recipe, weights, place, lambda _: None)
    settings = replace(recipe.reinforcement, answers=scope.answers)
    asked = mazes(scope.kind, "test", scope.tested)
    found = figures_of_mazes(weights, recipe.shape, asked, settings, seed=seed, goals=settings.goals)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(found), encoding="utf-8")
    unfinished.replace(path)


def read_tables(folder: Path) -> dict[str, dict[int, list[dict[str, float]]]]:
    """The figures by method and seed, methods in the order of the table."""
    found: dict[str, dict[int, list[dict[str, float]]]] = {}
    for method in ARMS:
        paths = {int(path.stem.rpartition("-s")[2]): path for path in folder.glob(f"{method}-s*.json")}
        if paths:
            found[method] = {seed: json.loads(path.read_text(encoding="utf-8")) for seed, path in sorted(paths.items())}
    return found


def report(
    found: Mapping[str, Mapping[int, Sequence[Mapping[str, float]]]],
    against: str = "vpo",
    figures: Sequence[str] = FIGURES,
    compared: Sequence[str] = COMPARED,
) -> str:
    """The table of means, and the differences to a method, paired by training seed and problem."""
    rows = [
        [title(method), str(len(seeds)), *(cell(intervals.mean(cells(seeds, figure))) for figure in figures)]
        for method, seeds in found.items()
    ]
    text = table(["method", "seeds", *figures], rows)
    if against not in found:
        return text
    apart = []
    for method, seeds in found.items():
        both = sorted(set(seeds) & set(found[against]))
        if method in (against, "base") or not both:
            continue
        pairs = [({seed: of[seed] for seed in both}) for of in (seeds, found[against])]
        differences = [intervals.difference(*(cells(side, figure) for side in pairs)) for figure in compared]
        apart.append([title(method), str(len(both)), *(signed(each) if len(both) > 1 else "–" for each in differences)])
    return f"{text}\n\n{table([f'minus {title(against)}', 'seeds', *compared], apart)}"


def cells(seeds: Mapping[int, Sequence[Mapping[str, float]]], figure: str) -> Floats:
    """A figure by training seed and problem, (seeds, problems)."""
    return np.array([[maze[figure] for maze in found] for found in seeds.values()])


def title(method: str) -> str:
    """The name of a method in tables, with k where it counts."""
    if method == "base":
        return "warm start"
    known = METHODS[method]
    return f"{known.title}, k = {K}" if known.subsets else known.title


def main() -> None:
    """Measure what is not measured yet, seed by seed, or print the report."""
    parser = argparse.ArgumentParser(description="Compare every training method on mazes.")
    parser.add_argument("--base", type=Path, default=Path("models/maze-base"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--methods", default=",".join(ARMS))
    for name in ("seeds", "steps", "mazes", "tested"):
        parser.add_argument(f"--{name}", type=int, default=getattr(TableScope(), name))
    parser.add_argument("--kind", choices=("small", "hard"), default=TableScope().kind)
    told = parser.parse_args()
    if told.report:
        sys.stdout.write(report(read_tables(told.output)) + "\n")
        return
    import torch

    torch.set_num_threads(1)
    told.output.mkdir(parents=True, exist_ok=True)
    scope = TableScope(seeds=told.seeds, steps=told.steps, mazes=told.mazes, tested=told.tested, kind=told.kind)
    for seed in range(scope.seeds):
        for method in told.methods.split(","):
            if method != "base" or seed == 0:
                measure_method(method, seed, scope, told.base, told.output)
                sys.stdout.write(f"{method}, seed {seed}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
