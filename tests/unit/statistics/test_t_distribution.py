"""Student's t as the tables have it."""

import pytest

from evolve.statistics.t_distribution import quantile, upper_tail

# One-sided critical values of Student's t (Fisher and Yates, Statistical Tables, table III).
TABLE = [
    (1, 0.05, 6.314), (1, 0.025, 12.706), (2, 0.05, 2.920), (2, 0.01, 6.965), (3, 0.05, 2.353), (4, 0.005, 4.604),
    (5, 0.05, 2.015), (9, 0.025, 2.262), (10, 0.05, 1.812), (30, 0.01, 2.457), (120, 0.05, 1.658),
]  # fmt: skip


@pytest.mark.parametrize(("freedom", "share", "critical"), TABLE)
def test_the_tail_of_students_t_is_that_of_the_tables(freedom: int, share: float, critical: float) -> None:
    assert upper_tail(critical, freedom) == pytest.approx(share, rel=2e-3)
    assert upper_tail(-critical, freedom) == pytest.approx(1 - share, rel=2e-3)
    assert upper_tail(0.0, freedom) == pytest.approx(0.5)


def test_quantiles_are_those_of_students_table() -> None:
    # Abramowitz and Stegun 1964, table 26.10.
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 10: 2.228, 29: 2.045, 30: 2.042, 120: 1.980}
    assert {freedom: quantile(0.975, freedom) for freedom in table} == pytest.approx(table, abs=5e-4)
    assert quantile(0.95, 5) == pytest.approx(2.015, abs=5e-4)
