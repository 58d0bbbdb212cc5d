"""The report: the methods, the results, and their comparison with targets and published figures."""

from training.study import published
from training.study.findings import Findings
from training.study.gather import AT_ONE
from training.study.markdown import paragraphs, table
from training.study.plan import (
    BASE,
    CHAIN,
    GRPO,
    KINDS,
    MAX_AT_K,
    MEASURED_ON,
    NAMES,
    SEARCHED_ON,
    VPO,
    in_order,
    name_of,
)
from training.study.sampling_section import caveat_of_temperature, caveat_of_the_baseline, sampling_section
from training.study.search_section import (
    caveat_of_the_parent,
    ended_early,
    never_solved,
    search_section,
)
from training.study.targets import targets


def report(found: Findings) -> str:
    """The whole report in Markdown. Its pictures are in `images/` beside it."""
    return (
        paragraphs(
            "# Vector Policy Optimization on mazes: what it is worth",
            "This report compares small policies in plain sampling and inside searches. They are trained from scratch"
            " and differ only in the training method. `evolve study` wrote it, and computed every figure and every"
            " verdict from its measurements.",
            _targets(found),
            _done(found),
            sampling_section(found),
            search_section(found),
            ended_early(found),
            _caveats(found),
            _published(),
        )
        + "\n"
    )


def _targets(found: Findings) -> str:
    rows = [[target.name, target.verdict, target.seen] for target in targets(found)]
    return paragraphs("## Targets", table(["target", "", "seen"], rows), never_solved(found, AT_ONE))


def _done(found: Findings) -> str:
    scope = found.scope
    counts = " and ".join(f"{scope.mazes[kind]} {kind}" for kind in KINDS)
    return paragraphs(
        "## What was done",
        f"    {found.command}",
        f"Mazes are those of `evolve.domains.maze`, fixed by split and number. Plain sampling uses {counts} mazes of"
        f" the split `{MEASURED_ON}`, with {scope.answers} answers each. Searches use {scope.questions} hard mazes of"
        f" `{SEARCHED_ON}`. Temperatures and settings of searches were chosen on `validation`. Training saw only"
        " `train`. The optimum of every maze is known exactly.",
        "Intervals are 95 % percentile intervals of a bootstrap over training seeds and mazes, crossed. All models"
        " answer the same mazes, so a draw picks mazes once for all seeds and methods, and also picks seeds."
        " Differences and ratios are paired, because models with the same seed have the same warm start. With few"
        " training seeds, an interval says little about another training" + _shared_start(found),
        "Sentences that compare VPO with other methods use p-values of the same draws. Those of the same paragraph or"
        " list are adjusted together by Holm's method. So the chance of any false difference among them stays below"
        " 5 %. Bold in tables marks single intervals, which are not adjusted.",
        _models(found),
    )


def _shared_start(found: Findings) -> str:
    starts = sum(contender.method == BASE for contender in found.contenders)
    return ". With a single warm start for all seeds, it says nothing about another warm start." if starts == 1 else "."


def _models(found: Findings) -> str:
    rows = []
    for method in in_order([contender.method for contender in found.contenders]):
        models = [contender for contender in found.contenders if contender.method == method]
        seeds = ", ".join(str(contender.seed) for contender in models)
        lengths = ", ".join(str(length) for length in sorted({contender.m for contender in models}))
        rows.append([name_of(method), f"`{method}`", seeds, lengths, ", ".join(f"`{one.digest}`" for one in models)])
    return table(
        ["method", "estimator", "training seeds", "answers per chain", "models (SHA-256 of their files)"], rows
    )


def _caveats(found: Findings) -> str:
    return paragraphs(
        "## Caveats, answered by data",
        "- **Temperature.** Training can make a policy too certain, and a higher temperature can undo this."
        f" {NAMES[VPO]} − {NAMES[GRPO]}:",
        caveat_of_temperature(found),
        f"- **A strong baseline.** {NAMES[CHAIN].capitalize()} also trains chains, for their best answer under a fixed"
        " weighting:",
        caveat_of_the_baseline(found, CHAIN),
        f"- **A stronger baseline.** {NAMES[MAX_AT_K]} trains single answers, by their contribution to the best of"
        " several under a fixed weighting:",
        caveat_of_the_baseline(found, MAX_AT_K),
        "- **Does a parent help?** `islands` against `best_of_n` with the same policy and budget, and at equal tokens:",
        caveat_of_the_parent(found),
    )


def _published() -> str:
    return paragraphs(
        "## Published figures: different work",
        f"The figures are from {published.SOURCE}. They are from large language models on other tasks, measured by"
        " others in another way. The maze among the tasks has another size and another rule. The figures show the"
        " direction of the claim. You cannot compare their size with ours.",
        "best@30 of the fixed scalar, and mean L1 distance between reward vectors:",
        table(published.HEADLINE[0], published.HEADLINE[1:]),
        "LiveCodeBench, read from a figure to 0.005:",
        table(published.PROGRAMS[0], published.PROGRAMS[1:]),
        published.SEARCH,
    )
