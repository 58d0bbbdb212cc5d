"""Flywheels: rounds in which problems are searched, and a policy is trained on the problems that were searched.

A flywheel has no record of its own. A round is a batch, whose runs have the name of the flywheel and the number of the
round as labels, and the training job that learnt from these runs. So a command that was killed continues from them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

from service.errors import ConflictError, RefusedError, UsageError
from service.ports import JOB_ENDED, JOB_SUCCEEDED, RunRecord
from service.problems.family import ProblemFamily
from service.schemas.batches import Batch, BatchCreate
from service.schemas.requests import checked
from service.schemas.training import TrainingEvent, TrainingJob, TrainingJobCreate
from service.usecases.batches import Batches
from service.usecases.policy_site import PolicySite
from service.usecases.training_site import TrainingSite

NAME_LABEL, ROUND_LABEL = "flywheel", "round"
# Of runs of held-out problems. Jobs take runs with the name label, so these do not have it.
HELD_OUT_LABEL = "held-out-of"
MAX_LOOKED_THROUGH = 1000
_FIRST_HELD_OUT = MAX_LOOKED_THROUGH**2 // 2  # behind the seeds of all rounds


@dataclass(frozen=True, slots=True, kw_only=True)
class FlywheelOrder:
    """What a flywheel does.

    Attributes:
        policy: of the registry. Its promoted version searches.
        problems: number of problems of a round.
        evaluations: budget of a run.
        held_out: folders of problems that are never trained on. The gate compares versions on prompts of their runs.
        seed: of the runs and trainings.
        training: settings of the training jobs. With a model, each begins a new adapter for it, else it starts from the
            promoted version.
    """

    name: str
    policy: str
    family: ProblemFamily
    problems: int
    evaluations: int
    held_out: Sequence[Path] = ()
    seed: int = 0
    training: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedRound:
    """A round as batches, runs and jobs tell it.

    Attributes:
        number: from 1.
        runs: of the batch.
        job: that learnt from the runs. None: not submitted.
    """

    number: int
    batch: Batch
    runs: Sequence[RunRecord]
    job: TrainingJob | None = None


class RecordedBatches(Protocol):
    """Batches of one tenant."""

    def batches(self, limit: int) -> list[Batch]:
        """Batches, newest first."""

    def runs(self, batch_id: str) -> list[RunRecord]:
        """The runs of a batch, oldest first."""


class RecordedJobs(Protocol):
    """Training jobs of one tenant."""

    def jobs(self, limit: int) -> list[TrainingJob]:
        """Jobs, newest first."""

    def events(self, job_id: str, after: int) -> list[TrainingEvent]:
        """All events of a job behind a sequence number."""


def flywheel_batches(batches: RecordedBatches) -> dict[str, dict[int, Batch]]:
    """The batches of all flywheels, by name and number of the round."""
    found: dict[str, dict[int, Batch]] = {}
    for batch in batches.batches(MAX_LOOKED_THROUGH):
        labels = _labels(batch)
        number = str(labels.get(ROUND_LABEL, ""))
        if NAME_LABEL in labels and number.isdecimal():
            # The oldest batch of a round counts.
            found.setdefault(str(labels[NAME_LABEL]), {})[int(number)] = batch
    return found


def held_out_batches(name: str, batches: RecordedBatches) -> list[Batch]:
    """The batches of a flywheel's held-out problems, oldest first."""
    found = [one for one in batches.batches(MAX_LOOKED_THROUGH) if _labels(one).get(HELD_OUT_LABEL) == name]
    return found[::-1]


def held_out_searches(order: FlywheelOrder, batches: RecordedBatches) -> list[Batch]:
    """The batches of its held-out problems that were searched as its rounds are, oldest first."""
    as_rounds = {"policy": order.policy, "evaluations": order.evaluations}
    return [batch for batch in held_out_batches(order.name, batches) if _searched_with(batch) == as_rounds]


def recorded_rounds(name: str, batches: RecordedBatches, training: RecordedJobs) -> list[RecordedRound]:
    """The rounds of a flywheel that were begun, in order."""
    jobs = training.jobs(MAX_LOOKED_THROUGH)
    rounds: list[RecordedRound] = []
    for number, batch in sorted(flywheel_batches(batches).get(name, {}).items()):
        runs = batches.runs(batch.id)
        ids = {run.id for run in runs}
        taken = {earlier.job.id for earlier in rounds if earlier.job is not None}
        learnt = [job for job in jobs if ids & set(job.runs) and job.id not in taken]
        rounds.append(RecordedRound(number=number, batch=batch, runs=runs, job=learnt[-1] if learnt else None))
    return rounds


def jobs_before(job: TrainingJob, training: RecordedJobs, able: Collection[str]) -> int:
    """Number of the jobs that a trainer with these back ends takes before a job."""
    waiting = [one for one in training.jobs(MAX_LOOKED_THROUGH) if one.state not in JOB_ENDED]
    return sum(one.created_at < job.created_at and one.request.get("backend") in able for one in waiting)


def round_result(training: RecordedJobs, found: RecordedRound) -> Mapping[str, Any]:
    """What the last event of a round's job tells, if it has succeeded."""
    if found.job is None or found.job.state != JOB_SUCCEEDED:
        return {}
    return training.events(found.job.id, found.job.sequence - 1)[-1].payload


def refuse_other_order(order: FlywheelOrder, rounds: Sequence[RecordedRound], held_out: Sequence[Batch] = ()) -> None:
    """Refuse to continue a flywheel that was begun in another way: its rounds could not be compared.

    Until a training is submitted, it may get further held-out problems.

    Args:
        order: what it does.
        rounds: that were begun.
        held_out: the batches of its held-out problems.

    Raises:
        ConflictError: a setting differs.
    """
    for found in rounds[:1]:
        first = _first_run(found.batch)
        before = {"problems": len(found.batch.request["runs"]), "policy": first["policy"], **_searched(first["config"])}
        before |= {} if found.job is None else {key: found.job.request.get(key) for key in order.training}
        asked = {"problems": order.problems, "policy": order.policy, **_searched(_config(order, 1, 0))}
        asked |= (
            {}
            if found.job is None
            else training_of(order, found.number).model_dump(mode="json", include={*order.training})
        )
        for key, value in asked.items():
            if value != before[key]:
                raise _other(order, key, before[key], value)
    first_held_out = len({run["problem"] for batch in held_out for run in batch.request["runs"]})
    trained = any(found.job is not None for found in rounds)
    if len(order.held_out) < first_held_out or (trained and len(order.held_out) != first_held_out):
        raise _other(order, "held-out problems", first_held_out, len(order.held_out))


def _other(order: FlywheelOrder, what: str, before: object, asked: object) -> ConflictError:
    return ConflictError(
        f"the flywheel {order.name} was begun with {what} {before}, not {asked}: repeat its words, or choose another"
        " name"
    )


def refuse_unready(order: FlywheelOrder, training: TrainingSite, policies: PolicySite, *, allowed: bool) -> None:
    """Refuse a flywheel that could search, but not train.

    Args:
        order: what it does.
        training: where jobs and permissions are.
        policies: the registry.
        allowed: whether its own runs may be trained on.

    Raises:
        NotFoundError: there is no such policy.
        UsageError: none of its versions is promoted, or a problem is both searched and held out.
        RefusedError: its runs may not be trained on.
    """
    searched = {folder.resolve() for folder in order.family.members}
    if both := [folder for folder in order.held_out if folder.resolve() in searched]:
        raise UsageError(f"{both[0]} is searched and trained on: hold out other problems than those of the family")
    if policies.get(order.policy).promoted is None:
        raise UsageError(f"the policy {order.policy} has no promoted version: evolve policy promote {order.policy}@1")
    every = any(answer.run_id is None and answer.allowed for answer in training.permissions())
    if not (allowed or every):
        raise RefusedError(
            "a flywheel trains on the runs that it makes: allow it with --allow-training, or for all runs with"
            " evolve training allow --all"
        )


def submit_search(order: FlywheelOrder, number: int, batches: Batches) -> Batch:
    """Submit the batch of a round, on problems that no round before it had."""
    labels = {NAME_LABEL: order.name, ROUND_LABEL: str(number)}
    with TemporaryDirectory(prefix="evolve-flywheel-") as folder:
        places = range((number - 1) * order.problems, number * order.problems)
        problems = [batches.add_problem(order.family.write(place, Path(folder))) for place in places]
        runs = [
            {"problem": problem, "policy": order.policy, "config": _config(order, number, place), "labels": labels}
            for place, problem in enumerate(problems)
        ]
        return batches.create(checked(BatchCreate, name=f"{order.name} round {number}", runs=runs))


def submit_held_out(order: FlywheelOrder, batches: Batches) -> list[Batch]:
    """Submit a batch of the held-out problems that are not searched yet. Their prompts compare versions in all rounds.

    Returns:
        The batches of all held-out problems, oldest first.

    Raises:
        ConflictError: a problem that was held out is not there, or was changed.
    """
    problems = [batches.add_problem(folder) for folder in order.held_out]
    before = {run["problem"] for batch in held_out_batches(order.name, batches) for run in batch.request["runs"]}
    if not before <= {*problems}:
        raise ConflictError(
            f"a problem that the flywheel {order.name} holds out was changed or removed: bring it back, or choose"
            " another name"
        )
    searched = held_out_searches(order, batches)
    known = {run["problem"] for batch in searched for run in batch.request["runs"]}
    runs = [
        {
            "problem": problem, "policy": order.policy, "config": _config(order, 1, _FIRST_HELD_OUT + place),
            "labels": {HELD_OUT_LABEL: order.name},
        }
        for place, problem in enumerate(problems) if problem not in known
    ]  # fmt: skip
    if not runs:
        return searched
    return [*searched, batches.create(checked(BatchCreate, name=f"{order.name} held-out problems", runs=runs))]


def submit_training(
    order: FlywheelOrder,
    found: RecordedRound,
    training: TrainingSite,
    tests: Sequence[RunRecord] = (),
    *,
    allowed: bool,
) -> TrainingJob:
    """Submit the job of a round. It learns from all runs of the flywheel so far.

    Args:
        order: what the flywheel does.
        found: the round.
        training: where jobs and permissions are.
        tests: runs of the held-out problems.
        allowed: whether the runs of the flywheel may be trained on.

    Raises:
        RefusedError: no run of the round may be trained on.
    """
    if allowed:
        answered = {answer.run_id for answer in training.permissions()}
        for run in (*found.runs, *tests):
            if run.id not in answered:
                training.permit(run.id, allowed=True)
    may = {answer.run_id: answer.allowed for answer in training.permissions()}
    if not any(may.get(run.id, may.get(None, False)) for run in found.runs):
        raise RefusedError(
            f"no run of round {found.number} may be trained on: allow one with evolve training allow RUN"
        )
    return training.submit(training_of(order, found.number, [run.id for run in tests if run.state != "cancelled"]))


def training_of(order: FlywheelOrder, number: int, tests: Sequence[str] = ()) -> TrainingJobCreate:
    """The job of a round, with the ids of the runs of held-out problems.

    Raises:
        UsageError: a setting is off.
    """
    asked = {
        "policy": order.policy, "base": "" if order.training.get("model") else order.policy,
        "labels": {NAME_LABEL: order.name}, "promote": True, "seed": order.seed + number - 1, "test_runs": [*tests],
        **order.training,
    }  # fmt: skip
    return checked(TrainingJobCreate, **asked)


def _config(order: FlywheelOrder, number: int, place: int) -> dict[str, Any]:
    seed = order.seed * MAX_LOOKED_THROUGH**2 + (number - 1) * order.problems + place
    return {"budget": {"evaluations": order.evaluations}, "seed": seed}


def _searched(config: Mapping[str, Any]) -> dict[str, Any]:
    return {"evaluations": config["budget"]["evaluations"], "seed of the first run": config["seed"]}


def _searched_with(batch: Batch) -> dict[str, Any]:
    first = _first_run(batch)
    return {"policy": first["policy"], "evaluations": first["config"]["budget"]["evaluations"]}


def _labels(batch: Batch) -> Mapping[str, Any]:
    return dict(_first_run(batch).get("labels") or {})


def _first_run(batch: Batch) -> Mapping[str, Any]:
    runs = batch.request.get("runs") or [{}]
    return dict(runs[0])
