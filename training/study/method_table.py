"""The method table: every training method from one warm start, at equal answers and equal k, on one kind of mazes.

    python -m training.study.method_table --base models/maze-base -o method-table

Each training and its answers to test mazes are one file, so an interrupted comparison continues. `--report` prints the
tables of the files that there are. `--methods max_at_k@16,vpo@8` trains for other sets than those of 4.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from evolve.domains.maze import mazes
from evolve.errors import ConfigurationError
from evolve.multiobjective.scalarization import Floats
from evolve.vpo import METHODS
from training.recipe import Recipe, WarmStart, chain_lengths, reinforcement_of
from training.study import intervals
from training.study.markdown import cell, signed, table

K = 4  # answers that the methods take the best of, in a chain or among single answers, unless an arm says another
ARMS = (
    "base", "grpo", "gdpo", "maxrl", "random_weighting", "goal_conditioned", "vpo_single", "max_at_k",
    "max_at_k_centred", "vector_max_at_k", "multi_rlvr", "vpo", "vpo_marginal",
)  # fmt: skip
FIGURES = ("best@1", "best@4", "best@16", "best@64", "ew@4", "ew@64", "volume", "diversity")
COMPARED = ("best@4", "best@64", "ew@64", "diversity")
Tables = dict[str, dict[int, list[dict[str, float]]]]  # figures of each maze, by arm and seed


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


def method_and_k(arm: str) -> tuple[str, int]:
    """The method of an arm, `NAME` or `NAME@K`, and the size of the sets that it trains for.

    Raises:
        ConfigurationError: the size is not a number.
    """
    method, _, size = arm.partition("@")
    try:
        return method, int(size or K)
    except ValueError as error:
        raise ConfigurationError(f"{arm[:80]!r} is no method with a size: write it as max_at_k@16.") from error


def recipe_of(arm: str, seed: int, scope: TableScope) -> Recipe:
    """The recipe of a training: sets of k are chains of k, or subsets of single answers."""
    method, size = method_and_k(arm)
    settings = reinforcement_of(method)
    known = METHODS.get(method)
    m = size if known is not None and known.chains else settings.m
    k = size if known is not None and known.subsets else None
    settings = replace(settings, m=m, k=k, steps=scope.steps, mazes=scope.mazes, rate=scope.rate, parents=())
    warm = WarmStart(taught=chain_lengths(m))
    return Recipe(seed=seed, kinds=(scope.kind,), warm_start=warm, reinforcement=settings)


def measure_method(arm: str, seed: int, scope: TableScope, base: Path, folder: Path) -> None:
    """Train a method from the base with a seed, answer the test mazes, and keep the figures of each maze."""
    path = folder / f"{arm}-s{seed}.json"
    if path.exists():
        return
    from training.evaluation import figures_of_mazes
    from training.maze import RunFolder, base_of, recipe_on, reinforce

    recipe = recipe_on(base, recipe_of(arm, seed, scope))
    weights = base_of(base, recipe)
    if arm != "base":
        place = RunFolder(folder=folder / "trainings" / path.stem, save_every=scope.steps)
        weights = reinforce(recipe, weights, place, lambda _: None)
    settings = replace(recipe.reinforcement, answers=scope.answers)
    asked = mazes(scope.kind, "test", scope.tested)
    found = figures_of_mazes(weights, recipe.shape, asked, settings, seed=seed, goals=settings.goals)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(found), encoding="utf-8")
    unfinished.replace(path)


def read_tables(folder: Path) -> Tables:
    """The figures by arm and seed, methods in the order of the table, and the sizes of a method in theirs.

    Args:
        folder: of a comparison, or a file that `keep_tables` wrote.
    """
    if folder.is_file():
        kept = json.loads(folder.read_text(encoding="utf-8"))
        return {
            arm: {
                int(seed): [dict(zip(columns, maze, strict=True)) for maze in zip(*columns.values(), strict=True)]
                for seed, columns in seeds.items()
            }
            for arm, seeds in kept.items()
        }
    paths: dict[str, dict[int, Path]] = {}
    for path in folder.glob("*-s*.json"):
        arm, _, seed = path.stem.rpartition("-s")
        if arm.partition("@")[0] in ARMS:
            paths.setdefault(arm, {})[int(seed)] = path
    return {
        arm: {seed: json.loads(path.read_text(encoding="utf-8")) for seed, path in sorted(paths[arm].items())}
        for arm in sorted(paths, key=lambda arm: (ARMS.index(method_and_k(arm)[0]), method_and_k(arm)[1]))
    }


def keep_tables(found: Tables, path: Path, figures: Sequence[str] = FIGURES) -> None:
    """Write what the report needs as one small file: the figures of each maze in columns, to four digits."""
    kept = {
        arm: {
            seed: {figure: [round(maze[figure], 4) for maze in mazes] for figure in figures}
            for seed, mazes in seeds.items()
        }
        for arm, seeds in found.items()
    }
    path.write_text(json.dumps(kept, separators=(",", ":")) + "\n", encoding="utf-8")


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


def title(arm: str) -> str:
    """The name of an arm in tables, with k where it counts."""
    method, size = method_and_k(arm)
    if method == "base":
        return "warm start"
    known = METHODS[method]
    chains = f", chains of {size}" if known.chains and size != K else ""
    return f"{known.title}, k = {size}{chains}" if known.subsets else f"{known.title}{chains}"


def main() -> None:
    """Measure what is not measured yet, seed by seed, or print the report."""
    parser = argparse.ArgumentParser(description="Compare every training method on mazes.")
    parser.add_argument("--base", type=Path, default=Path("models/maze-base"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--report", action="store_true", help="print the tables of what was measured")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="with --report: write the figures as one file")
    parser.add_argument("--methods", default=",".join(ARMS))
    for name in ("seeds", "steps", "mazes", "tested"):
        parser.add_argument(f"--{name}", type=int, default=getattr(TableScope(), name))
    parser.add_argument("--kind", choices=("small", "hard"), default=TableScope().kind)
    told = parser.parse_args()
    if told.report:
        found = read_tables(told.output)
        if told.keep is not None:
            keep_tables(found, told.keep)
        sys.stdout.write(report(found) + "\n")
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
