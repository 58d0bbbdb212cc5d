"""What finished trainings do on fresh mazes: the temperatures chosen, the tables, and the hypotheses stated before.

    python -m training.study.fresh_mazes -o benchmarks/method_table/fresh

FOLDER holds what `python -m training.study.method_table --trainings` wrote, or what `--keep` wrote from it. With
`--pair`, what is kept is a single file.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from training.study import intervals, method_table
from training.study.finished_trainings import PLAIN, Validated, own_temperatures, read_validated, tables_at
from training.study.markdown import MethodComparison, conclusions, paragraphs, signed, table
from training.study.method_table import FIGURES, cells, keep_tables, read_tables, title
from training.study.training_arms import Tables, TrainingArm

EARLIER = Path("benchmarks") / "method_table" / "hard.json"  # of a clone: the same trainings on the first 100 mazes
KEPT_VALIDATION, KEPT_OWN, KEPT_PLAIN = "validation.json", "own.json", "at_1.json"
COMPARED = ("best@4", "best@64", "ew@64", "volume", "diversity")
_WIDE = ("best@64", "ew@64", "volume")
_BEST = ("best@4", "best@16", "best@64")
# What was stated before any answer: that the first lies above the second. Each family has its own adjustment.
STATED: Mapping[str, Sequence[tuple[str, str, Sequence[str]]]] = {
    "Credit by answer": (("vpo_marginal", "vpo", _WIDE),),
    "All weights": (("vector_max_at_k", "max_at_k", ("ew@64", "volume")),),
    "Best of k against GRPO": (("vpo_marginal", "grpo", _BEST), ("vector_max_at_k", "grpo", _BEST)),
    "VPO against GRPO": (("vpo", "grpo", ("ew@64", "volume")),),
    "Credit by answer against Max@k": (("vpo_marginal", "max_at_k", _WIDE),),
    "GDPO against Max@k": (("gdpo", "max_at_k", _WIDE),),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FreshAnswers:
    """What was measured.

    Attributes:
        validated: the mean best of all answers to validation mazes, by arm, seed and temperature.
        own: figures of test mazes at each method's own temperature.
        plain: the same at temperature 1.
    """

    validated: Validated
    own: Tables
    plain: Tables


def read_fresh(folder: Path) -> FreshAnswers:
    """What a folder holds: a file for each training, or the three files of `keep_fresh`."""
    if (folder / KEPT_VALIDATION).is_file():
        plain, apart = read_tables(folder / KEPT_PLAIN), read_tables(folder / KEPT_OWN)
        own_tables = {arm: apart.get(arm, seeds) for arm, seeds in plain.items()}
        return FreshAnswers(validated=read_validated(folder / KEPT_VALIDATION), own=own_tables, plain=plain)
    validated = read_validated(folder)
    own = own_temperatures(validated)
    return FreshAnswers(
        validated=validated, own=tables_at(folder, own), plain=tables_at(folder, dict.fromkeys(own, PLAIN))
    )


def keep_fresh(found: FreshAnswers, folder: Path) -> None:
    """Write what the report needs as three small files. Methods whose own temperature is 1 are in one of them alone."""
    folder.mkdir(parents=True, exist_ok=True)
    rounded = {
        arm: {
            seed: {f"{t:g}": round(best, 5) for t, best in temperatures.items()} for seed, temperatures in seeds.items()
        }
        for arm, seeds in found.validated.items()
    }
    text = json.dumps(rounded, separators=(",", ":"))
    (folder / KEPT_VALIDATION).write_text(text + "\n", encoding="utf-8")
    own = own_temperatures(found.validated)
    keep_tables({arm: seeds for arm, seeds in found.own.items() if own[arm] != PLAIN}, folder / KEPT_OWN)
    keep_tables(found.plain, folder / KEPT_PLAIN)


def report(found: FreshAnswers, earlier: Tables) -> str:
    """The temperatures, the tables at own temperatures and at 1, the hypotheses, and what repeats the earlier table."""
    return paragraphs(
        temperatures(found.validated),
        "At own temperatures:",
        method_table.report(found.own, "vpo", compared=COMPARED),
        "At temperature 1:",
        method_table.report(found.plain, "vpo", compared=COMPARED),
        "The hypotheses, at own temperatures:",
        hypotheses(found.own),
        "The hypotheses, at temperature 1:",
        hypotheses(found.plain),
        repeated(earlier, found.plain, "at temperature 1"),
        repeated(earlier, found.own, "at own temperatures"),
    )


def temperatures(validated: Validated) -> str:
    """For each method the mean best of its answers to validation mazes at each temperature, its own in bold."""
    own = own_temperatures(validated)
    tried = sorted({t for seeds in validated.values() for found in seeds.values() for t in found})
    rows = []
    for arm, seeds in validated.items():
        means = {t: float(np.mean([found[t] for found in seeds.values()])) for t in tried}
        cells = [f"**{mean:.3f}**" if t == own[arm] else f"{mean:.3f}" for t, mean in means.items()]
        rows.append([title(arm), *cells])
    return table(["validation mazes, T =", *(f"{t:g}" for t in tried)], rows)


def hypotheses(found: Tables) -> str:
    """A sentence about each hypothesis, family by family."""
    parts = []
    for family, pairs in STATED.items():
        compared = [
            MethodComparison(ahead=_ahead(found, one, other, figure), one=title(one), other=title(other), figure=figure)
            for one, other, figures in pairs
            for figure in figures
        ]
        parts.append("\n".join([f"{family}:", "", *(f"- {sentence}" for sentence in conclusions(compared))]))
    return paragraphs(*parts)


def repeated(earlier: Tables, fresh: Tables, where: str) -> str:
    """How many of the earlier table's differences to VPO are there again, and which are not.

    A difference is there if its interval leaves zero out, and there again if it then has the same sign.
    """
    same, gone = 0, []
    for arm in earlier:
        if arm == "vpo" or TrainingArm.of(arm).method == "base":
            continue
        for figure in COMPARED:
            before, after = (_ahead(tables, arm, "vpo", figure) for tables in (earlier, fresh))
            if before is None or after is None or before.low <= 0 <= before.high:
                continue
            again = not after.low <= 0 <= after.high and (after.value > 0) == (before.value > 0)
            same += again
            gone += [] if again else [f"{title(arm)}, {figure}: {before.signed} before, {after.signed} now"]
    head = (
        f"The earlier table has {same + len(gone)} differences to VPO whose interval leaves zero out. On fresh mazes"
        f" {where}, {same} are there again"
    )
    return f"{head}." if not gone else "\n".join([f"{head}. The others:", "", *(f"- {line}" for line in gone)])


def by_seed(found: Tables, one: str, other: str) -> str:
    """How far a method lies above another in each pair of trainings with the same seed, with intervals over mazes."""
    rows = []
    for seed in sorted(set(found.get(one, ())) & set(found.get(other, ()))):
        sides = [[cells({seed: found[arm][seed]}, figure).T for arm in (one, other)] for figure in FIGURES]
        rows.append([str(seed), *(signed(intervals.difference(first, second)) for first, second in sides)])
    return table([f"{title(one)} minus {title(other)}, seed", *FIGURES], rows)


def _ahead(found: Tables, one: str, other: str, figure: str) -> intervals.Difference | None:
    both = sorted(set(found.get(one, ())) & set(found.get(other, ())))
    if not both:
        return None
    first, second = (cells({seed: found[arm][seed] for seed in both}, figure) for arm in (one, other))
    return intervals.difference(first, second)


def main() -> None:
    """Print the report, and keep what it needs."""
    parser = argparse.ArgumentParser(description="Report what finished trainings do on fresh mazes.")
    parser.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--keep", type=Path, metavar="PATH", help="write what is reported as small files")
    parser.add_argument("--earlier", type=Path, default=EARLIER, metavar="FILE", help="the table on the first mazes")
    parser.add_argument("--pair", metavar="ONE,OTHER", help="only the differences of two methods, seed by seed")
    told = parser.parse_args()
    if told.pair is not None:
        one, other = told.pair.split(",")
        plain = (
            read_tables(told.output)
            if told.output.is_file()
            else tables_at(told.output, dict.fromkeys((one, other), PLAIN))
        )
        if told.keep is not None:
            keep_tables(plain, told.keep)
        sys.stdout.write(by_seed(plain, one, other) + "\n")
        return
    found = read_fresh(told.output)
    if told.keep is not None:
        keep_fresh(found, told.keep)
        found = read_fresh(told.keep)
    sys.stdout.write(report(found, read_tables(told.earlier)) + "\n")


if __name__ == "__main__":
    main()
