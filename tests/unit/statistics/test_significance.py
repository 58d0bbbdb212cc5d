"""Tests of differences, and their correction where several are made at once."""

import numpy as np
import pytest

from evolve.statistics.significance import holm, paired_p_value, welch_p_value


def test_holm_multiplies_by_the_tests_that_are_left() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([0.03]) == [0.03]
    assert holm([]) == []


def test_students_test_is_that_of_the_tables() -> None:
    # The 97.5th percentile of t with 9 degrees of freedom is 2.262.
    values = np.arange(10) - 4.5
    scaled = values / (values.std(ddof=1) / np.sqrt(10)) + 2.262
    assert paired_p_value(scaled) == pytest.approx(0.05, abs=1e-4)
    assert paired_p_value(-scaled) == paired_p_value(scaled)


def test_welchs_test_rounds_the_degrees_of_freedom_down() -> None:
    # Of equal spread and size they are 2 n - 2: 18, where the 97.5th percentile is 2.101.
    values = np.arange(10) - 4.5
    scaled = values / (values.std(ddof=1) * np.sqrt(2 / 10))
    assert welch_p_value(scaled + 2.101, scaled) == pytest.approx(0.05, abs=1e-4)
    assert welch_p_value(scaled + 2.101, scaled) == pytest.approx(welch_p_value(scaled, scaled + 2.101))


@pytest.mark.parametrize(("mean", "expected"), [(0.0, 1.0), (2.0, 0.0)])
def test_values_that_are_all_equal_leave_no_chance(mean: float, expected: float) -> None:
    assert paired_p_value([mean] * 6) == expected
    assert welch_p_value([mean] * 4, [0.0] * 4) == expected
