"""Trained maze policies compared inside searches: `python -m benchmarks.policy_searches MODELS -o FOLDER`.

MODELS holds the models as `evolve study` takes them, METHOD-sSEED. Each searches the study's hard mazes with the
defaults of a run, with the same seeds of the search, at temperature 1 and at its own temperature. The searches are
those of the study, and continue after an interruption. The plan is in docs/study.md, and was settled before the first
run.

`--report` prints the tables of a folder, or of the file that `--keep` wrote. With one training of each method, the unit
is a maze, and an interval speaks of these models. With several, the unit is a training.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
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
from training.study.results import reached, tokens_in_search, volumes
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
        temperatures: by method and temperature, the share solved and the best mean on validation mazes.
        at: the temperature of each arm.
        figures: by arm, seed of the training and seed of the search.
    """

    budgets: Sequence[int]
    temperatures: Mapping[str, Mapping[float, SettingsScore]]
    at: dict[SearchArm, float] = field(default_factory=dict)
    figures: dict[SearchArm, dict[int, dict[int, Figures]]] = field(default_factory=dict)

    def rows(self, arm: SearchArm, figure: str) -> Floats:
        """(trainings, mazes): the mean over the seeds of the search."""
        trainings = self.figures[arm].values()
        return np.array([np.mean([found[figure] for found in seeds.values()], axis=0) for seeds in trainings])


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
    found = SearchResults(budgets=campaign.scope.budgets, temperatures=campaign.by_search_temperature())
    settings, store, budgets = campaign.settings(), campaign.store, campaign.scope.budgets
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
        figures = {**reached(paths, budgets, rate), **volumes(paths, budgets)}
        kept = {name: np.round(values, 4).tolist() for name, values in figures.items() if _shown(name)}
        found.figures.setdefault(arm, {}).setdefault(task.contender.seed, {})[task.seed] = kept
    return found


def _shown(name: str) -> bool:
    return name.partition("@")[0] in SHOWN


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
    content = {"budgets": list(found.budgets), "temperatures": temperatures, "searches": searches}
    path.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


def read_kept(path: Path) -> SearchResults:
    """The figures of a file that `keep` wrote."""
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    temperatures = {
        method: {at: SettingsScore(solved=solved, best=best) for at, solved, best in scores}
        for method, scores in content["temperatures"].items()
    }
    found = SearchResults(budgets=content["budgets"], temperatures=temperatures)
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
    for figure, title in SHOWN.items():
        rows = [
            [
                name_of(arm.method),
                f"`{arm.strategy}`",
                f"{found.at[arm]:g}",
                *(cell(intervals.mean(found.rows(arm, f"{figure}@{budget}"))) for budget in found.budgets),
            ]
            for arm in arms
        ]
        yield title
        yield table(["method", "strategy", "temperature", *budgets], rows)
    pairs = [(arm, other) for arm in arms if (other := _against(found, arm)) is not None]
    yield "Differences, in bold if the interval leaves zero out."
    yield table(
        ["difference", "strategy", "figure", *budgets],
        [
            [
                f"{name_of(arm.method)} − {name_of(other.method)}",
                f"`{arm.strategy}`",
                figure,
                *(signed(_ahead(found, arm, other, f"{figure}@{budget}")) for budget in found.budgets),
            ]
            for arm, other in pairs
            for figure in SHOWN
        ],
    )
    last = found.budgets[-1]
    stated = [
        MethodComparison(
            ahead=_ahead(found, arm, other, f"{figure}@{last}"),
            one=name_of(arm.method),
            other=name_of(other.method),
            figure=f"{figure}@{last} with `{arm.strategy}`",
        )
        for arm, other in pairs
        for figure in JUDGED
    ]
    yield "\n".join(f"- {sentence}" for sentence in conclusions(stated))


def _against(found: SearchResults, arm: SearchArm) -> SearchArm | None:
    """The arm of the first method under the same conditions."""
    first = next(iter(found.figures)).method
    other = replace(arm, method=first)
    return other if arm.method != first and other in found.figures else None


def _ahead(found: SearchResults, arm: SearchArm, other: SearchArm, figure: str) -> intervals.Difference | None:
    one, two = found.rows(arm, figure), found.rows(other, figure)
    if one.shape != two.shape:
        return None
    return intervals.difference(one.T, two.T) if len(one) == 1 else intervals.difference(one, two)


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
