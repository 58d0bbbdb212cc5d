"""Forecasts of what a run will have used: by its pace of late, with an interval."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from evolve.money import Money
from evolve.statistics.t_distribution import quantile
from service.schemas.runs import Run
from service.schemas.series import SeriesPoint

COVERED = 0.95
MAX_BLOCKS = 20
MIN_BLOCKS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """How much will have been used. In `COVERED` of all cases it lies from `low` to `high`, if the pace stays."""

    low: float
    middle: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastRow:
    """One line of the table. `unit`: of money; empty: a count."""

    name: str
    now: float
    then: Forecast
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostForecast:
    """What a run comes to by its limits.

    Attributes:
        end: evaluations at which its budget ends it; None: another limit does.
        rows: what will be used by then.
        reached: how many evaluations it comes to by each other limit.
        drawn: forecasts of the lines of the chart, by their names.
    """

    end: int | None
    rows: Sequence[ForecastRow]
    reached: Sequence[ForecastRow]
    drawn: dict[str, Forecast]


def forecast(done: Sequence[float], used: Sequence[float], end: float) -> Forecast | None:
    """How much will have been used when so much is done; None: too little has been done to tell.

    The later half of what was done is cut into blocks of equal length. Their increments are taken as independent draws,
    so that the sum of future ones has a prediction interval of Student's t.

    Args:
        done, used: rising, at the same moments.
        end: how much will be done.
    """
    half = [place for place, value in enumerate(done) if value >= done[-1] / 2] if done else []
    step = max(1, -(-(len(half) - 1) // MAX_BLOCKS))
    cuts = half[::-1][::step][::-1]
    blocks = len(cuts) - 1
    if blocks < MIN_BLOCKS or end < done[-1] or done[cuts[-1]] <= done[cuts[0]]:
        return None
    length = (done[cuts[-1]] - done[cuts[0]]) / blocks
    increments = [
        (used[after] - used[before]) * length / max(done[after] - done[before], 1e-12)
        for before, after in itertools.pairwise(cuts)
    ]
    mean = (used[cuts[-1]] - used[cuts[0]]) / blocks
    variance = sum((one - mean) ** 2 for one in increments) / (blocks - 1)
    ahead = (end - done[-1]) / length
    spread = quantile((1 + COVERED) / 2, blocks - 1) * math.sqrt(variance * ahead * (1 + ahead / blocks))
    middle = used[-1] + mean * ahead
    return Forecast(low=max(used[-1], middle - spread), middle=middle, high=middle + spread)


def cost_forecast(run: Run, points: Sequence[SeriesPoint]) -> CostForecast | None:
    """What an unfinished run comes to by its limits; None: it has no limit of these, or too little is known."""
    limits = run.config.get("budget") or {}
    done = [float(point.evaluations) for point in points]
    series = {
        "tokens_input": [float(point.tokens_input) for point in points],
        "tokens_output": [float(point.tokens_output) for point in points],
    }
    series["tokens"] = [read + written for read, written in zip(*series.values(), strict=True)]
    spent = [None if point.cost is None else Money.read(point.cost) for point in points]
    currency = spent[-1].currency if spent and spent[-1] is not None else ""
    if currency and None not in spent:
        series["money"] = [float(money.amount) for money in spent if money is not None]
    end = run.progress.budget
    drawn = _forecasts(done, series, float(end)) if end else {}
    reached = [
        ForecastRow(name=name, now=done[-1], then=found)
        for name, limit in (("tokens", limits.get("tokens")), ("money", _amount(limits.get("money"))))
        if limit and name in series and (found := forecast(series[name], done, float(limit)))
    ]
    if not drawn and not reached:
        return None
    rows = [
        ForecastRow(name=name, now=series[name][-1], then=then, unit=currency if name == "money" else "")
        for name, then in drawn.items()
    ]
    return CostForecast(end=end, rows=rows, reached=reached, drawn=drawn)


def _forecasts(done: Sequence[float], series: dict[str, list[float]], end: float) -> dict[str, Forecast]:
    found = {name: forecast(done, used, end) for name, used in series.items() if used and used[-1] > 0}
    return {name: then for name, then in found.items() if then is not None}


def _amount(text: str | None) -> float | None:
    return None if text is None else float(Money.read(text).amount)
