"""Rounds of a flywheel: shares of problems solved within a budget, and what a round waits for."""

from datetime import UTC, datetime
from typing import Any

import pytest

from service.ports import RunRecord
from service.projections.flywheel import flywheel_round
from service.schemas.series import SeriesPoint
from service.schemas.training import TrainingEvent, TrainingJob
from service.usecases.flywheel import jobs_before
from tests.unit.test_comparison import told_run

AT = datetime(2026, 1, 1, tzinfo=UTC)


def run(name: str, **changes: Any) -> RunRecord:
    config = {"budget": {"evaluations": 20}}
    return told_run(id=name, state="succeeded", known_best=1.0, best_fitness=0.5, config=config, **changes)


def job(**changes: Any) -> TrainingJob:
    fields: dict[str, Any] = {
        "id": "trn_1", "policy": "walker", "state": "queued", "desired_state": "running", "request": {}, "runs": [],
        "progress": None, "checkpoint": None, "error": "", "version": None, "sequence": 1, "created_by": "",
        "created_at": AT, "started_at": None, "finished_at": None, "waiting_for": "",
    }  # fmt: skip
    return TrainingJob(**(fields | changes))


class RecordedJobs:
    """The port of the same name over jobs."""

    def __init__(self, *jobs: TrainingJob) -> None:
        self._jobs = list(jobs)

    def jobs(self, limit: int) -> list[TrainingJob]:
        return self._jobs[:limit]

    def events(self, job_id: str, after: int) -> list[TrainingEvent]:
        raise NotImplementedError((job_id, after))


def test_jobs_come_first_that_the_trainer_can_train_and_that_wait_for_longer() -> None:
    def waiting(minute: int, backend: str, state: str = "queued") -> TrainingJob:
        return job(state=state, request={"backend": backend}, created_at=AT.replace(minute=minute))

    own = waiting(5, "maze")
    others = (waiting(1, "maze"), waiting(2, "maze", "running"), waiting(3, "maze", "cancelled"), waiting(4, "trl"))
    training = RecordedJobs(own, waiting(6, "maze"), *others)
    assert jobs_before(own, training, ["maze"]) == 2
    assert jobs_before(own, training, ["maze", "trl"]) == 3
    assert jobs_before(own, training, []) == 0


def path(*bests: float | None) -> list[SeriesPoint]:
    """A run whose best is so after 5, 10, 15 and 20 evaluations."""
    zero = {"valid_share": 1.0, "duplicate_share": 0.0, "rejected_share": 0.0, "hypervolume": None}
    return [
        SeriesPoint(evaluations=5 * place, at=AT, best_fitness=best, tokens_input=0, tokens_output=0, **zero)
        for place, best in enumerate(bests, 1)
    ]


def test_a_problem_is_solved_within_the_evaluations_that_reach_its_known_best() -> None:
    paths = {"a": path(None, 1.0), "b": path(0.1, 0.2, 0.9, 1.0 - 1e-12), "c": path(0.1, 0.2, 0.9, 0.999), "d": []}
    runs = [run(name) for name in paths]
    found = flywheel_round(1, "bat_1", runs, None, {}, lambda one: paths[one.id])
    assert [(one.evaluations, one.solved, one.share) for one in found.shares] == [(10, 1, 0.25), (20, 2, 0.5)]
    # Clopper and Pearson, of 2 of 4: binomial tails of 0.025.
    assert (found.shares[1].low, found.shares[1].high) == pytest.approx((0.0676, 0.9324), abs=1e-4)
    assert (found.phase, found.best, found.version) == ("train", 0.5, None)


def test_a_single_minimised_objective_is_solved_at_or_below_the_known_best() -> None:
    objectives = [{"name": "loss", "direction": "minimize"}]
    reached, missed = path(-1.0), path(-1.1)
    runs = [run("a", objectives=objectives), run("b", objectives=objectives)]
    found = flywheel_round(1, "bat_1", runs, None, {}, lambda one: reached if one.id == "a" else missed)
    assert found.shares[-1].solved == 1


def test_shares_wait_for_all_runs_and_need_the_known_best() -> None:
    going = told_run(id="b", state="running", known_best=1.0, config={"budget": {"evaluations": 20}})
    found = flywheel_round(1, "bat_1", [run("a"), going], None, {}, lambda _: [])
    assert (found.phase, found.ended, list(found.shares)) == ("search", 1, [])
    unknown = told_run(id="a", state="succeeded", known_best=None, config={"budget": {"evaluations": 20}})
    assert list(flywheel_round(1, "bat_1", [unknown], job(), {}, lambda _: []).shares) == []


def test_a_round_is_done_when_its_job_has_made_a_version() -> None:
    evaluation = {"difference": 0.1, "low": 0.05, "high": 0.15}
    result = {"evaluation": evaluation, "promoted": True}
    found = flywheel_round(3, "bat_1", [run("a")], job(version=4, state="succeeded"), result, lambda _: [])
    assert (found.phase, found.version, found.promoted, found.evaluation) == ("done", 4, True, evaluation)
    assert flywheel_round(3, "bat_1", [run("a")], job(), {}, lambda _: []).phase == "train"
