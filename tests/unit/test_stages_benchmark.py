"""The benchmark of stages: an arm is compared with its base by example, paired by seed."""

import pytest

from benchmarks.stages import compared, cost


def _results(*best: float | None) -> list[dict[str, object]]:
    return [{"best": {"10": one}, "seconds": 1.0, "proposals": 4, "tokens": 0} for one in best]


def test_leads_are_paired_by_seed_and_adjusted_over_examples() -> None:
    own = {"one": _results(*(float(seed + 1) for seed in range(8))), "two": _results(*[2.0] * 8)}
    base = {"one": _results(*(float(seed) for seed in range(8))), "two": _results(*[2.0] * 8)}
    found = compared(own, base, "10")
    assert found["one"] == {
        "mean": 4.5, "base": 3.5, "lead": "+1.000 [+1.000, +1.000]", "ahead": 8, "behind": 0, "without_score": 0,
        "p": 0.0,
    }  # fmt: skip
    assert (found["two"]["ahead"], found["two"]["behind"], found["two"]["p"]) == (0, 0, 1.0)


def test_a_pair_without_a_score_is_left_out_and_counted() -> None:
    found = compared({"one": _results(None, 2.0)}, {"one": _results(1.0, 1.0)}, "10")["one"]
    assert found["without_score"] == 1
    assert (found["mean"], found["base"], found["lead"]) == (2.0, 1.0, None)


def test_the_cost_is_a_mean_over_runs() -> None:
    assert cost({"one": _results(1.0), "two": _results(1.0, 1.0)}) == {
        "seconds": pytest.approx(1.0), "proposals": pytest.approx(4.0), "tokens": 0.0,
    }  # fmt: skip
