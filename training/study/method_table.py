"""The method table: every training method from one warm start, at equal answers and equal k, on one kind of mazes.

    python -m training.study.method_table --base models/maze-base -o method-table

Each training and its answers to test mazes are one file, so an interrupted comparison continues. `--report` prints the
tables of the files that there are. `--methods max_at_k@16,vpo@8` trains for other sets than those of 4, and
`vpo~0.25` under weights of another concentration than 1.
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
from evolve.vpo.weights import CONCENTRATED
from training.recipe import Recipe, WarmStart, chain_lengths, reinforcement_of
from training.study import intervals
from training.study.markdown import cell, signed, table

K = 4  # answers that the methods take the best of, in a chain or among single answers, unless an arm says another
ARMS = (
    "base", "grpo", "gdpo", "maxrl", "random_weighting", "goal_conditioned", "vpo_single", "max_at_k",
    "max_at_k_centred", "vector_max_at_k", "multi_rlvr", "vpo", "vpo_marginal",
)  # fmt: skip
_ORDER = (*ARMS[:-2], "multi_rlvr_best", *ARMS[-2:])  # of the rows of tables
EQUAL = "equal"  # a concentration at which all weights are equal
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


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TrainingArm:
    """What is compared: a method, the size of the sets that it trains for, and the concentration of its weights."""

    method: str
    k: int = K
    alpha: float = 1.0

    @classmethod
    def of(cls, text: str) -> "TrainingArm":
        """The arm that is written `METHOD`, `METHOD@K`, `METHOD~ALPHA` or `METHOD@K~ALPHA`; `~equal`: equal weights.

        Raises:
            ConfigurationError: a size or a concentration is no number.
        """
        name, _, alpha = text.partition("~")
        method, _, size = name.partition("@")
        try:
            concentration = CONCENTRATED if alpha == EQUAL else float(alpha or 1)
            return cls(method=method, k=int(size or K), alpha=concentration)
        except ValueError as error:
            raise ConfigurationError(
                f"{text[:80]!r} is no method with a size or a concentration: write it as max_at_k@16 or vpo~0.25."
            ) from error

    @property
    def title(self) -> str:
        """Its name in tables, with what counts for it."""
        if self.method == "base":
            return "warm start" if self.k == K else f"warm start, chains of {self.k}"
        known = METHODS[self.method]
        parts = [known.title]
        parts += [f"k = {self.k}"] if known.subsets else []
        parts += [f"chains of {self.k}"] if known.chains and self.k != K else []
        weights = "equal weights" if self.alpha == CONCENTRATED else f"alpha = {self.alpha:g}"
        return ", ".join([*parts, weights] if self.alpha != 1 else parts)


def recipe_of(arm: str, seed: int, scope: TableScope) -> Recipe:
    """The recipe of a training: sets of k are chains of k, or subsets of single answers."""
    wanted = TrainingArm.of(arm)
    settings = reinforcement_of(wanted.method, wanted.k)
    known, m = METHODS.get(wanted.method), settings.m
    k = wanted.k if known is not None and known.subsets else None
    settings = replace(
        settings, k=k, alpha=wanted.alpha, steps=scope.steps, mazes=scope.mazes, rate=scope.rate, parents=()
    )
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
    if TrainingArm.of(arm).method != "base":
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
        if TrainingArm.of(arm).method in _ORDER:
            paths.setdefault(arm, {})[int(seed)] = path
    return {
        arm: {seed: json.loads(path.read_text(encoding="utf-8")) for seed, path in sorted(paths[arm].items())}
        for arm in sorted(paths, key=_place)
    }


def _place(arm: str) -> tuple[int, TrainingArm]:
    return _ORDER.index(TrainingArm.of(arm).method), TrainingArm.of(arm)


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
        if method == against or TrainingArm.of(method).method == "base" or not both:
            continue
        pairs = [({seed: of[seed] for seed in both}) for of in (seeds, found[against])]
        differences = [intervals.difference(*(cells(side, figure) for side in pairs)) for figure in compared]
        apart.append([title(method), str(len(both)), *(signed(each) if len(both) > 1 else "–" for each in differences)])
    return f"{text}\n\n{table([f'minus {title(against)}', 'seeds', *compared], apart)}"


def cells(seeds: Mapping[int, Sequence[Mapping[str, float]]], figure: str) -> Floats:
    """A figure by training seed and problem, (seeds, problems)."""
    return np.array([[maze[figure] for maze in found] for found in seeds.values()])


def title(arm: str) -> str:
    """The name of an arm in tables."""
    return TrainingArm.of(arm).title


def main() -> None:
    """Measure what is not measured yet, seed by seed, or print the report."""
    parser = argparse.ArgumentParser(description="Compare every training method on mazes.")
    parser.add_argument("--base", type=Path, default=Path("models/maze-base"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--report", action="store_true", help="print the tables of what was measured")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="with --report: write the figures as one file")
    parser.add_argument("--against", default="vpo", metavar="ARM", help="with --report: whom all are compared with")
    parser.add_argument("--methods", default=",".join(ARMS))
    for name in ("seeds", "steps", "mazes", "tested"):
        parser.add_argument(f"--{name}", type=int, default=getattr(TableScope(), name))
    parser.add_argument("--kind", choices=("small", "hard"), default=TableScope().kind)
    told = parser.parse_args()
    if told.report:
        found = read_tables(told.output)
        if told.keep is not None:
            keep_tables(found, told.keep)
        sys.stdout.write(report(found, told.against) + "\n")
        return
    import torch

    torch.set_num_threads(1)
    told.output.mkdir(parents=True, exist_ok=True)
    scope = TableScope(seeds=told.seeds, steps=told.steps, mazes=told.mazes, tested=told.tested, kind=told.kind)
    for seed in range(scope.seeds):
        for method in told.methods.split(","):
            if TrainingArm.of(method).method != "base" or seed == 0:
                measure_method(method, seed, scope, told.base, told.output)
                sys.stdout.write(f"{method}, seed {seed}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
