"""What policies and operators brought and cost, in shares."""

import pytest

from service.dashboard.views.policy import endings, policy_totals, prices, totals, usable, yields
from service.schemas.series import Cost, Metrics, Success


def success(name: str, *, evaluations: int = 0, valid: int = 0, improvements: int = 0) -> Success:
    return Success(name=name, evaluations=evaluations, valid=valid, improvements=improvements, mean_fitness=None)


def cost(name: str, **counts: int | str | None) -> Cost:
    names = [key for key, field in Cost.model_fields.items() if field.annotation is int]
    return Cost.model_validate(
        dict.fromkeys(names, 0) | counts | {"name": name, "seconds_p50": None, "seconds_p95": None}
    )


def test_shares_are_of_what_was_evaluated() -> None:
    one, nothing = yields([success("mutate", evaluations=8, valid=6, improvements=1), success("repair")])
    assert (one.valid, one.improving) == (0.75, 0.125)
    assert (nothing.valid, nothing.improving) == (None, None)


def test_tokens_are_divided_among_the_improvements_of_the_same_name() -> None:
    asked = [cost("large", tokens_input=700, tokens_cached=350, tokens_output=300), cost("small", tokens_output=50)]
    large, small = prices(asked, [success("large", improvements=4), success("small")])
    assert (large.per_improvement, large.cached) == (250, 0.5)
    assert (small.per_improvement, small.cached) == (None, None)


def test_the_yield_is_of_valid_candidates_for_a_thousand_tokens() -> None:
    asked = [cost("large", tokens_input=1500, tokens_output=500), cost("free")]
    large, free = prices(asked, [success("large", evaluations=9, valid=6), success("free", valid=3)])
    assert (large.yielded, free.yielded) == (3, None)


def test_what_was_dropped_is_a_share_of_all_that_was_written() -> None:
    (one,) = prices([cost("a", answers=6, dropped=2, duplicates=3, rejected=1)], [])
    assert (one.dropped, one.duplicates) == (0.25, 0.5)
    assert one.rejected == pytest.approx(1 / 6)


def test_the_seeds_are_no_improvement_that_tokens_bought() -> None:
    metrics = Metrics(
        run_id="run_1",
        points=[],
        operators=[
            success("seed", evaluations=1, valid=1, improvements=1),
            success("mutate", evaluations=4, improvements=2),
        ],
        policies=[success("small", evaluations=4, improvements=2)],
        positions=[],
        policy_costs=[cost("small", tokens_input=60, tokens_output=40)],
    )
    found = totals(metrics, "0.05 USD")
    assert (found.per_improvement, found.per_evaluation) == (50, 25)
    assert (found.money_per_improvement, found.money_per_evaluation) == ("0.025 USD", "0.0125 USD")


def test_reasons_of_endings_stand_by_how_often_they_are_told() -> None:
    told = [("a", {"length": 2, "stop": 3}), ("b", {"stop": 1, "": 5})]
    assert endings([cost(name).model_copy(update={"finish_reasons": tally}) for name, tally in told]) == [
        "",
        "stop",
        "length",
    ]


def test_money_is_divided_among_the_improvements_of_the_same_name() -> None:
    spent = {"large": "1 EUR", "free": "0", "unknown": None, "idle": "2 EUR"}
    asked = [cost(name, cost=told) for name, told in spent.items()]
    bettered = [success(name, improvements=3) for name in ("large", "free", "unknown")]
    assert [one.money_per_improvement for one in prices(asked, bettered)] == ["0.3333 EUR", "0", None, None]


def metrics_of(policies: list[Success], costs: list[Cost]) -> Metrics:
    return Metrics(run_id="run_1", points=[], operators=[], policies=policies, positions=[], policy_costs=costs)


def test_a_policy_is_told_with_its_gain_for_tokens_and_money() -> None:
    gained = success("large", evaluations=4, improvements=2).model_copy(update={"gain": 3.0, "seconds": 8.0})
    asked = [cost("large", tokens_input=1500, tokens_output=500, cost="1.5 EUR"), cost("judge", cost=None)]
    judge, large, local = policy_totals(metrics_of([gained, success("local", evaluations=2)], asked))
    assert (large.per_million, large.per_money, large.currency, large.seconds) == (1500, 2, "EUR", 8)
    assert (judge.evaluations, judge.cost, judge.per_money, judge.per_million) == (0, None, None, None)
    assert (local.evaluations, local.tokens, local.cost, local.per_money) == (2, 0, "0", None)


def test_curves_are_offered_over_what_the_run_used() -> None:
    overs, shows = usable(metrics_of([], []), "0")
    assert (list(overs), list(shows)) == (["evaluations"], ["gain", "candidates"])
    overs, shows = usable(metrics_of([], []), "0.5 USD")
    assert (list(overs), list(shows)) == (["money", "evaluations"], ["gain", "candidates", "money", "rate"])
