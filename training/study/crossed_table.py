"""Set reward against estimator, crossed, and the concentration of the weights: on knapsacks in conflict and on mazes.

    python -m training.study.crossed_table -o crossed-table

Two set rewards, the best under equal weights and the best averaged over drawn weights, are each trained with three
estimators: one advantage a chain, credit by answer in chains, and credit by answer among single answers. Cells that
the other tables hold are taken from their files. Each training is one file, so an interrupted comparison continues.
`--report` prints the tables.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from evolve.multiobjective.scalarization import Floats
from training.knapsack import Kind
from training.study import intervals, knapsack_table, method_table
from training.study.knapsack_table import KnapsackScope
from training.study.markdown import MethodComparison, conclusions, paragraphs
from training.study.method_table import cells, keep_tables, read_tables, title
from training.study.training_arms import EQUAL, Tables, TableScope

KNOWN = Path("benchmarks") / "method_table"  # of a clone: the tables that hold the other cells
CONFLICT: Kind = "conflict"
MAZES = "small"
KNOWN_TABLES: Mapping[str, Path] = {CONFLICT: KNOWN / "knapsack" / "conflict.json", MAZES: KNOWN / "small.json"}
TITLES = {CONFLICT: "Knapsacks in conflict", MAZES: "Small mazes"}
FIGURES = {CONFLICT: knapsack_table.FIGURES, MAZES: method_table.FIGURES}
SCOPE = TableScope(steps=40, mazes=6, tested=40)
ALPHAS = ("0.25", "4")
VARIED = ("vpo", "vector_max_at_k")  # whose concentration is varied
# A column each: by chain, by answer in chains, by answer among single answers.
EQUAL_WEIGHTS = ("multi_rlvr_best", f"vpo_marginal~{EQUAL}", "max_at_k")
DRAWN_WEIGHTS = ("vpo", "vpo_marginal", "vector_max_at_k")
CONCENTRATIONS = tuple(f"{method}~{alpha}" for method in VARIED for alpha in ALPHAS)
CREDITED = tuple(f"vpo_marginal~{alpha}" for alpha in ALPHAS)  # stated later than the others, for mazes
TRAINED = (*EQUAL_WEIGHTS[:2], *CONCENTRATIONS)
ARMS = (*EQUAL_WEIGHTS, *DRAWN_WEIGHTS, *CONCENTRATIONS, *CREDITED)
COMPARED = ("ew@64", "volume")
# What was stated before the trainings: who is compared with whom. Each family has its own adjustment.
STATED: Mapping[str, Sequence[tuple[str, str]]] = {
    "Set reward": tuple(zip(DRAWN_WEIGHTS, EQUAL_WEIGHTS, strict=True)),
    "Estimator": tuple(
        (row[later], row[earlier]) for row in (EQUAL_WEIGHTS, DRAWN_WEIGHTS) for earlier, later in ((0, 1), (1, 2))
    ),
    "Concentration": tuple(pair for method in VARIED for pair in ((f"{method}~0.25", method), (method, f"{method}~4"))),
    "Concentration of credit by answer": (
        (CREDITED[0], "vpo_marginal"),
        ("vpo_marginal", CREDITED[1]),
        (CREDITED[1], f"vpo_marginal~{EQUAL}"),
    ),
}


def measure(domain: str, arms: Sequence[str], seed: int, base: Path, folder: Path) -> None:
    """Train arms with a seed that are not trained yet, and keep the figures of each problem."""
    folder.mkdir(parents=True, exist_ok=True)
    for arm in arms:
        if domain == CONFLICT:
            knapsack_table.measure_method(arm, seed, CONFLICT, KnapsackScope(), folder)
        else:
            method_table.measure_method(arm, seed, SCOPE, base, folder)


def read_crossed(own: Path, known: Path) -> Tables:
    """The figures of all arms that there are: those of this comparison, and those of the table that was there."""
    found = {**read_tables(known), **read_tables(own)}
    return {arm: found[arm] for arm in ARMS if arm in found}


def report(found: Mapping[str, Tables]) -> str:
    """For each domain its tables and what became of the hypotheses, then the two domains beside each other.

    Comparisons that were not measured are left out.
    """
    parts = []
    for domain, arms in found.items():
        parts += [f"### {TITLES[domain]}", method_table.report(arms, "vpo", FIGURES[domain], COMPARED)]
        for family, pairs in STATED.items():
            compared = [
                MethodComparison(ahead=ahead, one=title(one), other=title(other), figure=figure)
                for one, other in pairs
                for figure in COMPARED
                if (ahead := _ahead(arms, one, other, figure)) is not None
            ]
            told = [f"- {sentence}" for sentence in conclusions(compared)]
            parts += [f"{family}:", "\n".join(told)] if told else []
    return paragraphs(*parts, _interaction(found))


def _paired(arms: Tables, one: str, other: str, figure: str) -> tuple[Floats, Floats] | None:
    both = sorted(set(arms.get(one, ())) & set(arms.get(other, ())))
    if not both:
        return None
    first, second = (cells({seed: arms[name][seed] for seed in both}, figure) for name in (one, other))
    return first, second


def _ahead(arms: Tables, one: str, other: str, figure: str) -> intervals.Difference | None:
    pairs = _paired(arms, one, other, figure)
    return None if pairs is None else intervals.difference(*pairs)


def _interaction(found: Mapping[str, Tables]) -> str:
    """How much more drawn weights lead over equal ones in conflict than on mazes. Training seeds are the unit."""
    sentences = []
    for one, other in STATED["Set reward"]:
        for figure in COMPARED:
            leads = [_paired(found[domain], one, other, figure) for domain in (CONFLICT, MAZES) if domain in found]
            if len(leads) < 2 or None in leads:
                continue
            conflict, mazes = ((drawn - equal).mean(axis=1)[:, None] for drawn, equal in filter(None, leads))
            count = min(len(conflict), len(mazes))
            more = intervals.difference(conflict[:count], mazes[:count])
            lead = f"The lead of {title(one)} over {title(other)} on {figure}"
            sentences.append(f"- {lead}, in conflict minus on mazes: {more.signed}.")
    return "\n".join(sentences)


def _place(output: Path, domain: str) -> Path:
    """Where the figures of a domain are: in the file that `--keep` wrote, or in a file a training."""
    kept = output / f"{domain}.json"
    return kept if kept.is_file() else output / domain


def main() -> None:
    """Measure what is not measured yet, seed by seed, or print the report."""
    parser = argparse.ArgumentParser(description="Cross set rewards with estimators, and vary the weights.")
    parser.add_argument("--base", type=Path, default=Path("models/maze-base"))
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--report", action="store_true", help="print the tables of what was measured")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="with --report: write a file a domain")
    parser.add_argument("--domains", default=",".join(TITLES))
    parser.add_argument("--arms", default=",".join(TRAINED))
    parser.add_argument("--seeds", type=int, default=SCOPE.seeds)
    told = parser.parse_args()
    domains = [domain for domain in TITLES if domain in told.domains.split(",")]
    if told.report:
        for domain in domains if told.keep is not None else ():
            own = read_tables(_place(told.output, domain))
            kept = {arm: own[arm] for arm in told.arms.split(",") if arm in own}
            keep_tables(kept, told.keep / f"{domain}.json", FIGURES[domain])
        found = {domain: read_crossed(_place(told.output, domain), KNOWN_TABLES[domain]) for domain in domains}
        sys.stdout.write(report(found) + "\n")
        return
    import torch

    torch.set_num_threads(1)
    for seed in range(told.seeds):
        for domain in domains:
            for arm in told.arms.split(","):
                measure(domain, [arm], seed, told.base, told.output / domain)
                sys.stdout.write(f"{domain}, {arm}, seed {seed}\n")
                sys.stdout.flush()


if __name__ == "__main__":
    main()
