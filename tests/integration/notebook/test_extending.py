"""A result of `evolve.run` goes on where it ended, as the same run with a larger budget."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

import evolve
from evolve.errors import ConfigurationError, ProblemError
from evolve.events import EventKind
from evolve.search.result import Result

SEED = "x = 7\n"


def closeness(source: str) -> float:
    space: dict[str, Any] = {}
    exec(source, space)
    return -abs(float(space["x"]) - 42)


def essence(result: Result) -> list[dict[str, Any]]:
    """All that does not depend on how busy the machine is."""
    return [{key: value for key, value in record.items() if key != "seconds"} for record in result.candidates]


def equal(first: Sequence[Any], second: Sequence[Any]) -> int:
    """How many are equal from the beginning on."""
    return next(
        (n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


def program(record: Mapping[str, Any]) -> tuple[Any, ...]:
    return record["proposal_number"], record["position"], record["source"], record["fitness"]


@pytest.mark.parametrize("window", [2, 8])
def test_a_result_goes_on_with_what_it_had_and_is_left_as_it_was(window: int) -> None:
    first = evolve.run(SEED, evaluate=closeness, evaluations=30, seed=1, deterministic={"window": window})
    before = essence(first)
    more = first.extend(evaluations=70)
    assert (more.run_id, more.reason, more.account.evaluations) == (first.run_id, "evaluations", 70)
    assert essence(more)[: len(before)] == before == essence(first)
    assert more.history[:30] == first.history
    assert more.config.budget.evaluations == 70
    assert more.seconds > first.seconds
    assert essence(first.extend(evaluations=70)) == essence(more)
    assert essence(first.extend(evaluations=50).extend(evaluations=70))[: len(before)] == before
    assert more.statistics.evaluations == 70


def limits(result: Result) -> list[int]:
    """How many answers each proposal was asked for."""
    return [event.payload["limit"] for event in result.events if event.kind is EventKind.PROPOSAL_CREATED]


def test_a_run_with_a_fixed_number_of_calls_is_the_longer_one_up_to_where_its_own_budget_cut_it() -> None:
    words: dict[str, Any] = {"seed": 1, "deterministic": {"window": 8}, "concurrency": {"policy": 4}}
    continued = evolve.run(SEED, evaluate=closeness, evaluations=40, **words).extend(evaluations=90)
    longer = evolve.run(SEED, evaluate=closeness, evaluations=90, **words)
    cut = 1 + equal(limits(continued), limits(longer))
    programs = [
        [program(one) for one in result.candidates if one["proposal_number"] < cut] for result in (continued, longer)
    ]
    assert cut > 15
    assert programs[0] == programs[1]


@pytest.mark.parametrize("window", [0, 8])
def test_a_run_that_ended_with_work_in_flight_goes_on(window: int) -> None:
    words: dict[str, Any] = {"deterministic": {"window": window}, "concurrency": {"policy": 4}} if window else {}
    first = evolve.run(SEED, evaluate=closeness, budget={"evaluations": 80, "patience": 15}, seed=3, **words)
    assert first.reason == "patience"
    more = first.extend(patience=None)
    assert (more.reason, more.account.evaluations) == ("evaluations", 80)
    evaluated = [event for event in more.events if event.kind is EventKind.CANDIDATE_EVALUATED]
    assert len({event.payload["candidate_id"] for event in evaluated}) == len(evaluated)


def test_an_interrupted_run_goes_on_without_another_budget() -> None:
    calls = itertools.count()

    def interrupted(source: str) -> float:
        if next(calls) == 12:
            raise KeyboardInterrupt
        return closeness(source)

    first = evolve.run(SEED, evaluate=interrupted, evaluations=40, seed=1)
    assert first.reason == "interrupted"
    assert first.extend().account.evaluations == 40


@pytest.mark.parametrize(
    ("budget", "said"),
    [({}, "would end at once"), ({"evaluations": 30}, "would end at once"), ({"evaluation": 90}, "is unknown")],
)
def test_a_budget_that_changes_nothing_is_refused(budget: dict[str, Any], said: str) -> None:
    first = evolve.run(SEED, evaluate=closeness, evaluations=30, seed=1)
    with pytest.raises((ConfigurationError, ProblemError), match=said):
        first.extend(**budget)
