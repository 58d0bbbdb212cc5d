"""Policies compared inside searches: what is searched, what is kept, and what an interval speaks of."""

import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.policy_searches import (
    METHODS,
    STRATEGIES,
    SearchArm,
    SearchResults,
    campaign_of,
    keep,
    main,
    read_kept,
    report,
    results_of,
    search,
)
from evolve.statistics.intervals import Estimate
from evolve.statistics.t_distribution import quantile
from tests.unit.training.drunkard import write_drunkard
from training.study.campaign import SettingsScore
from training.study.gather import AT_ONE, OWN
from training.study.intervals import difference
from training.study.markdown import signed
from training.study.plan import QUICK

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    for place, method in enumerate((*METHODS, "grpo")):
        write_drunkard(folder / f"{method}-s0", m=2, seed=place)
    return folder


def test_models_search_with_the_same_seeds_and_their_figures_are_kept(models: Path, tmp_path: Path) -> None:
    scope = replace(
        QUICK, budgets=(8, 16), strategies=STRATEGIES, searched=METHODS, beside=(), search_seeds=2, tuned_evaluations=8
    )
    campaign = campaign_of(models, tmp_path, scope)
    assert [contender.method for contender in campaign.contenders] == [*METHODS]
    search(campaign, workers=1)
    found = results_of(campaign)
    plain = [arm for arm in found.figures if arm.label == AT_ONE]
    assert [(arm.strategy, arm.method) for arm in plain] == [(one, two) for one in STRATEGIES for two in METHODS]
    assert {found.at[arm] for arm in plain} == {1.0}
    for arm in plain:
        assert {seed: [*searches] for seed, searches in found.figures[arm].items()} == {0: [0, 1]}
        assert found.rows(arm, "volume@16").shape == (1, 2)
        assert (found.rows(arm, "volume@16") >= found.rows(arm, "volume@8")).all()
        assert (found.rows(arm, "answers@16") >= 15).all()  # the seed is evaluated without an answer
    keep(found, tmp_path / "kept.json")
    kept = read_kept(tmp_path / "kept.json")
    assert report(kept) == report(found)
    assert json.loads((tmp_path / "kept.json").read_text())["budgets"] == [8, 16]


def results(shift: float, trainings: int = 1, searches: int = 4, own: float = 1.0) -> SearchResults:
    """Two methods, the second above the first by `shift` in every maze, with a little noise of the searches."""
    found = SearchResults(
        reference=METHODS[0],
        budgets=(64, 512),
        temperatures={method: {1.0: SettingsScore(solved=0.5, best=0.7)} for method in METHODS},
    )
    figures = ("solved", "volume", "best", "tokens-solved", "answers")
    names = [f"{figure}@{budget}" for figure in figures for budget in (64, 512)]
    for place, method in enumerate(METHODS):
        for label in (AT_ONE, OWN):
            arm = SearchArm(label=label, strategy="islands", method=method)
            found.at[arm] = 1.0 if label == AT_ONE else own
            for training in range(trainings):
                for seed in range(searches):
                    noise = np.sin(np.arange(5) + 7 * seed + 11 * training + 3 * place) / 1000
                    values = (0.3 + place * shift + noise).tolist()
                    found.figures.setdefault(arm, {}).setdefault(training, {})[seed] = dict.fromkeys(names, values)
    return found


def test_the_unit_is_a_maze_where_there_is_one_training() -> None:
    found = results(0.1)
    one, two = (
        np.mean([seeds["volume@512"] for seeds in found.figures[arm][0].values()], axis=0)
        for arm in (SearchArm(label=AT_ONE, strategy="islands", method=method) for method in METHODS)
    )
    reach = quantile(0.975, 4) * (two - one).std(ddof=1) / np.sqrt(5)
    ahead = Estimate(value=(two - one).mean(), low=(two - one).mean() - reach, high=(two - one).mean() + reach)
    text = report(found)
    assert signed(ahead) in text
    assert "VPO with credit by answer lies above VPO on volume@512 with `islands` by 0.1" in text
    assert "cannot be told apart on volume@512" in report(results(0.0))


def test_the_unit_is_a_training_where_there_are_several() -> None:
    found = results(0.1, trainings=3)
    arm = SearchArm(label=AT_ONE, strategy="islands", method=METHODS[0])
    means = [np.mean([each["best@64"] for each in seeds.values()], axis=0) for seeds in found.figures[arm].values()]
    assert found.rows(arm, "best@64") == pytest.approx(np.array(means))
    other = replace(arm, method=METHODS[1])
    assert signed(difference(found.rows(other, "best@64"), found.rows(arm, "best@64"))) in report(found)


def test_arms_are_paired_by_the_seeds_that_both_have() -> None:
    found = results(0.1, trainings=3)
    one, two = (SearchArm(label=AT_ONE, strategy="islands", method=method) for method in METHODS)
    del found.figures[one][1], found.figures[two][2]  # trainings 0 and 2 against 0 and 1
    del found.figures[one][0][3], found.figures[two][0][0]
    common = [(found.figures[two][0][seed]["best@64"], found.figures[one][0][seed]["best@64"]) for seed in (1, 2)]
    ahead = found.lead(two, one, "best@64")
    assert ahead is not None
    assert ahead.value == pytest.approx(np.mean([np.subtract(*pair) for pair in common]))
    assert np.isinf(ahead.high)  # one pair of several trainings says nothing about a method
    found.figures[one][1] = found.figures[one].pop(2)
    both = found.lead(two, one, "best@64")
    assert both is not None
    assert np.isfinite(both.high)
    found.figures[one] = {4: found.figures[one][1]}
    assert found.lead(two, one, "best@64") is None


def test_a_wider_interval_covers_the_seeds_of_the_search() -> None:
    found = results(0.1, searches=2)
    one, two = (SearchArm(label=AT_ONE, strategy="islands", method=method) for method in METHODS)
    for seed, gain in enumerate((0.0, 0.2)):
        values = found.figures[two][0][seed]["volume@512"]
        found.figures[two][0][seed] = {**found.figures[two][0][seed], "volume@512": [each + gain for each in values]}
    narrow, wide = found.lead(two, one, "volume@512"), found.wider_lead(two, one, "volume@512")
    assert narrow is not None
    assert wide is not None
    assert wide.value == pytest.approx(narrow.value)
    assert wide.low < 0 < narrow.low
    assert signed(wide) in report(found)
    assert "whichever is wider" not in report(results(0.1, trainings=3))


def test_the_others_are_compared_with_the_reference() -> None:
    found = results(0.1)
    assert "| VPO with credit by answer − VPO | `islands` | volume |" in report(found)
    assert "| VPO − VPO with credit by answer | `islands` | volume |" in report(replace(found, reference=METHODS[1]))


def test_own_temperatures_are_told_only_where_they_differ_from_1() -> None:
    assert report(results(0.1)).count("###") == 1
    assert report(results(0.1, own=1.3)).count("###") == 2


def test_the_command_continues_and_prints_what_it_kept(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["policy_searches", str(models), "-o", str(tmp_path), "--mazes", "1", "--evaluations", "9", "--plain"]
    monkeypatch.setattr(sys, "argv", [*words, "--search-seeds", "2"])
    main()
    assert len(capsys.readouterr().out.splitlines()) == 2 * len(STRATEGIES) * len(METHODS)
    main()
    assert capsys.readouterr().out == ""
    kept = tmp_path / "kept.json"
    monkeypatch.setattr(sys, "argv", [*words, "--search-seeds", "2", "--report", "--keep", str(kept)])
    main()
    told = capsys.readouterr().out
    assert "| VPO | `islands` | 1 |" in told
    monkeypatch.setattr(sys, "argv", ["policy_searches", "-o", str(kept), "--report"])
    main()
    assert capsys.readouterr().out == told
    turned = ["--methods", ",".join(reversed(METHODS)), "--search-seeds", "2", "--report", "--keep", str(kept)]
    monkeypatch.setattr(sys, "argv", [*words, *turned])
    main()
    assert "| VPO − VPO with credit by answer | `islands` |" in capsys.readouterr().out
    assert read_kept(kept).reference == METHODS[1]


def test_the_page_shows_the_tables_of_the_kept_figures() -> None:
    page = (ROOT / "docs" / "study.md").read_text(encoding="utf-8")
    found = read_kept(ROOT / "benchmarks" / "results" / "policy_searches.json")
    assert {len(seeds) for trainings in found.figures.values() for seeds in trainings.values()} == {2}
    lines = [line for line in report(found).splitlines() if line.startswith(("| ", "- "))]
    assert [line for line in lines if line not in page] == []
