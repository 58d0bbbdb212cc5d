"""The benchmark of the catalogue: what its table says of runs, in the unit of each problem."""

from pathlib import Path

import pytest

from benchmarks.catalogue import OURS, THEIRS, Result, table


def _result(seed: float, best: float, evaluations: int = 11) -> Result:
    return {"seed": seed, "best": best, "evaluations": evaluations, "seconds": 2.0}


def test_scores_return_to_the_unit_of_their_problem(tmp_path: Path) -> None:
    """The bounds of tsp-berlin52 are 7000 and 40000, and the proven optimum is 7542: a share of 32458 / 33000."""
    shares = [(40000 - length) / 33000 for length in (8980, 7882, 7542)]
    runs = {OURS: {"tsp-berlin52": [_result(shares[0], shares[1]), _result(shares[0], shares[2])]}}
    (row,) = table(runs, 10, tmp_path)
    assert (row["seed"], row["known_best"]) == (8980.0, 7542)
    assert (row[f"{OURS}: best"], row[f"{OURS}: median"], row[f"{OURS}: gap"]) == (7542.0, 7712.0, 0.0)
    assert row[f"{OURS}: way"] == pytest.approx((1098 / 1438 + 1) / 2, abs=5e-4)
    assert (row[f"{OURS}: runs"], row[f"{OURS}: evaluations"], row[f"{OURS}: cut_off"]) == (2, 22, 0)


def test_a_run_with_fewer_evaluations_was_cut_off_and_missing_ones_are_not_counted(tmp_path: Path) -> None:
    runs = {
        OURS: {"circles-26": [_result(0.5, 0.75), _result(0.5, 0.5, evaluations=10)]},
        THEIRS: {"circles-26": [_result(0.5, 0.6)], "speed-convolution": [_result(0.1, 0.2)]},
    }
    circles, speed = table(runs, 10, tmp_path)
    assert (circles[f"{OURS}: cut_off"], circles[f"{THEIRS}: runs"]) == (1, 1)
    assert circles[f"{OURS}: gap"] == pytest.approx(2.6359830849 - 0.75 * 2.7)
    assert f"{OURS}: best" not in speed
    assert (speed[f"{THEIRS}: gap"], speed[f"{THEIRS}: way"]) == (None, None)
