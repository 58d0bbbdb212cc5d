"""The closing assessment: what held-out scores and an audit say, and what they do not."""

from dataclasses import replace
from typing import Any

import pytest

from evolve.event_types import AuditScored, HoldoutScored, RunClosing, RunContinued
from evolve.events import Event, EventKind
from evolve.problem import Direction, EvaluatorSpec, Objective, Problem
from evolve.program import Program
from evolve.proposal import Individual
from evolve.search.assessment import Assessment, Audit, SearchScore, assess
from evolve.search.holdout_audit import AuditPlan, closing_event, wanted
from tests.unit.individuals import individual

BOUNDED = Objective(name="gain", low=0.0, high=10.0)
FREE = Objective(name="cost", direction=Direction.MINIMIZE)


def plan(holdout: list[str] | None = None, audit: str | None = "best", times: int = 2, tolerance: float = 0.1) -> Event:
    planned = tuple(holdout or ())
    return Event(RunClosing(reason="target", holdout=planned, audit=audit, evaluations=times, tolerance=tolerance))


def audited(number: int, outcome: str = "ok", **scores: float) -> Event:
    reason = "" if outcome == "ok" else "it is broken"
    return Event(
        AuditScored(
            candidate_id="best",
            number=number,
            outcome=outcome,
            reason=reason,
            fitness=scores.get("gain"),
            scores=scores,
            repeats=1,
            seconds=0.5,
        )
    )


def held_out(candidate_id: str, fitness: float, **scores: float) -> Event:
    return Event(
        HoldoutScored(
            candidate_id=candidate_id, outcome="ok", reason="", fitness=fitness, scores=scores, repeats=1, seconds=0.5
        )
    )


def audit_of(events: list[Event], objective: Objective, recorded: float) -> Audit:
    worth = SearchScore(fitness=recorded, scores={objective.name: recorded})
    found = assess(events, {"best": worth}, [objective])
    assert found is not None
    assert found.audit is not None
    return found.audit


def test_a_run_that_came_to_no_examination_has_no_assessment() -> None:
    assert assess([], {}, [BOUNDED]) is None


@pytest.mark.parametrize(("seen", "holds"), [(4.0, True), (6.0, True), (3.9, False), (6.1, False)])
def test_a_tolerance_is_a_share_of_the_declared_range(seen: float, holds: bool) -> None:
    assert audit_of([plan(), audited(1, gain=5.0), audited(2, gain=seen)], BOUNDED, 5.0).holds is holds


@pytest.mark.parametrize(("seen", "holds"), [(180.0, True), (220.0, True), (221.0, False)])
def test_without_a_range_it_is_a_share_of_the_score(seen: float, holds: bool) -> None:
    found = audit_of([plan(), audited(1, cost=200.0), audited(2, cost=seen)], FREE, 200.0)
    assert found.holds is holds
    assert (found.ranges[0].low, found.ranges[0].high) == (min(200.0, seen), max(200.0, seen))


def test_an_audit_that_is_not_done_says_so_and_a_failure_decides_it() -> None:
    half = audit_of([plan(), audited(1, gain=5.0)], BOUNDED, 5.0)
    assert (half.made, half.holds) == (1, None)
    assert half.sentence == "the scores hold so far within 0.1 in 1 of 2 evaluations under other seeds"
    failed = audit_of([plan(), audited(1, gain=5.0), audited(2, "timeout")], BOUNDED, 5.0)
    assert failed.holds is False
    assert failed.failed == ("timeout: it is broken",)
    assert failed.sentence.endswith("1 of them failed: timeout: it is broken")
    assert audit_of([plan()], BOUNDED, 5.0).sentence == "none of 2 new evaluations was made"


def test_a_scalar_is_audited_by_its_fitness() -> None:
    scored = audited(1, a=1.0, b=3.0).data
    assert isinstance(scored, AuditScored)
    found = assess(
        [plan(), Event(replace(scored, fitness=2.0))],
        {"best": SearchScore(fitness=2.0, scores={"a": 2.0, "b": 2.0})},
        [],
    )
    assert found is not None
    assert found.audit is not None
    assert [(one.name, one.low, one.holds) for one in found.audit.ranges] == [("fitness", 2.0, True)]


def test_what_is_held_out_stands_beside_what_the_search_went_by() -> None:
    events = [plan(["best", "seed"], audit=None), held_out("best", 3.0, gain=3.0)]
    worths = {
        name: SearchScore(fitness=fitness, scores={"gain": fitness}) for name, fitness in (("best", 9.0), ("seed", 2.0))
    }
    found = assess(events, worths, [BOUNDED])
    assert isinstance(found, Assessment)
    assert [(one.candidate_id, one.difference, one.outcome) for one in found.holdout] == [
        ("best", -6.0, "ok"),
        ("seed", None, ""),
    ]
    assert found.audit is None


def problem(**keys: Any) -> Problem:
    spec = EvaluatorSpec(entry="f", **keys)
    two = (Objective(name="a", low=0.0, high=1.0), Objective(name="b", low=0.0, high=1.0))
    return Problem(name="p", seeds=(Program.of({"p.py": "x = 1"}),), evaluator=spec, objectives=two)


def several(*rewards: tuple[float, float]) -> list[Individual]:
    return [individual(f"c{number}", sum(pair) / 2, pair) for number, pair in enumerate(rewards)]


def test_the_best_comes_first_then_the_front_then_the_seed() -> None:
    members = several((0.1, 0.1), (0.9, 0.2), (0.8, 0.9), (0.2, 0.95), (0.5, 0.5))
    found = closing_event(problem(holdout=True), "target", members[2], members, members[:1])
    assert found is not None
    assert found.holdout == ("c2", "c3", "c1", "c0")
    assert (found.audit, found.reason) == (None, "target")


def test_no_more_than_sixteen_of_a_front_are_held_out() -> None:
    members = several(*((place / 100, 1 - place / 100) for place in range(50)))
    found = closing_event(problem(holdout=True), "target", members[0], members, members[:1])
    assert found is not None
    assert len(found.holdout) == 16


def test_nothing_is_planned_where_nothing_is_wanted_or_was_found() -> None:
    (member,) = several((0.5, 0.5))
    assert closing_event(problem(), "target", member, [member], [member]) is None
    assert closing_event(problem(holdout=True), "error", None, [], []) is None


def test_what_is_due_is_what_the_log_does_not_tell() -> None:
    closing = AuditPlan()
    told = plan(["best", "seed"], times=3)
    closing.apply(told)
    assert isinstance(told.data, RunClosing)
    assert closing.due == wanted(told.data)
    assert len({one.evaluation_id for one in closing.due}) == 5
    closing.apply(audited(2, gain=1.0))
    left = [(one.kind, one.candidate_id, one.number) for one in closing.due]
    held = [(EventKind.HOLDOUT_SCORED, name, 0) for name in ("best", "seed")]
    assert left == [*held, (EventKind.AUDIT_SCORED, "best", 1), (EventKind.AUDIT_SCORED, "best", 3)]


def test_a_run_that_is_continued_is_examined_anew_at_its_next_end() -> None:
    first = [plan(["old"], audit=None), held_out("old", 1.0)]
    closing = AuditPlan()
    for event in first:
        closing.apply(event)
    assert closing.due == []
    closing.apply(Event(RunContinued(by="ada", after="evaluations")))
    assert (closing.reason, closing.due) == ("", [])
    again = plan(["old", "new"], audit=None)
    closing.apply(again)
    assert [one.candidate_id for one in closing.due] == ["old", "new"]
    worth = SearchScore(fitness=1.0, scores={})
    found = assess([*first, again], {"old": worth, "new": worth}, ())
    assert found is not None
    assert [(one.candidate_id, one.outcome) for one in found.holdout] == [("old", ""), ("new", "")]
