"""The tasks of a study, and the choices on validation mazes before any comparison."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from training.study.contenders import Contender, choose
from training.study.plan import (
    BASE,
    CHOSEN_ON,
    HARD,
    ISLANDS,
    KINDS,
    MEASURED_ON,
    PLAIN,
    SEARCHED_ON,
    TRIED,
    SearchSettings,
    StudyScope,
    in_order,
)
from training.study.raw import Store
from training.study.results import reached
from training.study.sampling import SamplingTask
from training.study.searching import SearchTask


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingsScore:
    """The mean results of searches on validation mazes: share solved, and best mean of the objectives."""

    solved: float
    best: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedSettings:
    """Settings of searches with their results, as the mean over policies."""

    settings: SearchSettings
    reached: SettingsScore


def best_temperature(found: Mapping[float, SettingsScore]) -> float:
    """The temperature at which searches solve most, and of equals that with the best mean."""
    return max(found, key=lambda temperature: (found[temperature].solved, found[temperature].best))


@dataclass(frozen=True, slots=True, kw_only=True)
class Campaign:
    """All tasks of a study, over the models that were found."""

    contenders: tuple[Contender, ...]
    scope: StudyScope
    store: Store

    @property
    def methods(self) -> tuple[str, ...]:
        """Methods there are models of, in the order of tables."""
        return in_order([contender.method for contender in self.contenders])

    @property
    def searched(self) -> tuple[str, ...]:
        """Those of them that searches run with."""
        return tuple(method for method in self.methods if method in self.scope.searched)

    def of(self, method: str) -> tuple[Contender, ...]:
        """The models of a method."""
        return choose(self.contenders, [method])

    # Temperatures

    def validation(self, method: str, kind: str, temperature: float) -> list[SamplingTask]:
        """A method on validation mazes, a task for each of its models."""
        return [
            SamplingTask(
                contender=contender,
                kind=kind,
                split=CHOSEN_ON,
                mazes=self.scope.validated,
                answers=self.scope.answers,
                temperature=temperature,
            )
            for contender in self.of(method)
        ]

    def validation_tasks(self) -> list[SamplingTask]:
        """All that temperatures are chosen by."""
        return [
            task
            for kind in KINDS
            for method in self.methods
            for temperature in self.scope.temperatures
            for task in self.validation(method, kind, temperature)
        ]

    def by_temperature(self, kind: str) -> dict[str, dict[float, float]]:
        """For each method that was validated in full, the mean best of all its answers at each temperature."""
        found: dict[str, dict[float, float]] = {}
        for method in self.methods:
            tasks = {t: self.validation(method, kind, t) for t in self.scope.temperatures}
            if all(self.store.has(task.key) for some in tasks.values() for task in some):
                found[method] = {t: float(np.mean([self._best(task) for task in some])) for t, some in tasks.items()}
        return found

    def own(self, kind: str) -> dict[str, float]:
        """Each method's own temperature: that of the highest mean best; among equals the one nearest to 1."""
        return {
            method: max(found, key=lambda t: (found[t], -abs(t - PLAIN)))
            for method, found in self.by_temperature(kind).items()
        }

    def _best(self, task: SamplingTask) -> float:
        return float(task.read(self.store).rewards.mean(axis=2).max(axis=1).mean())

    # Plain sampling

    def sampling(self, method: str, kind: str, temperature: float) -> list[SamplingTask]:
        """A method on test mazes, a task for each of its models."""
        many = method == BASE and kind == HARD and temperature == PLAIN
        return [
            SamplingTask(
                contender=contender,
                kind=kind,
                split=MEASURED_ON,
                mazes=self.scope.mazes[kind],
                answers=max(self.scope.answers, self.scope.base_answers) if many else self.scope.answers,
                temperature=temperature,
            )
            for contender in self.of(method)
        ]

    def sampling_tasks(self) -> list[SamplingTask]:
        """All test mazes at temperature 1, then at each method's own."""
        return [
            task
            for temperatures in self._temperatures(KINDS)
            for kind, method, temperature in temperatures
            for task in self.sampling(method, kind, temperature)
        ]

    def _temperatures(self, kinds: Sequence[str]) -> Iterator[list[tuple[str, str, float]]]:
        yield [(kind, method, PLAIN) for kind in kinds for method in self.methods]
        yield [(kind, method, temperature) for kind in kinds for method, temperature in self.own(kind).items()]

    # Searches

    def tuning(self, settings: SearchSettings) -> list[SearchTask]:
        """Settings on validation mazes, with the first model of each method that searches run with."""
        return [
            SearchTask(
                contender=self.of(method)[0],
                strategy=ISLANDS,
                settings=settings,
                split=CHOSEN_ON,
                mazes=self.scope.tuned,
                evaluations=self.scope.tuned_evaluations,
                temperature=PLAIN,
            )
            for method in self.searched
        ]

    def tuning_tasks(self) -> list[SearchTask]:
        """All that the settings of searches are chosen by."""
        return [task for settings in TRIED for task in self.tuning(settings)]

    def tried(self) -> list[TriedSettings]:
        """The settings tried with all policies, and their results."""
        return [
            self._tried(settings, tasks)
            for settings in TRIED
            if (tasks := self.tuning(settings)) and all(self.store.has(task.key) for task in tasks)
        ]

    def settings(self) -> SearchSettings:
        """The settings that solve most validation mazes, of equals those with the best mean, then the first."""
        tried = self.tried()
        return max(tried, key=lambda one: (one.reached.solved, one.reached.best)).settings if tried else TRIED[0]

    def heating(self, method: str, temperature: float) -> list[SearchTask]:
        """A method's searches on validation mazes at a temperature, with the settings that were chosen."""
        return [
            SearchTask(
                contender=contender,
                strategy=ISLANDS,
                settings=self.settings(),
                split=CHOSEN_ON,
                mazes=self.scope.tuned,
                evaluations=self.scope.tuned_evaluations,
                temperature=temperature,
            )
            for contender in self.of(method)
        ]

    def heating_tasks(self) -> list[SearchTask]:
        """All that temperatures of searches are chosen by."""
        return [
            task
            for method in self.searched
            for temperature in self.scope.search_temperatures
            for task in self.heating(method, temperature)
        ]

    def by_search_temperature(self) -> dict[str, dict[float, SettingsScore]]:
        """For each method that searched in full, what it reached on validation mazes at each temperature."""
        found: dict[str, dict[float, SettingsScore]] = {}
        for method in self.searched:
            tasks = {t: self.heating(method, t) for t in self.scope.search_temperatures}
            if all(self.store.has(task.key) for some in tasks.values() for task in some):
                found[method] = {t: self._reached(some) for t, some in tasks.items()}
        return found

    def own_in_search(self) -> dict[str, float]:
        """Each method's own temperature in searches."""
        return {method: best_temperature(found) for method, found in self.by_search_temperature().items()}

    def _tried(self, settings: SearchSettings, tasks: Sequence[SearchTask]) -> TriedSettings:
        return TriedSettings(settings=settings, reached=self._reached(tasks))

    def _reached(self, tasks: Sequence[SearchTask]) -> SettingsScore:
        maximum = self.scope.tuned_evaluations
        found = [reached(task.read(self.store), [maximum], 0.0) for task in tasks]
        return SettingsScore(
            solved=float(np.mean([one[f"solved@{maximum}"] for one in found])),
            best=float(np.mean([one[f"best@{maximum}"] for one in found])),
        )

    def searching(self, method: str, strategy: str, temperature: float, settings: SearchSettings) -> list[SearchTask]:
        """A method's searches, a task for each of its models and each search seed."""
        return [
            SearchTask(
                contender=contender,
                strategy=strategy,
                settings=settings,
                split=SEARCHED_ON,
                mazes=self.scope.questions,
                evaluations=self.scope.budgets[-1],
                temperature=temperature,
                seed=seed,
            )
            for seed in range(self.scope.search_seeds)
            for contender in self.of(method)
        ]

    def search_temperatures(self) -> list[Mapping[str, float]]:
        """Temperature 1 for all, then each method's own in searches."""
        return [dict.fromkeys(self.searched, PLAIN), self.own_in_search() if self.scope.own_temperatures else {}]

    def search_tasks(self) -> list[SearchTask]:
        """All searches, those at temperature 1 first."""
        settings = self.settings()
        return [
            task
            for number in range(len(self.search_temperatures()))
            for strategy in self.scope.strategies
            for method, temperature in self.searched_by(strategy, number).items()
            for task in self.searching(method, strategy, temperature, settings)
        ]

    def searched_by(self, strategy: str, number: int) -> dict[str, float]:
        """The temperature of each method that searches run with by a strategy.

        Args:
            number: which of `search_temperatures`.
        """
        found = dict(self.search_temperatures()[number])
        if strategy == ISLANDS and number == 0:
            found |= {method: PLAIN for method in self.methods if method in self.scope.beside}
        return {method: found[method] for method in in_order(list(found))}
