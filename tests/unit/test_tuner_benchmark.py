"""The benchmark of the tuner: a program is climbed to, tuned alone, and compared with what is known."""

from types import SimpleNamespace

import pytest

from benchmarks.tuner import best_known, gained, measure


def test_the_gap_that_is_closed_is_a_mean_over_programs() -> None:
    found = gained([{"0": 1.0, "10": 2.0}, {"0": 3.0, "10": 3.0}], "10", 5.0)
    assert found == {"fitness": 2.5, "gap_closed": 0.125}


def test_what_is_minimized_is_known_with_the_sign_of_a_fitness() -> None:
    assert best_known("autocorrelation-1") == pytest.approx(-1.5028628983)
    assert best_known("circles-26") == pytest.approx(2.6359830849)


def test_a_session_never_ends_below_where_it_began() -> None:
    options = SimpleNamespace(climb=30, budgets=[16, 40])
    found = measure("heilbronn-triangle-11", 1, options)
    assert list(found) == ["0", "16", "40"]
    assert 0 < found["0"] <= found["16"] <= found["40"]
    assert measure("heilbronn-triangle-11", 1, options) == found
