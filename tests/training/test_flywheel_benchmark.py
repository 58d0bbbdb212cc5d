"""Rounds beside a frozen policy: what is searched and trained, and that a call continues another."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.conftest import TORCH

if TORCH:
    from benchmarks import flywheel

pytestmark = pytest.mark.training


def test_rounds_are_searched_trained_and_gated_and_a_second_call_searches_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--seeds", "2", "--rounds", "1", "--searched", "2", "--further", "40", "--steps", "2", "--asked", "2"]
    monkeypatch.setattr(sys, "argv", ["flywheel", str(tmp_path), *words, "--tested", "8"])
    flywheel.main()
    assert capsys.readouterr().out.count("search ") >= 4
    found = json.loads((tmp_path / "results.json").read_text())
    assert [(one["seed"], one["round"]) for one in found["mazes"]] == [(0, 1), (0, 2), (1, 1), (1, 2)]
    assert [(one["seed"], one["round"]) for one in found["trainings"]] == [(0, 1), (1, 1)]
    for one in found["mazes"]:
        assert one["frozen"]["256"] <= one["frozen"]["512"] == one["further"]
        assert all(0 < share <= 1 for share in one["own"]["512"])
        if one["round"] == 1:
            assert (one["own"], one["tokens"]["training"]) == (one["frozen"], 0)
    flywheel.main()
    assert "search " not in capsys.readouterr().out
    assert json.loads((tmp_path / "results.json").read_text()) == found


def test_a_share_is_solved_at_the_optimum_alone() -> None:
    size = flywheel.FlywheelSize(seeds=2, rounds=1, searched=2)
    tokens = {"own": 1.0}

    def result(*shares: float) -> flywheel.RoundResult:
        values = np.array(shares)
        return flywheel.RoundResult(
            own={256: values, 512: values}, frozen={256: values * 0, 512: values * 0}, further=values, tokens=tokens
        )

    found = flywheel.tables(size, [[result(0.5, 0.5), result(1.0, 0.96)], [result(0.5, 0.5), result(1.0, 0.9)]])
    assert found["rounds"][1]["own@512"]["solved"].startswith("0.500")
    assert found["rounds"][1]["own@512"]["near"].startswith("0.750")
    assert found["after_training"]["evaluations"]["512"]["solved"].startswith("+0.500")
    assert found["after_training"]["equal_tokens"]["best"].startswith("+0.000")
