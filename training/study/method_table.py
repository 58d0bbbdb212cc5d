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
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evolve.domains.maze import mazes
from evolve.errors import ConfigurationError
from evolve.multiobjective.scalarization import Floats
from training.study import intervals
from training.study.finished_trainings import AnsweringScope, answer_all, find_trainings
from training.study.markdown import cell, signed, table
from training.study.training_arms import ARMS, ORDER, Tables, TableScope, TrainingArm, recipe_of

FIGURES = ("best@1", "best@4", "best@16", "best@64", "ew@4", "ew@64", "volume", "diversity")
COMPARED = ("best@4", "best@64", "ew@64", "diversity")
# Options that one part of the command reads.
REPORTED = ("keep", "against")
TRAINED = ("seeds", "steps", "mazes")
SCOPED = ("temperatures", "first", "validated", "batch", "device")
ANSWERED = (*SCOPED, "workers", "everywhere")


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
        if TrainingArm.of(arm).method in ORDER:
            paths.setdefault(arm, {})[int(seed)] = path
    return {
        arm: {seed: json.loads(path.read_text(encoding="utf-8")) for seed, path in sorted(paths[arm].items())}
        for arm in sorted(paths, key=_place)
    }


def _place(arm: str) -> tuple[int, TrainingArm]:
    return ORDER.index(TrainingArm.of(arm).method), TrainingArm.of(arm)


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
    """Measure what is not measured yet, seed by seed, let finished trainings answer, or print the report."""
    parser = _parser()
    told = parser.parse_args()
    try:
        _check(told)
        if told.report:
            found = read_tables(told.output)
            if told.keep is not None:
                keep_tables(found, told.keep)
            sys.stdout.write(report(found, *_given(told, ["against"]).values()) + "\n")
        elif told.trainings is not None:
            _answer(told)
        else:
            _train(told)
    except ConfigurationError as error:
        parser.error(str(error))


def _train(told: argparse.Namespace) -> None:
    import torch

    torch.set_num_threads(1)
    told.output.mkdir(parents=True, exist_ok=True)
    scope = TableScope(tested=told.tested, kind=told.kind, **_given(told, TRAINED))
    for seed in range(scope.seeds):
        for method in _methods(told):
            if TrainingArm.of(method).method != "base" or seed == 0:
                measure_method(method, seed, scope, told.base, told.output)
                _say(f"{method}, seed {seed}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Compare every training method on mazes.")
    parser.add_argument("--base", type=Path, default=Path("models/maze-base"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--report", action="store_true", help="print the tables of what was measured")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="with --report: write the figures as one file")
    parser.add_argument("--against", metavar="ARM", help="with --report: whom all are compared with, otherwise vpo")
    parser.add_argument("--methods", help=f"of {','.join(ARMS)}")
    parser.add_argument("--tested", type=int, default=TableScope().tested)
    for name in TRAINED:
        parser.add_argument(f"--{name}", type=int, help=f"of new trainings, otherwise {getattr(TableScope(), name)}")
    parser.add_argument("--kind", choices=("small", "hard"), default=TableScope().kind)
    finished = parser.add_argument_group("finished trainings")
    finished.add_argument("--trainings", type=Path, metavar="FOLDER", help="of finished trainings, which answer again")
    known = AnsweringScope()
    finished.add_argument("--temperatures", type=_numbers, help="to choose from, otherwise 0.7,1,1.3,1.6,2")
    for name in ("first", "validated", "batch"):
        finished.add_argument(f"--{name}", type=int, help=f"otherwise {getattr(known, name)}")
    finished.add_argument("--device", help="cpu, or cuda where torch finds one")
    finished.add_argument("--workers", type=int, help="processes that answer beside each other, otherwise 1")
    finished.add_argument("--everywhere", action="store_true", default=None, help="at every temperature")
    return parser


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(each) for each in text.split(","))


def _given(told: argparse.Namespace, names: Sequence[str]) -> dict[str, Any]:
    """The options among some that the command line names."""
    return {name: value for name in names if (value := getattr(told, name)) is not None}


def _methods(told: argparse.Namespace) -> list[str]:
    return list(ARMS) if told.methods is None else told.methods.split(",")


def _check(told: argparse.Namespace) -> None:
    """Refuse what the command would not read.

    Raises:
        ConfigurationError: an option is of another part of this command, or a method is unknown.
    """
    for names, right, when in (
        (REPORTED, told.report, "with --report"),
        (("trainings",), not told.report, "without --report"),
        (ANSWERED, told.trainings is not None, "with --trainings"),
        (TRAINED, told.trainings is None and not told.report, "without --trainings and --report"),
    ):
        for name in () if right else _given(told, names):
            raise ConfigurationError(f"--{name} has an effect only {when}")
    for method in _methods(told):
        if TrainingArm.of(method).method not in ORDER:
            raise ConfigurationError(f"no method is called {method[:80]!r}: choose from {', '.join(ORDER)}")


def _answer(told: argparse.Namespace) -> None:
    import torch

    device = told.device or AnsweringScope().device
    if device != "cpu" and not torch.cuda.is_available():
        raise ConfigurationError(
            f"torch sees no device {device!r} here: choose cpu, or install a build of torch for your GPU"
        )
    scope = AnsweringScope(kind=told.kind, tested=told.tested, **_given(told, SCOPED))
    wanted = _methods(told)
    base = told.base if "base" in wanted else None
    trainings = [one for one in find_trainings(told.trainings, base) if one.arm in wanted]
    absent = {*wanted} - {one.arm for one in trainings} if told.methods is not None else set()
    if absent:
        raise ConfigurationError(f"{told.trainings} holds no training of {', '.join(sorted(absent))}")
    answer_all(trainings, scope, told.output, report=_say, **_given(told, ("everywhere", "workers")))


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
