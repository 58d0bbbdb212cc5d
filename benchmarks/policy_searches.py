"""Trained maze policies compared inside searches: `python -m benchmarks.policy_searches MODELS -o FOLDER`.

MODELS holds the models as `evolve study` takes them, METHOD-sSEED. Each searches the study's hard mazes with the
defaults of a run, with the same seeds of the search, at temperature 1 and at its own temperature, or with `--plain` at
temperature 1 alone. The searches are those of the study, and continue after an interruption. The plan of the kept
comparison is in docs/study.md, with what was changed in it.

`--report` prints the tables of a folder, or of the file that `--keep` wrote. Methods are paired by the seeds of the
training and of the search that both have. With one training of each method, the unit is a maze, and an interval speaks
of these models. With several, the unit is a training.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from evolve.multiobjective.scalarization import Floats
from service.cli.study import problem_of
from training.study import intervals
from training.study.campaign import Campaign, SettingsScore
from training.study.contenders import choose, find_contenders
from training.study.gather import LABELS
from training.study.markdown import MethodComparison, cell, conclusions, paragraphs, signed, table
from training.study.plan import FULL, ISLANDS, MARGINAL, PLAIN, VPO, StudyScope, name_of
from training.study.raw import Store
from training.study.results import answers_written, reached, tokens_in_search, volumes
from training.study.work import do, missing

STRATEGIES = (ISLANDS, "best_of_n")
METHODS = (VPO, MARGINAL)  # the others are compared with the first
SEARCH_SEEDS = 5
JUDGED = ("solved", "volume")
SHOWN = {
    "solved": "Share of mazes solved to the exact optimum.",
    "volume": "Hypervolume of all evaluated walks.",
    "best": "Best mean of the objectives.",
    "tokens-solved": "Share solved at equal tokens written. The column is a number of answers of the shortest writer.",
}
WRITTEN = "answers"
Figures = Mapping[str, Sequence[float]]  # of each maze


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class SearchArm:
    """What is compared: a method with a strategy, under one of the study's two conditions of temperature."""

    label: str
    strategy: str
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResults:
    """The figures of searches.

    Attributes:
        reference: the method that the others are compared with.
        temperatures: by method and temperature, the share solved and the best mean on validation mazes.
        at: the temperature of each arm.
        figures: by arm, seed of the training and seed of the search.
    """

    reference: str
    budgets: Sequence[int]
    temperatures: Mapping[str, Mapping[float, SettingsScore]]
    at: dict[SearchArm, float] = field(default_factory=dict)
    figures: dict[SearchArm, dict[int, dict[int, Figures]]] = field(default_factory=dict)

    def rows(self, arm: SearchArm, figure: str) -> Floats:
        """(trainings, mazes): the mean over the seeds of the search."""
        trainings = self.figures[arm].values()
        return np.array([np.mean([found[figure] for found in seeds.values()], axis=0) for seeds in trainings])

    def lead(self, arm: SearchArm, other: SearchArm, figure: str) -> intervals.Difference | None:
        """How far an arm lies above another, over the seeds of the training and of the search that both have."""
        pairs = [pair.mean(axis=1) for pair in self._pairs(arm, other, figure)]
        if not pairs:
            return None
        one, two = np.stack(pairs, axis=1)
        return intervals.difference(one.T, two.T) if self._single(arm, other) else intervals.difference(one, two)

    def wider_lead(self, arm: SearchArm, other: SearchArm, figure: str) -> intervals.Difference | None:
        """The same of one training each, over the mazes and over the seeds of the search, whichever is wider."""
        pairs = self._pairs(arm, other, figure) if self._single(arm, other) else []
        return intervals.difference(*pairs[0]) if pairs else None

    def _single(self, *arms: SearchArm) -> bool:
        return all(len(self.figures[arm]) == 1 for arm in arms)

    def _pairs(self, arm: SearchArm, other: SearchArm, figure: str) -> list[Floats]:
        """Of each training that both have: (2, searches, mazes)."""
        found = []
        for training, seeds in self.figures[arm].items():
            beside = self.figures[other].get(training, {})
            common = [seed for seed in seeds if seed in beside]
            sides = [[side[seed][figure] for seed in common] for side in (seeds, beside)]
            found += [np.array(sides)] if common else []
        return found


def campaign_of(models: Path, output: Path, scope: StudyScope) -> Campaign:
    """The study's own campaign, cut down to the searches of these models."""
    contenders = choose(find_contenders(models), scope.searched)
    return Campaign(contenders=contenders, scope=scope, store=Store(folder=output / "raw"))


def search(campaign: Campaign, workers: int) -> None:
    """Choose temperatures on validation mazes and search, but for what was done before."""
    heating = [campaign.heating_tasks] if campaign.scope.own_temperatures else []
    for planned in (*heating, campaign.search_tasks):
        left = missing(planned(), campaign.store)
        do(left, campaign.store, problem_of, workers, lambda task: print(task.key.title, flush=True))


def results_of(campaign: Campaign) -> SearchResults:
    """Read what was measured."""
    settings, store, budgets = campaign.settings(), campaign.store, campaign.scope.budgets
    found = SearchResults(
        reference=campaign.scope.searched[0], budgets=budgets, temperatures=campaign.by_search_temperature()
    )
    read = []
    for number, label in enumerate(LABELS):
        for strategy in campaign.scope.strategies:
            for method, temperature in campaign.searched_by(strategy, number).items():
                arm = SearchArm(label=label, strategy=strategy, method=method)
                tasks = campaign.searching(method, strategy, temperature, settings)
                done = [(task, task.read(store)) for task in tasks if store.has(task.key)]
                found.at.update({arm: temperature} if done else {})
                read += [(arm, task, paths) for task, paths in done]
    rate = min((tokens_in_search(paths) for _, _, paths in read), default=0.0)
    for arm, task, paths in read:
        figures = {**reached(paths, budgets, rate), **volumes(paths, budgets), **answers_written(paths, budgets)}
        kept = {name: np.round(values, 4).tolist() for name, values in figures.items() if _kept(name)}
        found.figures.setdefault(arm, {}).setdefault(task.contender.seed, {})[task.seed] = kept
    return found


def _kept(name: str) -> bool:
    return name.partition("@")[0] in (*SHOWN, WRITTEN)


def keep(found: SearchResults, path: Path) -> None:
    """Write the figures of each maze as one file."""
    temperatures = {
        method: [[at, score.solved, score.best] for at, score in scores.items()]
        for method, scores in found.temperatures.items()
    }
    searches = [
        {
            "label": arm.label,
            "strategy": arm.strategy,
            "method": arm.method,
            "temperature": found.at[arm],
            "training": training,
            "seed": seed,
            "figures": figures,
        }
        for arm, trainings in found.figures.items()
        for training, seeds in trainings.items()
        for seed, figures in seeds.items()
    ]
    content = {
        "reference": found.reference,
        "budgets": list(found.budgets),
        "temperatures": temperatures,
        "searches": searches,
    }
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


def read_kept(path: Path) -> SearchResults:
    """The figures of a file that `keep` wrote."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    temperatures = {
        method: {at: SettingsScore(solved=solved, best=best) for at, solved, best in scores}
        for method, scores in content["temperatures"].items()
    }
    found = SearchResults(reference=content["reference"], budgets=content["budgets"], temperatures=temperatures)
    for one in content["searches"]:
        arm = SearchArm(label=one["label"], strategy=one["strategy"], method=one["method"])
        found.at[arm] = one["temperature"]
        found.figures.setdefault(arm, {}).setdefault(one["training"], {})[one["seed"]] = one["figures"]
    return found


def report(found: SearchResults) -> str:
    """The tables, and what they say of the comparisons that were stated before."""
    labels = [label for label in LABELS if any(arm.label == label for arm in found.figures)]
    if {found.at[arm] for arm in found.figures if arm.label == LABELS[-1]} <= {PLAIN}:
        labels = labels[:1]
    return paragraphs(_temperatures(found), *(part for label in labels for part in _condition(found, label)))


def _temperatures(found: SearchResults) -> str:
    rows = [
        [name_of(method), *(f"{score.solved:.3f}, {score.best:.3f}" for score in scores.values())]
        for method, scores in found.temperatures.items()
    ]
    ats = [f"T = {at:g}" for scores in list(found.temperatures.values())[:1] for at in scores]
    return table(["solved, best of validation mazes", *ats], rows) if rows else ""


def _condition(found: SearchResults, label: str) -> Iterator[str]:
    arms = [arm for arm in found.figures if arm.label == label]
    budgets = [str(budget) for budget in found.budgets]
    yield f"### Policies in searches, {label}"
    head = ["method", "strategy", "temperature", *budgets]
    beginnings = {arm: [name_of(arm.method), f"`{arm.strategy}`", f"{found.at[arm]:g}"] for arm in arms}
    for figure, title in SHOWN.items():
        values = {
            arm: [cell(intervals.mean(found.rows(arm, f"{figure}@{budget}"))) for budget in found.budgets]
            for arm in arms
        }
        yield title
        yield table(head, [[*beginnings[arm], *values[arm]] for arm in arms])
    yield "Answers written for a search within so many evaluations, with repeated and malformed answers."
    written = {
        arm: [f"{found.rows(arm, f'{WRITTEN}@{budget}').mean():.0f}" for budget in found.budgets] for arm in arms
    }
    yield table(head, [[*beginnings[arm], *written[arm]] for arm in arms])
    pairs = [(arm, other) for arm in arms if (other := _against(found, arm)) is not None]
    yield "Differences, in bold if the interval leaves zero out."
    yield _differences(pairs, found.lead, tuple(SHOWN), budgets)
    last = found.budgets[-1]
    stated = [
        MethodComparison(
            ahead=found.lead(arm, other, f"{figure}@{last}"),
            one=name_of(arm.method),
            other=name_of(other.method),
            figure=f"{figure}@{last} with `{arm.strategy}`",
        )
        for arm, other in pairs
        for figure in JUDGED
    ]
    yield "\n".join(f"- {sentence}" for sentence in conclusions(stated))
    if any(found.wider_lead(*pair, f"{JUDGED[0]}@{budgets[0]}") for pair in pairs):
        yield "Differences with intervals over the mazes or over the seeds of the search, whichever is wider."
        yield _differences(pairs, found.wider_lead, JUDGED, budgets)


def _differences(
    pairs: Sequence[tuple[SearchArm, SearchArm]],
    lead: Callable[[SearchArm, SearchArm, str], intervals.Difference | None],
    figures: Sequence[str],
    budgets: Sequence[str],
) -> str:
    rows = [
        [
            f"{name_of(arm.method)} − {name_of(other.method)}",
            f"`{arm.strategy}`",
            figure,
            *(signed(lead(arm, other, f"{figure}@{budget}")) for budget in budgets),
        ]
        for arm, other in pairs
        for figure in figures
    ]
    return table(["difference", "strategy", "figure", *budgets], rows)


def _against(found: SearchResults, arm: SearchArm) -> SearchArm | None:
    """The arm of the reference under the same conditions."""
    other = replace(arm, method=found.reference)
    return other if arm != other and other in found.figures else None


def main() -> None:
    """Search what was not searched yet, or print the report."""
    parser = argparse.ArgumentParser(description="Compare trained maze policies inside searches.")
    parser.add_argument("models", type=Path, nargs="?", help="folder of models; not needed for the report of a file")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--methods", default=",".join(METHODS), help="the first is what the others are compared with")
    parser.add_argument("--mazes", type=int, default=FULL.questions)
    parser.add_argument("--search-seeds", type=int, default=SEARCH_SEEDS)
    parser.add_argument("--evaluations", type=int, default=FULL.budgets[-1])
    parser.add_argument("--plain", action="store_true", help="search only at temperature 1")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--report", action="store_true", help="print the tables of what was measured")
    parser.add_argument("--keep", type=Path, metavar="FILE", help="with --report: write the figures as one file")
    told = parser.parse_args()
    if told.keep is not None and (not told.report or told.output.is_file()):
        parser.error("--keep takes --report and the folder of the searches")
    if told.report and told.output.is_file():
        sys.stdout.write(report(read_kept(told.output)) + "\n")
        return
    if told.models is None:
        parser.error("name the folder of the models")
    scope = replace(
        FULL.at_most(told.mazes),
        budgets=[*(budget for budget in FULL.budgets if budget < told.evaluations), told.evaluations],
        strategies=STRATEGIES,
        searched=tuple(told.methods.split(",")),
        beside=(),
        search_seeds=told.search_seeds,
        search_temperatures=(PLAIN,) if told.plain else FULL.search_temperatures,
        own_temperatures=not told.plain,
    )
    campaign = campaign_of(told.models, told.output, scope)
    if not told.report:
        search(campaign, told.workers)
        return
    found = results_of(campaign)
    if told.keep is not None:
        keep(found, told.keep)
    sys.stdout.write(report(found) + "\n")


if __name__ == "__main__":
    main()
