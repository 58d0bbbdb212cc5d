"""The numbers that scripts write: the same as the server's, and as many digits on an axis as tell its values apart."""

import json
import random
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from service.dashboard.assets import address
from service.dashboard.numbers import number, signed

CASES: dict[str, list[Any]] = json.loads((Path(__file__).parents[1] / "data" / "numbers.json").read_text())
CALLS = """
async ([module, name, rows]) => {
  const numbers = await import(module);
  const axis = (low, high, count) => numbers.tickTexts(numbers.ticks(low, high, count));
  const called = { number: numbers.number, signed: numbers.signed, digits_apart: numbers.digitsApart, axis };
  return rows.map((row) => called[name](...row));
}
"""


def _called(page: Page, name: str, rows: list[list[Any]]) -> list[Any]:
    answers: list[Any] = page.evaluate(CALLS, [address("numbers.js"), name, rows])
    return answers


def test_scripts_write_numbers_as_the_cases_say(page: Page) -> None:
    page.goto("/runs")
    for name, rows in CASES.items():
        asked = [row[:-1] for row in rows]
        assert list(zip(asked, _called(page, name, asked), strict=True)) == [(row[:-1], row[-1]) for row in rows]


def test_scripts_and_pages_write_the_same_numbers(page: Page) -> None:
    page.goto("/runs")
    drawn = random.Random(7)
    values = [
        *(drawn.uniform(-1, 1) * 10 ** drawn.uniform(-120, 120) for _ in range(2000)),
        *(drawn.randint(-(10**6), 10**6) / 2 ** drawn.randint(0, 12) for _ in range(2000)),
        *(1 - 10 ** drawn.uniform(-16, 0) for _ in range(1000)),
    ]
    rows = [[value, drawn.choice([2, 3, 5, 7, 10])] for value in values]
    assert _called(page, "number", rows) == [number(*row) for row in rows]
    assert _called(page, "signed", rows) == [signed(*row) for row in rows]
