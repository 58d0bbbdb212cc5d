"""Figures of a run as its pages write them: one sign for an objective, and what is left of its budgets."""

from datetime import UTC, datetime
from typing import Any

import pytest

from service.dashboard.scores import as_score
from service.dashboard.views.run import hypervolume_words, left_seconds, missing_to_known, money_used
from service.dashboard.views.runs_filter import gap_closed
from service.schemas.runs import Run
from service.schemas.series import Metrics
from tests.unit.dashboard.test_forecast import points
from tests.unit.dashboard.told_runs import told_run

MINIMISED = [{"name": "length", "direction": "minimize"}]


def at_work(budget: dict[str, Any], *, evaluated: int = 30, seconds: float = 59.0, **changes: Any) -> Run:
    return told_run(
        state="running",
        config={"budget": budget},
        progress={"proposed": evaluated, "evaluated": evaluated, "budget": budget.get("evaluations")},
        usage={"tokens_input": 60, "tokens_cached": 0, "tokens_output": 20, "active_seconds": seconds},
        **changes,
    )


def test_a_minimised_objective_has_one_sign_beside_its_best_known_value() -> None:
    run = told_run(objectives=MINIMISED, seed_fitness=-5.0, best_fitness=-3.5, known_best=3.0)
    assert (as_score(run.seed_fitness, run), as_score(run.best_fitness, run)) == (5.0, 3.5)
    assert missing_to_known(run) == 0.5
    assert gap_closed(run) == pytest.approx(0.75)


def test_a_maximised_objective_misses_what_its_best_lacks_and_is_beyond_it_below_zero() -> None:
    run = told_run(objectives=[{"name": "sum"}], seed_fitness=1.0, best_fitness=2.5, known_best=3.0)
    assert missing_to_known(run) == 0.5
    assert missing_to_known(run.model_copy(update={"best_fitness": 3.25})) == -0.25
    assert missing_to_known(run.model_copy(update={"known_best": None})) is None


def test_the_first_limit_that_is_reached_says_what_is_left() -> None:
    assert left_seconds(at_work({"wall_seconds": 60.0, "evaluations": 1000})) == pytest.approx(1.0)
    assert left_seconds(at_work({"evaluations": 60})) == pytest.approx(59.0)
    assert left_seconds(at_work({"tokens": 100})) == pytest.approx(59.0 / 4)
    assert left_seconds(at_work({})) is None


def test_nothing_is_left_to_tell_while_a_run_waits_or_has_ended() -> None:
    at = datetime(2026, 3, 1, tzinfo=UTC).isoformat()
    waiting = {"reason": "the policy does not answer", "since": at, "retry_at": None}
    assert left_seconds(at_work({"evaluations": 60}, waiting=waiting)) is None
    assert left_seconds(at_work({"evaluations": 60}).model_copy(update={"state": "paused"})) is None


def test_money_is_a_share_of_its_budget() -> None:
    run = at_work({"money": "2.00 USD"})
    usage = run.usage.model_copy(update={"cost": "0.50 USD"})
    assert money_used(run.model_copy(update={"usage": usage})) == 0.25
    assert money_used(run) is None


@pytest.mark.parametrize(("objectives", "words"), [(2, "0.22919"), (3, "about 0.23"), (4, "about 0.23")])
def test_a_sampled_hypervolume_says_so_and_has_the_digits_of_its_samples(objectives: int, words: str) -> None:
    run = told_run(objectives=[{"name": f"objective {place}"} for place in range(objectives)])
    last = points(1, None)[0].model_copy(update={"hypervolume": 0.229194})
    metrics = Metrics(run_id=run.id, points=[last], operators=[], policies=[], positions=[])
    assert hypervolume_words(run, metrics) == words
    assert hypervolume_words(run, metrics.model_copy(update={"points": []})) == ""
