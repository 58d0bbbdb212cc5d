"""Finished trainings of the method table: their answers to further mazes, at each method's own temperature.

Each method's own temperature is chosen on validation mazes, over all of its trainings, and without a test maze. A
folder holds answers to one choice of mazes, which its `scope.json` names, and another choice is refused.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evolve.domains.maze import maze_of
from evolve.errors import ConfigurationError
from training.study.training_arms import ORDER, Tables, TableScope, TrainingArm, recipe_of

if TYPE_CHECKING:
    from evolve.domains.maze import Maze
    from evolve.multiobjective.scalarization import Floats
    from training.llama import Weights
    from training.recipe import Recipe, Shape

PLAIN = 1.0  # the temperature at which all methods are compared besides their own
VALIDATION, TEST = "validation", "test"
SCOPE = "scope.json"
Validated = dict[str, dict[int, dict[float, float]]]  # mean best of all answers, by arm, seed and temperature


@dataclass(frozen=True, slots=True, kw_only=True)
class AnsweringScope:
    """Which mazes finished trainings answer, and how.

    Attributes:
        first: number of the first test maze. Those before it were answered by an earlier comparison.
        validated: validation mazes that temperatures are chosen on.
        batch: mazes that are answered at once.
    """

    kind: str = "hard"
    first: int = 100
    tested: int = 200
    validated: int = 60
    answers: int = 64
    temperatures: tuple[float, ...] = (0.7, 1.0, 1.3, 1.6, 2.0)
    device: str = "cpu"
    batch: int = 16

    def mazes(self, split: str) -> "list[Maze]":
        """The mazes of a split that are answered."""
        first, count = (self.first, self.tested) if split == TEST else (0, self.validated)
        return [maze_of(self.kind, split, number) for number in range(first, first + count)]

    @property
    def asked(self) -> dict[str, str | int]:
        """What all answers of a folder have in common. Their temperature is in the names of its files."""
        names = ("kind", "first", "tested", "validated", "answers")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedTraining:
    """A training whose policy is kept in a folder: a model folder, or the training's folder with its checkpoints."""

    arm: str
    seed: int
    folder: Path

    @property
    def name(self) -> str:
        """Of its files."""
        return f"{self.arm}-s{self.seed}"

    def recipe(self, kind: str) -> "Recipe":
        """Its recipe, as far as answers depend on it."""
        return recipe_of(self.arm, self.seed, TableScope(kind=kind))

    def policy(self) -> "tuple[Weights, Shape]":
        """Its weights and their shape.

        Raises:
            ModelError: the model folder cannot be read.
            ConfigurationError: the folder holds no model and no checkpoint.
        """
        from training.checkpoints import Checkpoints
        from training.export import WEIGHTS, read_model
        from training.maze import REINFORCE
        from training.recipe import Shape

        if (self.folder / WEIGHTS).is_file():
            return read_model(self.folder)
        newest = Checkpoints(self.folder / "checkpoints").newest(REINFORCE, print)
        if newest is None:
            raise ConfigurationError(f"{self.folder} holds no model folder and no checkpoint: train it first")
        return newest.weights, Shape(**newest.recipe["shape"])


def find_trainings(folder: Path, base: Path | None = None) -> list[FinishedTraining]:
    """The trainings in the folder `trainings` of a comparison, in the order of its table, and the base before them.

    Raises:
        ConfigurationError: there is none.
    """
    found = [] if base is None else [FinishedTraining(arm="base", seed=0, folder=base)]
    for path in folder.glob("*-s*"):
        arm, _, seed = path.name.rpartition("-s")
        if TrainingArm.of(arm).method in ORDER and seed.isdigit():
            found.append(FinishedTraining(arm=arm, seed=int(seed), folder=path))
    if len(found) == (base is not None):
        raise ConfigurationError(f"{folder} holds no training: name the folder `trainings` of a comparison")
    return sorted(found, key=lambda one: (ORDER.index(TrainingArm.of(one.arm).method), one.arm, one.seed))


def validate(training: FinishedTraining, scope: AnsweringScope, folder: Path) -> None:
    """Keep the mean best of a training's answers to validation mazes at each temperature that is not known yet."""
    path = folder / VALIDATION / f"{training.name}.json"
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    missing = [temperature for temperature in scope.temperatures if f"{temperature:g}" not in known]
    if not missing:
        return
    for temperature, rewards in _answers(training, scope, VALIDATION, missing):
        known[f"{temperature:g}"] = float(rewards.mean(axis=2).max(axis=1).mean())
    _write(path, known)


def answer_tests(
    training: FinishedTraining, scope: AnsweringScope, temperatures: Iterable[float], folder: Path
) -> None:
    """Keep the figures of a training's answers to each test maze at the temperatures that are not known yet."""
    from training.measures import measure

    paths = {
        temperature: figures_path(folder, training.arm, training.seed, temperature) for temperature in temperatures
    }
    missing = [temperature for temperature, path in paths.items() if not path.exists()]
    asked = scope.mazes(TEST) if missing else []
    for temperature, rewards in _answers(training, scope, TEST, missing):
        _write(paths[temperature], [measure(maze, own) for maze, own in zip(asked, rewards, strict=True)])


def figures_path(folder: Path, arm: str, seed: int, temperature: float) -> Path:
    """Where the figures of a training's answers to test mazes are."""
    return folder / TEST / f"{temperature:g}" / f"{arm}-s{seed}.json"


def _answers(
    training: FinishedTraining, scope: AnsweringScope, split: str, temperatures: Sequence[float]
) -> "Iterable[tuple[float, Floats]]":
    """The rewards (mazes, answers, 4) at each temperature."""
    if not temperatures:
        return
    from training.evaluation import rewards_of_mazes

    learnt, asked = training.recipe(scope.kind).reinforcement, scope.mazes(split)
    kept, shape = training.policy()
    weights = {name: weight.detach().to(scope.device) for name, weight in kept.items()}
    goals = training.arm != "base" and learnt.goals
    for temperature in temperatures:
        settings = replace(learnt, answers=scope.answers, temperature=temperature)
        found = rewards_of_mazes(weights, shape, asked, settings, seed=training.seed, goals=goals, batch=scope.batch)
        yield temperature, found


def own_temperatures(validated: Validated) -> dict[str, float]:
    """Each method's own temperature: that of the highest mean best over its trainings, of equals the nearest to 1.

    Raises:
        ConfigurationError: trainings of a method were validated at different temperatures.
    """
    chosen = {}
    for arm, seeds in validated.items():
        tried = {frozenset(found) for found in seeds.values()}
        if len(tried) > 1:
            raise ConfigurationError(f"trainings of {arm} were validated at different temperatures: run the same again")
        means = {t: float(np.mean([found[t] for found in seeds.values()])) for t in sorted(next(iter(tried)))}
        chosen[arm] = max(means, key=lambda t: (means[t], -abs(t - PLAIN)))
    return chosen


def read_validated(folder: Path) -> Validated:
    """What `validate` kept in a folder, or `keep_validated` in a file, methods in the order of the table."""
    if folder.is_file():
        kept = json.loads(folder.read_text(encoding="utf-8"))
    else:
        kept = {}
        for path in (folder / VALIDATION).glob("*-s*.json"):
            arm, _, seed = path.stem.rpartition("-s")
            kept.setdefault(arm, {})[seed] = json.loads(path.read_text(encoding="utf-8"))
    return {
        arm: {
            int(seed): {float(t): best for t, best in found.items()}
            for seed, found in sorted(kept[arm].items(), key=lambda one: int(one[0]))
        }
        for arm in sorted(kept, key=lambda arm: (ORDER.index(TrainingArm.of(arm).method), arm))
    }


def tables_at(folder: Path, temperatures: Mapping[str, float]) -> Tables:
    """The figures of the answers to test mazes, by arm and seed, each arm at its temperature."""
    found: Tables = {}
    for arm, temperature in temperatures.items():
        place = figures_path(folder, arm, 0, temperature).parent
        seeds = sorted(int(path.stem.rpartition("-s")[2]) for path in place.glob(f"{arm}-s*.json"))
        paths = {seed: figures_path(folder, arm, seed, temperature) for seed in seeds}
        found[arm] = {seed: json.loads(path.read_text(encoding="utf-8")) for seed, path in paths.items()}
    return found


def answer_all(
    trainings: Sequence[FinishedTraining],
    scope: AnsweringScope,
    folder: Path,
    *,
    everywhere: bool = False,
    workers: int = 1,
    report: Callable[[str], None] = lambda _: None,
) -> None:
    """Validate all trainings, choose, and answer the test mazes at each method's own temperature and at 1.

    Args:
        trainings: all trainings of each method, as they choose together.
        scope: the mazes and the temperatures.
        folder: for a file for each training and temperature. An interrupted comparison continues.
        everywhere: answer the test mazes at all temperatures instead, without a choice. So parts of the trainings can
            be answered on several machines, and what is chosen on validation mazes afterwards is there.
        workers: processes that answer beside each other.
        report: gets a line for each training that is done.

    Raises:
        ConfigurationError: the folder holds answers to other mazes.
    """
    _claim(folder, scope)
    if everywhere:
        _in_processes(partial(_answer_everything, scope=scope, folder=folder), trainings, workers, report)
        return
    _in_processes(partial(validate, scope=scope, folder=folder), trainings, workers, report)
    own = own_temperatures(read_validated(folder))
    _in_processes(partial(_answer_wanted, scope=scope, own=own, folder=folder), trainings, workers, report)


def _claim(folder: Path, scope: AnsweringScope) -> None:
    """Note in a folder which mazes its answers are to."""
    path = folder / SCOPE
    if path.exists():
        before = json.loads(path.read_text(encoding="utf-8"))
        other = [f"{name} {before.get(name)}" for name, value in scope.asked.items() if before.get(name) != value]
        if other:
            raise ConfigurationError(f"{folder} holds answers with {', '.join(other)}: name another folder")
    elif any((folder / split).exists() for split in (VALIDATION, TEST)):
        raise ConfigurationError(f"{folder} holds answers, and no {SCOPE} says to which mazes: name another folder")
    else:
        _write(path, scope.asked)


def _answer_everything(training: FinishedTraining, scope: AnsweringScope, folder: Path) -> None:
    validate(training, scope, folder)
    answer_tests(training, scope, scope.temperatures, folder)


def _answer_wanted(training: FinishedTraining, scope: AnsweringScope, own: Mapping[str, float], folder: Path) -> None:
    answer_tests(training, scope, dict.fromkeys((PLAIN, own[training.arm])), folder)


def _in_processes(
    work: Callable[[FinishedTraining], None],
    trainings: Sequence[FinishedTraining],
    workers: int,
    report: Callable[[str], None],
) -> None:
    if workers < 2:
        for training in trainings:
            _with_one_thread(work, training)
            report(training.name)
        return
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:  # CUDA allows no fork
        begun = {pool.submit(_with_one_thread, work, training): training.name for training in trainings}
        for done in as_completed(begun):
            done.result()
            report(begun[done])


def _with_one_thread(work: Callable[[FinishedTraining], None], training: FinishedTraining) -> None:
    import torch

    torch.set_num_threads(1)
    work(training)


def _write(path: Path, values: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(values), encoding="utf-8")
    unfinished.replace(path)
