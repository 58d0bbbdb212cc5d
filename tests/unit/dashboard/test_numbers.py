"""The texts of numbers on pages: the cases are those that the browser's module is held to."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.dashboard.numbers import digits_apart, number, signed

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[2] / "data" / "numbers.json").read_text())


@pytest.mark.parametrize(("value", "digits", "text"), CASES["number"])
def test_a_number_is_written_in_its_digits(value: float | None, digits: int, text: str) -> None:
    assert number(value, digits) == text


@pytest.mark.parametrize(("value", "digits", "text"), CASES["signed"])
def test_a_difference_is_written_with_its_sign(value: float | None, digits: int, text: str) -> None:
    assert signed(value, digits) == text


@pytest.mark.parametrize(("values", "digits"), CASES["digits_apart"])
def test_so_many_digits_tell_numbers_apart(values: list[float | None], digits: int) -> None:
    assert digits_apart(values) == digits


@given(st.floats(-1e300, 1e300), st.integers(3, 10))
def test_a_text_is_the_number_to_its_digits(value: float, digits: int) -> None:
    read = float(number(value, digits).replace("\u202f", ""))
    assert math.isclose(read, value, rel_tol=0.51 * 10 ** (1 - digits))


@given(st.floats(0, 1, exclude_max=True))
def test_a_share_that_is_not_whole_is_not_written_as_one(value: float) -> None:
    assert (number(value) == "1") == (value > 1 - 5e-11)
