"""The second domain of the study: every training method from scratch on knapsacks whose objectives conflict, or do not.

    python -m training.study.knapsack_table -o knapsack-table

Learning rates are chosen for each method and kind on validation knapsacks, with a training seed that is not used
again. Each training is one file, so an interrupted comparison continues. `--report` prints the tables of the files
that there are.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evolve.multiobjective.scalarization import Floats
from training.knapsack import KINDS, Kind, Split, knapsacks, measure
from training.study import intervals, method_table
from training.study.markdown import MethodComparison, conclusions, paragraphs
from training.study.method_table import cells, keep_tables, read_tables, title
from training.study.training_arms import ARMS, TrainingArm

if TYPE_CHECKING:
    from training.knapsack_policy import KnapsackTraining

METHODS = tuple(method for method in ARMS if method != "base")
FIGURES = ("best@1", "best@4", "best@64", "ew@4", "ew@64", "volume", "front", "optima", "diversity")
COMPARED = ("best@64", "ew@4", "ew@64", "volume", "front")
RATES = (1e-3, 3e-3, 1e-2)
CHOSEN_BY = "ew@16"
CHOOSING_SEED = 100
# What was stated before the trainings: a method, whom it is compared with, and by which figure.
STATED = tuple(
    (one, other, figure)
    for one, other in (
        ("vpo", "max_at_k"),
        ("vpo", "grpo"),
        ("vpo_marginal", "vpo"),
        ("vector_max_at_k", "max_at_k"),
        ("vpo_marginal", "vector_max_at_k"),
    )
    for figure in ("ew@64", "volume")
)
TITLES: Mapping[Kind, str] = {"collinear": "collinear", "independent": "independent", "conflict": "in conflict"}
BESIDE: tuple[tuple[Kind, Kind], ...] = (
    ("conflict", "collinear"),
    ("conflict", "independent"),
    ("independent", "collinear"),
)
Found = Mapping[str, Mapping[int, Sequence[Mapping[str, float]]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnapsackScope:
    """The size of the comparison: training seeds, updates, test and validation knapsacks, answers to each."""

    seeds: int = 5
    updates: int = 600
    tested: int = 100
    validated: int = 50
    answers: int = 64


def measure_training(settings: "KnapsackTraining", split: Split, count: int, answers: int) -> list[dict[str, float]]:
    """Train a policy, and the figures of its answers to each knapsack of a split."""
    from training.knapsack_policy import answers_of, train_knapsack

    asked = knapsacks(settings.kind, split, count)
    found = answers_of(train_knapsack(settings), settings, asked, answers)
    return [measure(problem, rewards) for problem, rewards in zip(asked, found, strict=True)]


def settings_of(arm: str, seed: int, kind: Kind, scope: KnapsackScope) -> "KnapsackTraining":
    """The settings of a training, but for its rate."""
    from training.knapsack_policy import KnapsackTraining

    wanted = TrainingArm.of(arm)
    return KnapsackTraining(
        method=wanted.method, kind=kind, seed=seed, k=wanted.k, alpha=wanted.alpha, updates=scope.updates
    )


def choose_rate(method: str, kind: Kind, scope: KnapsackScope, folder: Path) -> float:
    """The learning rate of an arm that is best on validation knapsacks, from its file if it was chosen before."""
    path = folder / f"{method}-rates.json"
    if not path.exists():
        settings = settings_of(method, CHOOSING_SEED, kind, scope)
        tried = {}
        for rate in RATES:
            found = measure_training(replace(settings, rate=rate), "validation", scope.validated, scope.answers)
            tried[str(rate)] = float(np.mean([figures[CHOSEN_BY] for figures in found]))
        _keep(path, tried)
    tried = json.loads(path.read_text(encoding="utf-8"))
    return float(max(tried, key=lambda rate: tried[rate]))


def measure_method(method: str, seed: int, kind: Kind, scope: KnapsackScope, folder: Path) -> None:
    """Train an arm with a seed, answer the test knapsacks, and keep the figures of each."""
    path = folder / f"{method}-s{seed}.json"
    if path.exists():
        return
    rate = choose_rate(method, kind, scope, folder)
    settings = replace(settings_of(method, seed, kind, scope), rate=rate)
    _keep(path, measure_training(settings, "test", scope.tested, scope.answers))


def report(found: Mapping[Kind, Found]) -> str:
    """A table for each kind, the differences to VPO, and what became of the hypotheses."""
    parts = []
    for kind, methods in found.items():
        parts += [f"### {kind.capitalize()}", method_table.report(methods, "vpo", FIGURES, COMPARED)]
        stated = [
            MethodComparison(
                ahead=_ahead(methods, one, other, figure), one=title(one), other=title(other), figure=figure
            )
            for one, other, figure in STATED
        ]
        parts.append("\n".join(f"- {sentence}" for sentence in conclusions(stated)))
    return paragraphs(*parts, _interaction(found))


def _ahead(methods: Found, one: str, other: str, figure: str) -> intervals.Difference | None:
    pairs = _paired(methods, one, other, figure)
    return None if pairs is None else intervals.difference(*pairs)


def _paired(methods: Found, one: str, other: str, figure: str) -> tuple[Floats, Floats] | None:
    both = sorted(set(methods.get(one, ())) & set(methods.get(other, ())))
    if not both:
        return None
    first, second = (cells({seed: methods[name][seed] for seed in both}, figure) for name in (one, other))
    return first, second


def _interaction(found: Mapping[Kind, Found]) -> str:
    """How much more VPO leads over Max@k with one kind than with another. Training seeds are the unit."""
    sentences = []
    for one, other in BESIDE:
        for figure in ("ew@64", "volume"):
            leads = [_paired(found[kind], "vpo", "max_at_k", figure) for kind in (one, other) if kind in found]
            if len(leads) < 2 or None in leads:
                continue
            more, fewer = ((first - second).mean(axis=1)[:, None] for first, second in filter(None, leads))
            count = min(len(more), len(fewer))
            difference = intervals.difference(more[:count], fewer[:count]).signed
            lead = f"The lead of VPO over {title('max_at_k')} on {figure}"
            sentences.append(f"- {lead}, {TITLES[one]} minus {TITLES[other]}: {difference}.")
    return "\n".join(sentences)


def _place(output: Path, kind: Kind) -> Path:
    """Where the figures of a kind are: in the file that `--keep` wrote, or in a file a training."""
    kept = output / f"{kind}.json"
    return kept if kept.is_file() else output / kind


def _keep(path: Path, content: object) -> None:
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(content), encoding="utf-8")
    unfinished.replace(path)


def main() -> None:
    """Measure what is not measured yet, seed by seed, or print the report."""
    parser = argparse.ArgumentParser(description="Compare every training method on knapsacks.")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--report", action="store_true", help="print the tables of what was measured")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="with --report: write the figures as a file a kind")
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--kinds", default=",".join(KINDS))
    for name in ("seeds", "updates", "tested", "validated"):
        parser.add_argument(f"--{name}", type=int, default=getattr(KnapsackScope(), name))
    told = parser.parse_args()
    kinds = [kind for kind in KINDS if kind in told.kinds.split(",")]
    if told.report:
        found = {kind: tables for kind in kinds if (tables := read_tables(_place(told.output, kind)))}
        for kind, tables in found.items() if told.keep is not None else ():
            keep_tables(tables, told.keep / f"{kind}.json", FIGURES)
        sys.stdout.write(report(found) + "\n")
        return
    import torch

    torch.set_num_threads(1)
    scope = KnapsackScope(seeds=told.seeds, updates=told.updates, tested=told.tested, validated=told.validated)
    for seed in range(scope.seeds):
        for kind in kinds:
            folder = told.output / kind
            folder.mkdir(parents=True, exist_ok=True)
            for method in told.methods.split(","):
                measure_method(method, seed, kind, scope, folder)
                sys.stdout.write(f"{kind}, {method}, seed {seed}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
