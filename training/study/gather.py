"""Measurements gathered into tables, for complete and incomplete comparisons."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evolve.domains.maze import mazes
from evolve.multiobjective.scalarization import Floats
from training.errors import StudyError
from training.study.campaign import Campaign
from training.study.plan import BASE, HARD, KINDS, MEASURED_ON, PLAIN
from training.study.raw import MeasurementKey, Store
from training.study.results import (
    MethodTable,
    figures,
    reached,
    solved_within,
    stacked,
    tokens_for_an_answer,
    tokens_in_search,
    volumes,
)
from training.study.sampling import SamplingTask
from training.study.searching import Paths, SearchTask

AT_ONE, OWN = "at temperature 1", "at its own temperature"
LABELS = (AT_ONE, OWN)
Compared = Mapping[str, MethodTable]
_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class FiguresTask:
    """The figures of sampled answers, maze by maze.

    Attributes:
        rate: tokens of an answer at equal tokens.
        tokens: mean tokens of an answer of this model.
    """

    sampled: SamplingTask
    store: Store
    ks: tuple[int, ...]
    answers: int
    rate: float
    tokens: float

    @property
    def key(self) -> MeasurementKey:
        """The conditions of the task."""
        values = {
            "what": "figures",
            "version": _VERSION,
            "of": self.sampled.key.text,
            "ks": list(self.ks),
            "answers": self.answers,
            "rate": self.rate,
            "tokens": self.tokens,
        }
        return MeasurementKey(title=f"figures.{self.sampled.key.title}", values=values)

    @property
    def size(self) -> int:
        """Answers."""
        return self.sampled.mazes * self.answers

    def run(self, problems: Callable[[str, str, int], Any]) -> Mapping[str, NDArray[Any]]:  # noqa: ARG002 - as all tasks
        """Work them out."""
        found = self.sampled.read(self.store)
        asked = mazes(self.sampled.kind, self.sampled.split, self.sampled.mazes)
        fitting = {k: k * self.rate / self.tokens for k in self.ks}
        each = [
            figures(maze, rewards[: self.answers], self.sampled.contender.m, self.ks, fitting)
            for maze, rewards in zip(asked, found.rewards, strict=True)
        ]
        names = sorted(each[0])
        return {"names": np.array(names), "values": np.array([[one[name] for one in each] for name in names])}

    def read(self) -> dict[str, Floats]:
        """Each figure, (mazes,).

        Raises:
            StudyError: the file is cut off or damaged.
        """
        found = self.store.read_any(self.key, ("names", "values"))
        names, values = found["names"].tolist(), found["values"]
        if values.shape != (len(names), self.sampled.mazes):
            raise StudyError(f"{self.store.folder / self.key.file} holds another measurement than its name says")
        return dict(zip(names, values, strict=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainFigures:
    """Further observations, each by method at temperature 1.

    Attributes:
        missing, repeats: shares of the answers, by kind and method.
        hit: (training seeds, hard mazes), 1 if the many answers of the warm start hold the optimum.
        many: number of these answers.
    """

    missing: Mapping[str, Mapping[str, float]]
    repeats: Mapping[str, Mapping[str, float]]
    hit: Floats | None
    many: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """Reads the measurements of a campaign."""

    campaign: Campaign

    def figures_tasks(self) -> list[FiguresTask]:
        """Figures of all that was sampled on test mazes."""
        return [
            task for kind in KINDS for label in LABELS for some in self._figures(kind, label).values() for task in some
        ]

    def sampled(self, kind: str, label: str) -> Compared:
        """Each method's figures on the test mazes of a kind. Their tasks must be done."""
        return {
            method: stacked(
                {task.sampled.contender.seed: [task.read()] for task in tasks},
                tokens=float(np.mean([task.tokens for task in tasks])),
                temperature=tasks[0].sampled.temperature,
            )
            for method, tasks in self._figures(kind, label).items()
        }

    def searched(self, label: str) -> dict[str, Compared]:
        """By strategy, each method's searches. Equal tokens are the same for all strategies and methods."""
        read = {
            strategy: {
                method: [(task, task.read(self.campaign.store)) for task in tasks]
                for method, tasks in self._searches(strategy, label).items()
            }
            for strategy in self.campaign.scope.strategies
        }
        tokens = {
            (strategy, method): float(np.mean([tokens_in_search(found) for _, found in some]))
            for strategy, methods in read.items()
            for method, some in methods.items()
        }
        rate = min(tokens.values(), default=0.0)
        return {
            strategy: {method: self._stacked(some, rate, tokens[strategy, method]) for method, some in methods.items()}
            for strategy, methods in read.items()
        }

    def _stacked(self, read: Sequence[tuple[SearchTask, Paths]], rate: float, tokens: float) -> MethodTable:
        by_seed: dict[int, list[dict[str, Floats]]] = defaultdict(list)
        for task, found in read:
            budgets = self.campaign.scope.budgets
            by_seed[task.contender.seed].append({**reached(found, budgets, rate), **volumes(found, budgets)})
        return stacked(by_seed, tokens=tokens, temperature=read[0][0].temperature)

    def plain(self) -> PlainFigures:
        """Further observations at temperature 1."""
        missing: dict[str, dict[str, float]] = {kind: {} for kind in KINDS}
        repeats: dict[str, dict[str, float]] = {kind: {} for kind in KINDS}
        for kind in KINDS:
            for method, tasks in self._sampled(kind, AT_ONE).items():
                read = [task.read(self.campaign.store) for task in tasks]
                missing[kind][method] = float(np.mean([one.missing.mean() for one in read]))
                repeats[kind][method] = float(np.mean([one.repeats.mean() for one in read]))
        tasks = self._sampled(HARD, AT_ONE).get(BASE, [])
        hit = [self._hit(task) for task in tasks]
        return PlainFigures(
            missing=missing,
            repeats=repeats,
            hit=np.stack(hit) if hit else None,
            many=tasks[0].answers if tasks else 0,
        )

    def _hit(self, task: SamplingTask) -> Floats:
        asked = mazes(HARD, MEASURED_ON, task.mazes)
        rewards = task.read(self.campaign.store).rewards
        return np.array([solved_within(maze, answers) for maze, answers in zip(asked, rewards, strict=True)])

    def _sampled(self, kind: str, label: str) -> dict[str, list[SamplingTask]]:
        campaign = self.campaign
        temperatures = dict.fromkeys(campaign.methods, PLAIN) if label == AT_ONE else campaign.own(kind)
        found = {
            method: self._done(campaign.sampling(method, kind, temperature))
            for method, temperature in temperatures.items()
        }
        return {method: tasks for method, tasks in found.items() if tasks}

    def _searches(self, strategy: str, label: str) -> dict[str, list[SearchTask]]:
        temperatures = self.campaign.searched_by(strategy, LABELS.index(label))
        settings = self.campaign.settings()
        found = {
            method: [
                task
                for task in self.campaign.searching(method, strategy, temperature, settings)
                if self.campaign.store.has(task.key)
            ]
            for method, temperature in temperatures.items()
        }
        return {method: tasks for method, tasks in found.items() if tasks}

    def _done(self, tasks: Sequence[SamplingTask]) -> list[SamplingTask]:
        return [task for task in tasks if self.campaign.store.has(task.key)]

    def _figures(self, kind: str, label: str) -> dict[str, list[FiguresTask]]:
        scope, store = self.campaign.scope, self.campaign.store
        found = self._sampled(kind, label)
        tokens = {
            method: [tokens_for_an_answer(task.read(store), scope.answers) for task in tasks]
            for method, tasks in found.items()
        }
        means = [float(np.mean(some)) for some in tokens.values()]
        return {
            method: [
                FiguresTask(
                    sampled=task,
                    store=store,
                    ks=scope.ks,
                    answers=scope.answers,
                    rate=round(min(means), 6),
                    tokens=round(float(np.mean(tokens[method])), 6),
                )
                for task in tasks
            ]
            for method, tasks in found.items()
        }
