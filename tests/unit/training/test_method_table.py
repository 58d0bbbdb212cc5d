"""The comparison of every method: what is trained at which k, and how its table says what seeds can tell."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evolve.errors import ConfigurationError
from evolve.vpo import METHODS, draw_weights
from training.study.method_table import FIGURES, keep_tables, main, read_tables, report, title
from training.study.training_arms import ARMS, K, TableScope, TrainingArm, recipe_of

KEPT = Path(__file__).parents[3] / "benchmarks" / "method_table"


def test_methods_are_compared_at_equal_k_and_equal_answers() -> None:
    assert {*METHODS} - {*ARMS} == {"multi_rlvr_best", "entropic"}
    for method in ARMS[1:]:
        learnt = recipe_of(method, 3, TableScope()).reinforcement
        size = learnt.k if METHODS[method].subsets else learnt.m
        assert size in (K, 1)
        assert size == K or not METHODS[method].chains
        assert learnt.answers == 32


def test_an_arm_can_name_another_size_of_sets() -> None:
    def sizes(arm: str) -> tuple[int, int | None, int]:
        learnt = recipe_of(arm, 0, TableScope()).reinforcement
        return learnt.m, learnt.k, learnt.answers

    assert sizes("max_at_k@16") == (1, 16, 32)
    assert sizes("vector_max_at_k@16") == (1, 16, 32)
    assert sizes("vpo@8") == (8, None, 32)
    assert sizes("vpo_marginal@8") == (8, 8, 32)
    assert recipe_of("vpo@8", 0, TableScope()).warm_start.taught == (1, 2, 3, 4, 8)
    assert recipe_of("base@8", 0, TableScope()).reinforcement.m == 8
    for wrong in ("vpo@16", "vpo@many"):  # longer than any chain, and no number
        with pytest.raises(ConfigurationError):
            recipe_of(wrong, 0, TableScope())


def test_an_arm_can_name_another_concentration_of_weights() -> None:
    assert recipe_of("vpo", 0, TableScope()).reinforcement.alpha == 1
    assert recipe_of("vpo~0.25", 0, TableScope()).reinforcement.alpha == 0.25
    assert recipe_of("vpo_marginal@8~4", 0, TableScope()).reinforcement.alpha == 4
    drawn = draw_weights(4, np.random.default_rng(0), 32, TrainingArm.of("vpo~equal").alpha)
    assert np.abs(drawn - 0.25).max() < 0.01
    told = [title(arm) for arm in ("vpo~0.25", "vpo_marginal~equal", "base@8")]
    assert told == ["VPO, alpha = 0.25", "VPO with credit by answer, k = 4, equal weights", "warm start, chains of 8"]
    with pytest.raises(ConfigurationError, match="write it as max_at_k@16"):
        TrainingArm.of("vpo~flat")


def test_sizes_of_a_method_stand_beside_each_other(tmp_path: Path) -> None:
    for arm in ("max_at_k@16", "vpo@8", "vpo", "vpo_marginal@8", "max_at_k"):
        for seed in range(2):
            keep(tmp_path, arm, seed, figures(0.1))
    titles = [line.split(" | ")[0] for line in report(read_tables(tmp_path)).splitlines()[2:7]]
    sizes = ["Max@k, k = 4", "Max@k, k = 16", "VPO", "VPO, chains of 8"]
    assert titles == [f"| {title}" for title in (*sizes, "VPO with credit by answer, k = 8, chains of 8")]


def figures(level: float) -> list[dict[str, float]]:
    """Four mazes."""
    return [dict.fromkeys(FIGURES, level + place / 10) for place in range(4)]


def keep(folder: Path, method: str, seed: int, found: Any) -> None:
    (folder / f"{method}-s{seed}.json").write_text(json.dumps(found))


def test_the_table_holds_means_and_differences_by_seed(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    keep(tmp_path, "base", 0, figures(0.1))
    for seed in range(5):
        noise = float(rng.normal(0, 0.001))
        keep(tmp_path, "vpo", seed, figures(0.3 + noise))
        keep(tmp_path, "grpo", seed, figures(0.2 + 2 * noise))
    keep(tmp_path, "max_at_k", 0, figures(0.4))
    lines = report(read_tables(tmp_path)).splitlines()
    rows = {line.split(" | ")[0].removeprefix("| "): line.split(" | ") for line in lines if line.startswith("| ")}
    assert rows["warm start"][1] == "1"
    assert [line.split(" | ")[0] for line in lines[2:6]] == ["| warm start", "| GRPO", "| Max@k, k = 4", "| VPO"]
    differences = [line for line in lines if line.startswith("| GRPO | 5 | **-0.1")]
    assert len(differences) == 1  # every seed says the same
    assert "| Max@k, k = 4 | 1 | – | – | – | – |" in lines  # one training says nothing about a method


def test_figures_that_were_kept_give_the_same_report(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for arm in ("base", "vpo", "max_at_k@16", "grpo"):
        for seed in range(1 if arm == "base" else 3):
            keep(tmp_path, arm, seed, figures(round(float(rng.random()) / 10, 4)))
    found = read_tables(tmp_path)
    keep_tables(found, tmp_path / "kept.json")
    assert list(read_tables(tmp_path / "kept.json")) == ["base", "grpo", "max_at_k@16", "vpo"]
    assert report(read_tables(tmp_path / "kept.json")) == report(found)


@pytest.mark.parametrize(
    ("file", "against"),
    [("small.json", "vpo"), ("chains_of_8.json", "vpo"), ("chains_of_8.json", "vpo_marginal@8")],
)
def test_the_tables_of_the_study_are_those_of_the_kept_figures(file: str, against: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "study.md").read_text(encoding="utf-8")
    found = read_tables(KEPT / file)
    assert {len(seeds) for arm, seeds in found.items() if TrainingArm.of(arm).method != "base"} == {5}
    for block in report(found, against).split("\n\n"):
        assert block in page


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--device", "cpu"], "--device has an effect only with --trainings"),
        (["--first", "100"], "--first has an effect only with --trainings"),
        (["--everywhere"], "--everywhere has an effect only with --trainings"),
        (["--report", "--temperatures", "1"], "--temperatures has an effect only with --trainings"),
        (["--report", "--trainings", "some"], "--trainings has an effect only without --report"),
        (["--trainings", "some", "--seeds", "5"], "--seeds has an effect only without --trainings and --report"),
        (["--report", "--steps", "40"], "--steps has an effect only without"),
        (["--keep", "file"], "--keep has an effect only with --report"),
        (["--methods", "vpo,gpro"], "no method is called 'gpro': choose from base, grpo"),
        (["--trainings", "some", "--methods", "vpoo@8"], "no method is called 'vpoo@8'"),
        (["--methods", "vpo@many"], "is no method with a size"),
    ],
)
def test_what_would_have_no_effect_is_refused(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    told: str,
) -> None:
    monkeypatch.setattr("sys.argv", ["method_table", "-o", str(tmp_path / "out"), *words])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_the_report_names_whom_all_are_compared_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arm in ("vpo", "grpo"):
        keep(tmp_path, arm, 0, figures(0.1))
    for words, against in (([], "VPO"), (["--against", "grpo"], "GRPO")):
        monkeypatch.setattr("sys.argv", ["method_table", "--report", "-o", str(tmp_path), *words])
        main()
        assert f"| minus {against} | seeds |" in capsys.readouterr().out


@pytest.mark.parametrize("method", ["vpo", "vpo_marginal", "goal_conditioned"])
def test_a_measured_training_is_not_trained_again(tmp_path: Path, method: str) -> None:
    from training.study.method_table import measure_method

    keep(tmp_path, method, 1, figures(0.1))
    measure_method(method, 1, TableScope(), tmp_path / "missing", tmp_path)
    assert json.loads((tmp_path / f"{method}-s1.json").read_text()) == figures(0.1)
