"""What a run came to, in a terminal."""

from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table

from service.cli.metrics import prices_table, yields_table
from service.schemas.statistics import Yield
from tests.unit.cli.conftest import Evolve
from tests.unit.cli.recording import Reply, record_run, shrinking_problem, sqlite_url

RICH = Yield(
    name="Qwen2.5-Coder-7B",
    answers=1_234_567,
    recovered={"markers": 2},
    dropped=123_456,
    rejected=123_456,
    duplicates=234_567,
    evaluations=1_000_000,
    valid=987_654,
    improvements=1_234,
    tokens=12_345_678_901,
    cost="12345.678901 USD",
    tokens_per_improvement=12_345_678_901 / 1_234,
    improvements_per_million_tokens=1_234e6 / 12_345_678_901,
    cost_per_improvement="10.00 USD",
)


def drawn(table: Table) -> str:
    out = StringIO()
    Console(file=out, width=100).print(table)
    return out.getvalue()


def test_large_numbers_of_a_policy_fit_a_hundred_columns() -> None:
    became, price = drawn(yields_table("policy", [RICH])), drawn(prices_table("policy", [RICH]))
    assert max(len(line.rstrip()) for line in (became + price).splitlines()) <= 100
    heading, *lines = became.splitlines()
    assert heading.split() == [
        "policy", "answers", "unreadable", "rejected", "duplicates", "evaluated", "valid", "improved",
    ]  # fmt: skip
    for number in ("1,234,567", "123,456", "234,567", "1,000,000", "98.8 %", "1,234"):
        assert number in " ".join(lines)
    for number in ("12,345,678,901", "1e+07", "0.09995", "12345.678901 USD", "10.00 USD"):
        assert number in price
    assert "…" not in became + price


def test_what_passes_is_said_below_the_table(evolve: Evolve, home: Path) -> None:
    url = sqlite_url(home / "shrinking.db")
    problem = shrinking_problem()
    problem = replace(problem, objectives=(replace(problem.objectives[0], target=2.0),))
    replies = [Reply(text=f"def pack():\n    return {waste}\n", scores={"waste": waste}) for waste in (3.0, 2.0)]
    record_run(url, problem, replies, seed_scores={"waste": 5.0}, reason="target")
    (line,) = evolve("show", "last", "--metrics", "--json", "--db", url).lines
    assert (line["threshold"], line["threshold_from"]) == (-2.0, "objective")
    assert line["answers"]["at"][0]["passed"] == pytest.approx(1 / 2)
    assert line["policies"][0]["improvements_per_million_tokens"] == pytest.approx(2 * 1e6 / 240)
    shown = evolve("show", "last", "--metrics", "--db", url).out
    assert "An answer or a chain passes with a fitness of -2 or better, the target of the objective." in shown
    assert shown.index("pass@k") < shown.index("passes with") < shown.index("unreadable")
