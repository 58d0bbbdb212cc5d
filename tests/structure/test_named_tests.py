"""The tests that the tables of `tests/README.md` name are there."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]


def test_every_test_that_a_table_names_is_there() -> None:
    named = re.findall(r"`([a-z/_]+\.(?:py|test\.mjs))(?:::(\w+))?`", (TESTS / "README.md").read_text(encoding="utf-8"))
    assert len(named) > 21
    for path, name in named:
        text = (TESTS / path).read_text(encoding="utf-8")
        assert not name or f"def {name}(" in text, f"{path} has no {name}"


def test_each_fault_of_the_dashboard_has_its_row() -> None:
    rows = re.findall(r"^\| (\d+) \| .+ \| `", (TESTS / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert [int(number) for number in rows] == list(range(1, 22))
