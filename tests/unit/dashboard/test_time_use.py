"""Where the time of a run goes."""

from service.dashboard.views.time_use import time_uses
from service.schemas.failures import RunFailures
from service.schemas.series import Cost, Metrics
from tests.unit.dashboard.told_runs import told_run


def asked(name: str, answered: int, seconds: float) -> Cost:
    counts = dict.fromkeys(
        ("failed", "answers", "dropped", "duplicates", "rejected", "tokens_input", "tokens_cached", "tokens_output"), 0
    )
    return Cost(
        name=name, proposals=answered, answered=answered, seconds=seconds, seconds_p50=None, seconds_p95=None, **counts
    )


def metrics(*costs: Cost) -> Metrics:
    return Metrics(run_id="run_1", points=[], operators=[], policies=[], positions=[], policy_costs=list(costs))


def failures(*, seconds: float, of: float) -> RunFailures:
    return RunFailures(
        run_id="run_1", count=1, seconds=seconds, seconds_share=seconds / of, evaluation_seconds=of, items=[], omitted=0
    )


def test_policies_and_evaluations_share_the_time_the_longest_first() -> None:
    run = told_run(stats={"answers": 7, "valid": 5, "failed": 1, "duplicates": 1, "rejected": 0})
    found = time_uses(run, metrics(asked("large", 4, 30.0), asked("small", 2, 0.0)), failures(seconds=10.0, of=70.0))
    assert [(one.name, one.seconds, one.share) for one in found] == [
        ("Valid evaluations", 60.0, 0.6),
        ("Policy large", 30.0, 0.3),
        ("Failed evaluations", 10.0, 0.1),
    ]
    assert [one.count for one in found] == [5, 4, 1]


def test_without_the_right_to_read_failures_only_policies_are_told() -> None:
    found = time_uses(told_run(), metrics(asked("large", 4, 30.0)), None)
    assert [(one.name, one.share) for one in found] == [("Policy large", 1.0)]


def test_a_run_that_took_no_time_has_no_parts() -> None:
    assert time_uses(told_run(), metrics(), failures_of_nothing()) == []


def failures_of_nothing() -> RunFailures:
    return RunFailures(run_id="run_1", count=0, seconds=0.0, seconds_share=None, items=[], omitted=0)
