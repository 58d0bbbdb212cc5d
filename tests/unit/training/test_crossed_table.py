"""Set rewards crossed with estimators: what is trained, and what the report says of the hypotheses."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evolve.vpo import METHODS
from training.study.crossed_table import (
    ARMS,
    CONFLICT,
    CREDITED,
    DRAWN_WEIGHTS,
    EQUAL_WEIGHTS,
    FIGURES,
    KNOWN_TABLES,
    MAZES,
    STATED,
    TRAINED,
    read_crossed,
    report,
)
from training.study.intervals import difference
from training.study.markdown import signed
from training.study.method_table import cells, read_tables
from training.study.training_arms import TableScope, TrainingArm, recipe_of

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "benchmarks" / "method_table" / "crossed"


def keep(folder: Path, domain: str, arm: str, level: float, seeds: int = 3) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for seed in range(seeds):
        value = level + seed / 1000 + len(arm) * seed / 90_000
        found = [dict.fromkeys(FIGURES[domain], value + place / 10) for place in range(4)]
        (folder / f"{arm}-s{seed}.json").write_text(json.dumps(found))


def test_each_row_has_one_set_reward_and_each_column_one_estimator() -> None:
    rows = [[METHODS[TrainingArm.of(arm).method] for arm in row] for row in (EQUAL_WEIGHTS, DRAWN_WEIGHTS)]
    chains, credited, single = zip(*rows, strict=True)
    assert all(method.chains and method.credit is None for method in chains)
    assert credited[0] == credited[1]
    assert all(method.subsets and not method.chains for method in single)
    assert {arm for pairs in STATED.values() for pair in pairs for arm in pair} == {*ARMS}


@pytest.mark.parametrize("arm", [*TRAINED, *CREDITED])
def test_arms_differ_in_nothing_but_method_and_weights(arm: str) -> None:
    learnt, usual = (recipe_of(one, 2, TableScope()).reinforcement for one in (arm, TrainingArm.of(arm).method))
    assert learnt == replace(usual, alpha=TrainingArm.of(arm).alpha)
    assert learnt.k in (4, None)
    assert (learnt.answers, learnt.m) == (32, 4 if METHODS[TrainingArm.of(arm).method].chains else 1)


def test_the_report_says_what_became_of_each_family(tmp_path: Path) -> None:
    known, own = {}, {}
    for domain, lead in ((CONFLICT, 0.1), (MAZES, 0.0)):
        known[domain], own[domain] = tmp_path / domain / "known", tmp_path / domain / "own"
        for arm in ("max_at_k", *DRAWN_WEIGHTS):
            keep(known[domain], domain, arm, 0.5 + (lead if arm in DRAWN_WEIGHTS else 0))
        for arm in (*TRAINED, *CREDITED):
            keep(own[domain], domain, arm, 0.5)
    found = {domain: read_crossed(own[domain], known[domain]) for domain in known}
    assert [*found[CONFLICT]] == [*ARMS]
    conflict, _, mazes = report(found).partition("### Small mazes")
    assert "- VPO lies above best of chain on ew@64 by 0.100" in conflict
    assert "- VPO and best of chain cannot be told apart on ew@64" in mazes
    assert "- VPO, alpha = 0.25 lies below VPO on volume by 0.100" in conflict
    assert "over best of chain on ew@64, in conflict minus on mazes: +0.100" in mazes


def test_the_tables_that_hold_the_other_cells_are_in_the_repository() -> None:
    for domain, path in KNOWN_TABLES.items():
        found = read_tables(ROOT / path)
        assert {arm for arm in ARMS if arm not in {*TRAINED, *CREDITED}} <= {*found}, domain


def test_the_page_has_the_differences_that_the_defaults_follow_from() -> None:
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8").partition("## The defaults")[2]
    known = {"small mazes, 40 steps": "small.json", "knapsacks in conflict": "knapsack/conflict.json"}
    known["collinear knapsacks"] = "knapsack/collinear.json"
    for name, file in known.items():
        found = read_tables(ROOT / "benchmarks" / "method_table" / file)
        told = [
            signed(difference(cells(found["vpo_marginal"], figure), cells(found["vpo"], figure)))
            for figure in ("best@4", "best@64", "ew@64", "volume", "diversity")
        ]
        assert f"| {' | '.join([name, *told])} |" in page


def test_the_page_shows_the_tables_of_the_kept_figures() -> None:
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    found = {domain: read_crossed(KEPT / f"{domain}.json", ROOT / path) for domain, path in KNOWN_TABLES.items()}
    for domain, arms in found.items():
        assert {*EQUAL_WEIGHTS, *DRAWN_WEIGHTS} <= {*arms}
        assert {len(seeds) for seeds in arms.values()} == {5}, domain
    assert {*CREDITED} <= {*found[MAZES]}
    lines = [line for line in report(found).splitlines() if line.startswith(("| ", "- "))]
    assert [line for line in lines if line not in page] == []
