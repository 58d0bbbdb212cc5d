"""Finished trainings on fresh mazes: the temperature of a method, and what its report says of hypotheses."""

from pathlib import Path

import numpy as np
import pytest

from evolve.errors import ConfigurationError
from training.study.finished_trainings import own_temperatures
from training.study.fresh_mazes import (
    FreshAnswers,
    by_seed,
    hypotheses,
    keep_fresh,
    read_fresh,
    repeated,
    report,
    temperatures,
)
from training.study.method_table import FIGURES, read_tables
from training.study.training_arms import Tables

ROOT = Path(__file__).parents[3]
LEVELS = {"grpo": 0.2, "max_at_k": 0.5, "vpo": 0.3, "vpo_marginal": 0.4}


def tables(levels: dict[str, float], noise: float = 0.01) -> Tables:
    """Five trainings of each method and eight mazes, around a level."""
    rng = np.random.default_rng(0)
    return {
        arm: {
            seed: [{figure: round(level + float(rng.normal(0, noise)), 4) for figure in FIGURES} for _ in range(8)]
            for seed in range(5)
        }
        for arm, level in levels.items()
    }


def test_the_own_temperature_is_best_over_all_trainings_of_a_method() -> None:
    validated = {
        "grpo": {0: {0.7: 0.9, 1.0: 0.7}, 1: {0.7: 0.1, 1.0: 0.6}},  # one training prefers 0.7, both together 1
        "vpo": {0: {0.7: 0.5, 1.0: 0.4, 1.6: 0.6}},
        "maxrl": {0: {0.5: 0.5, 1.3: 0.5, 2.0: 0.5}},  # of equals the nearest to 1
    }
    assert own_temperatures(validated) == {"grpo": 1.0, "vpo": 1.6, "maxrl": 1.3}
    with pytest.raises(ConfigurationError, match="different temperatures"):
        own_temperatures({"grpo": {0: {0.7: 0.9}, 1: {1.0: 0.6}}})


def test_the_own_temperature_is_in_bold() -> None:
    rows = temperatures({"grpo": {0: {2.0: 0.25, 1.0: 0.5}}}).splitlines()
    assert rows[0] == "| validation mazes, T = | 1 | 2 |"
    assert rows[2] == "| GRPO | **0.500** | 0.250 |"


def test_a_hypothesis_is_above_below_or_open() -> None:
    text = hypotheses(tables(LEVELS))
    assert "VPO with credit by answer, k = 4 lies above VPO on best@64 by 0.1" in text
    assert "VPO with credit by answer, k = 4 lies below Max@k, k = 4 on volume by 0.1" in text
    assert "GDPO and Max@k, k = 4 were not both measured on ew@64." in text
    even = hypotheses(tables(dict.fromkeys(LEVELS, 0.3), noise=0.1))
    assert "VPO and GRPO cannot be told apart on ew@64" in even


def test_differences_that_are_not_there_again_are_listed() -> None:
    earlier = tables(LEVELS)
    assert repeated(earlier, earlier, "here") == (
        "The earlier table has 15 differences to VPO whose interval leaves zero out. On fresh mazes here, 15 are there"
        " again."
    )
    turned = repeated(earlier, tables(LEVELS | {"grpo": 0.4}), "here").splitlines()
    assert turned[0].startswith("The earlier table has 15 differences to VPO")
    assert ", 10 are there again" in turned[0]
    assert [line.split(":")[0] for line in turned[2:]] == [
        f"- GRPO, {figure}" for figure in ("best@4", "best@64", "ew@64", "volume", "diversity")
    ]


def test_kept_answers_give_the_same_report(tmp_path: Path) -> None:
    validated = {arm: {seed: {0.7: 0.25, 1.0: 0.5} for seed in range(5)} for arm in LEVELS}
    validated["vpo"] = {seed: {0.7: 0.5, 1.0: 0.25} for seed in range(5)}
    plain = tables(LEVELS, noise=0.02)
    found = FreshAnswers(validated=validated, own=plain | {"vpo": tables({"vpo": 0.7})["vpo"]}, plain=plain)
    keep_fresh(found, tmp_path)
    again = read_fresh(tmp_path)
    assert report(again, plain) == report(found, plain)
    assert again.own["vpo"] != again.plain["vpo"]


def test_the_report_of_the_study_is_that_of_the_kept_answers() -> None:
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    found = read_fresh(ROOT / "benchmarks" / "method_table" / "fresh")
    assert {len(seeds) for arm, seeds in found.plain.items() if arm != "base"} == {5}
    assert {len(mazes) for seeds in found.own.values() for mazes in seeds.values()} == {200}
    for block in report(found, read_tables(ROOT / "benchmarks" / "method_table" / "hard.json")).split("\n\n"):
        assert block in page


def test_the_pairs_of_the_study_are_those_of_the_kept_answers() -> None:
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    kept = sorted((ROOT / "benchmarks" / "method_table").glob("*_steps_fresh.json"))
    assert kept
    for path in kept:
        assert by_seed(read_tables(path), "vpo_marginal", "vpo") in page


def test_a_pair_of_methods_is_compared_seed_by_seed() -> None:
    found = tables(LEVELS, noise=0.001)
    del found["grpo"][3]
    rows = [line.split(" | ") for line in by_seed(found, "vpo", "grpo").splitlines()]
    assert rows[0][:2] == ["| VPO minus GRPO, seed", "best@1"]
    assert [row[0] for row in rows[2:]] == ["| 0", "| 1", "| 2", "| 4"]  # of the seeds that both have
    assert all(0.098 < float(value.split()[0].strip("*+")) < 0.102 for row in rows[2:] for value in row[1:])


def test_the_interval_of_a_pair_is_not_that_of_shares() -> None:
    once = [dict.fromkeys(FIGURES, value) for value in (1.0, 0.0, 0.0, 0.0)]
    never = [dict.fromkeys(FIGURES, 0.0)] * 4
    row = by_seed({"vpo": {0: once}, "grpo": {0: never}}, "vpo", "grpo").splitlines()[2]
    assert "+0.250 [-0.546, +1.046]" in row  # Student's t over four mazes, neither cut at 0 nor that of a count
