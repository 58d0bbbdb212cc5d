"""Verdicts and words of a report follow from what was measured, whichever way it came out."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from training.study.campaign import SettingsScore
from training.study.contenders import Contender
from training.study.findings import Findings
from training.study.gather import AT_ONE, LABELS, Compared, PlainFigures
from training.study.intervals import Difference
from training.study.markdown import MethodComparison, conclusions
from training.study.plan import BASE, CHAIN, GRPO, KINDS, QUICK, STRATEGIES, TRIED, VPO
from training.study.report import report
from training.study.results import MethodTable
from training.study.targets import Target, targets

METHODS = (BASE, GRPO, CHAIN, VPO)
MAZES, SEEDS = 40, (0, 1, 2, 3, 4)
FIGURES = [f"{part}@{k}" for part in ("best", "solved", "ew") for k in QUICK.ks]
EQUAL = dict.fromkeys(METHODS, 0.5)


def measured(value: float, names: list[str], seeds: tuple[int, ...] = SEEDS) -> MethodTable:
    """A method whose figures are `value` but for what mazes and seeds add, the same to every method."""
    noise = np.random.default_rng(0).normal(0, 0.02, (len(seeds), MAZES))
    return MethodTable(seeds=seeds, tables=dict.fromkeys(names, value + noise), tokens=10.0, temperature=1.0)


def solving(share: float, temperature: float = 1.0) -> MethodTable:
    """Searches that solve the first mazes, that share of them."""
    solved = np.tile((np.arange(MAZES) < round(share * MAZES)).astype(float), (len(SEEDS), 1))
    names = [f"{figure}@{b}" for figure in ("best", "solved", "answers-solved", "tokens-solved") for b in QUICK.budgets]
    tables = dict.fromkeys(names, solved) | {"ended": np.zeros_like(solved)}
    return MethodTable(seeds=SEEDS, tables=tables, tokens=10.0, temperature=temperature)


def findings(
    sampled: Mapping[str, float] = EQUAL,
    islands: Mapping[str, float] = EQUAL,
    plain: Mapping[str, float] = EQUAL,
    own: float = 1.3,
) -> Findings:
    strategies = {"islands": islands, "best_of_n": plain, "sequential": plain}
    compared = {method: measured(value, [*FIGURES, "volume", "diversity"]) for method, value in sampled.items()}
    return Findings(
        scope=QUICK,
        contenders=[
            Contender(method=method, seed=seed, folder=Path("trained"), m=1, digest="0123456789abcdef")
            for method in METHODS
            for seed in SEEDS
        ],
        sampled={(kind, label): compared for kind in KINDS for label in LABELS},
        searched={
            (strategy, label): {method: solving(share, at) for method, share in strategies[strategy].items()}
            for strategy in STRATEGIES
            for label, at in zip(LABELS, (1.0, own), strict=True)
        },
        temperatures={kind: {method: {1.0: 0.5, 1.3: 0.6} for method in METHODS} for kind in KINDS},
        tried=[],
        heated={VPO: {1.0: SettingsScore(solved=0.2, best=0.7), 1.3: SettingsScore(solved=0.2, best=0.8)}},
        settings=TRIED[0],
        plain=PlainFigures(
            missing={kind: dict.fromkeys(METHODS, 0.01) for kind in KINDS},
            repeats={kind: dict.fromkeys(METHODS, 0.02) for kind in KINDS},
            hit=np.zeros((3, MAZES)),
            many=256,
        ),
        command="evolve study trained -o results",
    )


def verdicts(found: Findings, part: str) -> set[str]:
    chosen = [target.verdict for target in targets(found) if part in target.name]
    assert chosen
    return set(chosen)


@pytest.mark.parametrize(("vpo", "verdict"), [(0.7, "met"), (0.5, "not met"), (0.3, "not met")])
def test_a_target_is_met_when_vpo_lies_above_at_every_size(vpo: float, verdict: str) -> None:
    assert verdicts(findings({**EQUAL, VPO: vpo}), "above GRPO on best@k") == {verdict}


@pytest.mark.parametrize(("step", "verdict"), [(0.001, "met"), (0.1, "open")])
def test_a_lead_that_seeds_do_not_agree_on_leaves_a_target_open(step: float, verdict: str) -> None:
    full = findings({**EQUAL, VPO: 0.6})
    uneven = step * np.arange(-2, 3)[:, None]  # what each training is better or worse by
    compared = {**full.sampled["hard", LABELS[0]]}
    tables = {name: table + uneven for name, table in compared[VPO].tables.items()}
    compared[VPO] = replace(compared[VPO], tables=tables)
    found = replace(full, sampled=dict.fromkeys(full.sampled, compared))
    assert verdicts(found, "VPO at or above GRPO") == {verdict}
    assert verdicts(found, "above GRPO on best@k") == {verdict}


def test_level_is_enough_at_own_temperatures() -> None:
    assert verdicts(findings(), "own temperatures: VPO at or above") == {"met"}
    assert verdicts(findings({**EQUAL, CHAIN: 0.6}), "at or above best of chain") == {"not met"}
    assert verdicts(findings({**EQUAL, CHAIN: 0.6}), "at or above GRPO") == {"met"}


@pytest.mark.parametrize(("islands", "verdict"), [(0.9, "met"), (0.6, "open"), (0.25, "not met")])
def test_search_pays_where_the_interval_of_the_ratio_begins_at_1_2(islands: float, verdict: str) -> None:
    assert verdicts(findings(islands={**EQUAL, VPO: islands}), "islands with VPO") == {verdict}


def test_plain_samples_that_hold_most_optima_miss_the_target() -> None:
    found = findings()
    assert verdicts(found, "miss the optimum") == {"met"}
    full = replace(found, plain=replace(found.plain, hit=np.ones((3, MAZES))))
    assert verdicts(full, "miss the optimum") == {"not met"}


def test_four_seeds_are_not_enough() -> None:
    found = findings()
    assert verdicts(found, "training seeds") == {"met"}
    fewer = replace(found, contenders=[one for one in found.contenders if (one.method, one.seed) != (VPO, 2)])
    assert verdicts(fewer, "training seeds") == {"not met"}


def test_what_was_not_measured_is_neither_met_nor_missed() -> None:
    full = findings()
    nothing: Compared = {}
    bare = replace(full, sampled=dict.fromkeys(full.sampled, nothing), searched=dict.fromkeys(full.searched, nothing))
    bare = replace(
        bare, plain=PlainFigures(missing={k: {} for k in KINDS}, repeats={k: {} for k in KINDS}, hit=None, many=0)
    )
    judged = targets(bare)
    assert {target.met for target in judged[1:]} == {None}
    assert Target(name="", met=None, seen="").verdict == "not measured"
    text = report(bare)
    assert text.count("Not measured.") >= 6


def test_words_follow_the_numbers() -> None:
    above, below, level = (report(findings({**EQUAL, VPO: vpo})) for vpo in (0.7, 0.3, 0.5))
    assert "VPO lies above GRPO on best@16 by 0.200 (difference +0.200" in above
    assert "VPO lies below GRPO on best@16 by 0.200 (difference -0.200" in below
    assert "VPO and GRPO cannot be told apart on best@16" in level
    assert "lies above" not in below


def compared(*p_values: float | None) -> list[str]:
    """Conclusions on differences of 0.1 with these p-values, as the first two words behind the method's name."""
    comparisons = [
        MethodComparison(
            ahead=None if p is None else Difference(value=0.1, low=0.01, high=0.2, p_value=p),
            one="VPO",
            other="GRPO",
            figure="best@16",
        )
        for p in p_values
    ]
    return [" ".join(sentence.split()[1:3]) for sentence in conclusions(comparisons)]


def test_conclusions_that_are_drawn_together_are_corrected_together() -> None:
    """By hand: 0.02 x 3 and 0.03 x 2 reach 0.05. 0.01 x 3 does not, nor does 0.02 x 2 where two were made."""
    assert compared(0.03) == ["lies above"]
    assert compared(0.02, 0.03, 0.04) == ["and GRPO"] * 3
    assert compared(0.04, 0.01, 0.03) == ["and GRPO", "lies above", "and GRPO"]
    assert compared(0.02, None, 0.04) == ["lies above", "and GRPO", "lies above"]


@pytest.mark.parametrize(("islands", "word"), [(0.75, "helps"), (0.25, "harms"), (0.5, "makes no difference")])
def test_the_report_says_whether_a_parent_helps(islands: float, word: str) -> None:
    assert f"Showing VPO a parent {word}" in report(findings(islands={**EQUAL, VPO: islands}))


def test_mazes_that_only_one_method_solves_are_counted() -> None:
    text = report(findings(islands={BASE: 0.0, GRPO: 0.25, CHAIN: 0.5, VPO: 0.75}))
    assert f"{AT_ONE.capitalize()}, VPO solves 20 of 40 mazes that GRPO never solves." in text
    assert f"{AT_ONE.capitalize()}, GRPO solves 0 of 40 mazes that VPO never solves." in text


def test_published_figures_are_marked_as_different_work() -> None:
    text = report(findings())
    section = text[text.index("## Published figures") :]
    assert "different work" in section
    assert "2605.22817" in section
    assert "0.593" in section


def test_a_report_has_the_same_number_of_cells_in_every_line_of_a_table() -> None:
    lines = report(findings()).splitlines()
    for line, following in pairwise(lines):
        if line.startswith("|") and following.startswith("|"):
            assert line.count("|") == following.count("|")


def test_a_missing_seed_pairs_only_those_in_common() -> None:
    found = findings({**EQUAL, VPO: 0.7})
    key = (KINDS[0], AT_ONE)
    names = [*FIGURES, "volume", "diversity"]
    sampled = {**found.sampled, key: {**found.sampled[key], GRPO: measured(0.5, names, seeds=(7,))}}
    assert "VPO and GRPO were not both measured" in report(replace(found, sampled=sampled))


def test_a_temperature_of_searches_is_shown_with_the_one_that_was_taken() -> None:
    text = report(findings())
    assert "| VPO | 0.200, 0.700 | **0.200, 0.800** |" in text


def test_searches_at_own_temperatures_are_told_once_where_all_of_these_are_1() -> None:
    apart, alike = findings(), findings(own=1.0)
    assert len(report(alike)) < len(report(apart))
    assert "### Searches at its own temperature\n\nIt is 1 for every method: as above." in report(alike)
    assert len(targets(alike)) == len(targets(apart)) - len(QUICK.budgets)
