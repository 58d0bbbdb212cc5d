"""What a run will have used, by its pace of late."""

import re
from typing import Any

import numpy as np
import pytest

from service.dashboard.forecast import cost_forecast, forecast
from service.dashboard.pages import environment
from service.dashboard.views.policy import totals
from service.schemas.runs import Run
from service.schemas.series import Metrics, SeriesPoint
from tests.unit.dashboard.told_runs import AT, told_run


def test_a_steady_pace_leads_on_without_doubt() -> None:
    done = [float(one) for one in range(1, 51)]
    found = forecast(done, [30 * one for one in done], 200)
    assert found is not None
    assert (found.low, found.middle, found.high) == pytest.approx((6000, 6000, 6000))


def test_the_interval_covers_the_end_in_as_many_cases_as_it_says() -> None:
    rng = np.random.default_rng(3)
    inside = 0
    for _ in range(400):
        used = np.cumsum(rng.gamma(2.0, 50.0, size=400))
        found = forecast(list(np.arange(1.0, 101.0)), list(used[:100]), 400)
        assert found is not None
        inside += found.low <= used[-1] <= found.high
    assert 0.91 <= inside / 400 <= 0.99


def test_only_the_pace_of_the_later_half_counts() -> None:
    done = [float(one) for one in range(1, 41)]
    used = [one * 1.0 if one <= 20 else 20 + (one - 20) * 100.0 for one in done]
    found = forecast(done, used, 50)
    assert found is not None
    assert found.middle == pytest.approx(used[-1] + 1000, rel=0.01)


@pytest.mark.parametrize(("done", "end"), [([], 10), ([1.0, 2.0, 3.0], 10), ([float(one) for one in range(1, 30)], 10)])
def test_too_little_or_an_end_behind_is_not_forecast(done: list[float], end: float) -> None:
    assert forecast(done, done, end) is None


def limited(evaluations: int | None = None, **limits: Any) -> Run:
    """A run with a budget of so many evaluations, or of other things."""
    progress = {"proposed": 0, "evaluated": 40, "budget": evaluations}
    return told_run(state="running", config={"budget": {"evaluations": evaluations, **limits}}, progress=progress)


def points(count: int, cost: str | None) -> list[SeriesPoint]:
    same = {"best_fitness": 1.0, "valid_share": 1.0, "duplicate_share": 0.0, "rejected_share": 0.0}
    return [
        SeriesPoint.model_validate(
            {
                "evaluations": one,
                "at": AT,
                "tokens_input": 80 * one,
                "tokens_output": 20 * one,
                "cost": f"{one / 100} {cost}" if cost else None,
                "hypervolume": None,
                **same,
            }
        )
        for one in range(1, count + 1)
    ]


def test_all_that_a_budget_of_evaluations_ends_is_told() -> None:
    ahead = cost_forecast(limited(100), points(40, "USD"))
    assert ahead is not None
    assert ahead.end == 100
    assert {row.name: row.now for row in ahead.rows} == pytest.approx(
        {"tokens_input": 3200, "tokens_output": 800, "tokens": 4000, "money": 0.4}
    )
    assert {row.name: row.then.middle for row in ahead.rows} == pytest.approx(
        {"tokens_input": 8000, "tokens_output": 2000, "tokens": 10000, "money": 1}
    )
    assert [row.unit for row in ahead.rows] == ["", "", "", "USD"]


def test_a_budget_of_tokens_or_money_says_for_how_many_evaluations_it_lasts() -> None:
    ahead = cost_forecast(limited(tokens=6000, money="0.9 USD"), points(40, "USD"))
    assert ahead is not None
    assert (ahead.end, ahead.rows) == (None, [])
    assert {row.name: row.then.middle for row in ahead.reached} == pytest.approx({"tokens": 60, "money": 90})


def test_without_tokens_or_limits_there_is_nothing_to_forecast() -> None:
    assert cost_forecast(limited(), points(40, None)) is None
    assert cost_forecast(limited(100), []) is None


def test_the_page_tells_it_with_its_interval() -> None:
    run = limited(100, tokens=6000)
    metrics = Metrics(run_id=run.id, points=points(40, "USD"), operators=[], policies=[], positions=[])
    values: dict[str, Any] = {
        "yields": [],
        "prices": [],
        "endings": [],
        "length_advice": None,
        "points": [],
        "policy_totals": [],
        "drawn": '{"end": 100}',
        "learns": False,
    }
    page = (
        environment()
        .get_template("policy_figures.html")
        .render(run=run, totals=totals(metrics, None), forecast=cost_forecast(run, metrics.points), **values)
    )
    words = " ".join(re.sub("<[^>]+>", " ", page).split(" "))
    words = re.sub("[ \n]+", " ", words)
    assert "After all 100 evaluations of the budget, with an interval of 95 %." in words
    assert "All tokens 4\u202f000 10\u202f000 (10\u202f000 to 10\u202f000)" in words
    assert "Cost 0.4 USD 1 (1 to 1) USD" in words
    assert "The budget of tokens lasts for 60 (60 to 60) evaluations." in words
    assert 'data-forecast="{&#34;end&#34;: 100}"' in page
