"""Knapsacks of the study: their optima and fronts are those of all subsets, and the draw decides on the conflict."""

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from training.errors import TrainingError
from training.knapsack import ITEMS, KINDS, OBJECTIVES, Kind, knapsack, knapsacks, measure
from training.study.knapsack_table import FIGURES, METHODS, report
from training.study.method_table import read_tables

ROOT = Path(__file__).parents[3]
SUBSETS = np.array(list(product((False, True), repeat=ITEMS)))


@pytest.mark.parametrize("kind", KINDS)
def test_the_front_and_the_optima_are_those_of_all_subsets(kind: Kind) -> None:
    problem = knapsack(kind, "test", 3)
    fitting = [subset for subset in SUBSETS if problem.costs[subset].sum() <= problem.capacity]
    worths = np.array([problem.values[subset].sum(axis=0) for subset in fitting])
    np.testing.assert_allclose(worths.max(axis=0), 1.0)
    weights = np.array([[0.2, 0.3, 0.5], [1.0, 0.0, 0.0]])
    np.testing.assert_allclose(problem.optimum(weights), (worths @ weights.T).max(axis=0))
    for point in problem.front:
        assert not ((worths >= point - 1e-9).all(axis=1) & (worths > point + 1e-9).any(axis=1)).any()
        assert np.abs(worths - point).max(axis=1).min() < 1e-9


def test_conflict_makes_long_fronts_and_collinear_objectives_make_points() -> None:
    sizes = {kind: np.mean([len(problem.front) for problem in knapsacks(kind, "test", 10)]) for kind in KINDS}
    assert sizes["collinear"] == 1
    assert sizes["conflict"] > 3 * sizes["independent"] > 3


def test_a_subset_that_does_not_fit_earns_nothing() -> None:
    problem = knapsack("independent", "test", 0)
    assert not problem.rewards(np.ones((1, ITEMS), dtype=bool)).any()


def test_the_whole_front_has_every_share_and_nothing_has_none() -> None:
    problem = knapsack("conflict", "test", 1)
    figures = measure(problem, problem.front)
    assert figures["volume"] == figures["front"] == figures["optima"] == pytest.approx(1)
    nothing = measure(problem, np.zeros((4, OBJECTIVES)))
    assert not any(nothing.values())


def test_a_knapsack_is_always_the_same_and_splits_differ() -> None:
    again = knapsack.__wrapped__("conflict", "train", 7)
    np.testing.assert_array_equal(knapsack("conflict", "train", 7).values, again.values)
    assert not np.array_equal(again.costs, knapsack("conflict", "test", 7).costs)
    with pytest.raises(TrainingError, match="no 'train' knapsacks of the kind 'small'"):
        knapsack("small", "train", 0)


def test_the_report_says_what_became_of_each_hypothesis(tmp_path: Path) -> None:
    leads: dict[Kind, float] = {"collinear": 0.0, "independent": 0.04, "conflict": 0.1}
    for kind, lead in leads.items():
        for seed, method in product(range(3), ("vpo", "max_at_k")):
            level = 0.5 + seed / 1000 + (lead if method == "vpo" else 0) + (seed / 900 if method == "vpo" else 0)
            figures = [dict.fromkeys(FIGURES, level + place / 10) for place in range(4)]
            (tmp_path / kind).mkdir(exist_ok=True)
            (tmp_path / kind / f"{method}-s{seed}.json").write_text(json.dumps(figures))
    text = report({kind: read_tables(tmp_path / kind) for kind in leads})
    assert "- VPO lies above Max@k, k = 4 on ew@64 by 0.101" in text.partition("### Conflict")[2]
    assert "VPO and Max@k, k = 4 cannot be told apart on volume" in text.partition("### Independent")[0]
    assert "on ew@64, in conflict minus collinear: +0.100 [+0.100, +0.100]." in text
    assert "on volume, in conflict minus independent: +0.060 [+0.060, +0.060]." in text
    assert "on volume, independent minus collinear: +0.040 [+0.040, +0.040]." in text
    assert "base" not in METHODS


def test_the_page_shows_the_tables_of_the_kept_figures() -> None:
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    kept = {kind: read_tables(ROOT / "benchmarks" / "method_table" / "knapsack" / f"{kind}.json") for kind in KINDS}
    assert all(
        {*tables} == {*METHODS} and all(len(seeds) == 5 for seeds in tables.values()) for tables in kept.values()
    )
    lines = [line for line in report(kept).splitlines() if line.startswith(("| ", "- "))]
    assert [line for line in lines if line not in page] == []
