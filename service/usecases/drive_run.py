"""A run, opened: everything it is driven with, checked and started; and a problem, checked."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from evolve.evaluation import Evaluation, ScoringRequest
from evolve.ports import Evaluator
from evolve.program import Program
from service.config import SandboxSettings
from service.errors import UsageError
from service.ports import (
    ENDED,
    PAUSED,
    RUNNING,
    Activity,
    EvaluatorFactory,
    EvaluatorRequest,
    Intent,
    OpenedEvaluator,
    RunPolicies,
    RunRecord,
    RunTrainer,
    Storage,
)
from service.problems.check import CheckReport, check_problem, with_image
from service.problems.configuration import config_from_json
from service.problems.evaluator_environment import environment_warning, with_environment
from service.problems.load import load_problem
from service.problems.project import Project
from service.process.identity import this_process
from service.projections.insights import stored_facts
from service.projections.saved_columns import save_ended_run
from service.runner.run_job import RunJob
from service.usecases.control_runs import COMMAND_LINE
from service.usecases.draw_views import draw_best
from service.usecases.extensions import Named, load_all, named_beside
from service.usecases.plan import PolicyFactory, RunOrder, RunPlan, evaluator_request, new_run, plan_again, plan_new
from service.usecases.run_learning import RunTrainers, no_trainer

BUDGET = "budget."
SLOTS = "concurrency.evaluations"
PATIENCE_SECONDS = 60.0  # somebody watches this run, and will rather hear of a database that stays away


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun:
    """A run that is ready to be driven.

    Attributes:
        activity: what models behind servers do at present; None: there are none.
        critic, advisor: their names, where the run has them; empty: it has none.
        isolation: the level that the sandbox reached; `workers`: each evaluation tells its own.
        resumed: whether it was begun earlier.
        wanted: what people elsewhere want of it now; None: it is gone.
        rest: says that it is to stay paused, where somebody wanted it to go on; else its own process goes on with it.
    """

    job: RunJob
    critic: str
    advisor: str
    activity: Callable[[], Activity | None]
    isolation: str
    warnings: tuple[str, ...]
    resumed: bool
    wanted: Callable[[], Intent | None]
    rest: Callable[[], None]


@asynccontextmanager
async def open_run(
    order: RunOrder,
    storage: Storage,
    policies: PolicyFactory,
    evaluators: EvaluatorFactory,
    trainers: RunTrainers = no_trainer,
) -> AsyncIterator[OpenedRun]:
    """Make everything a run is driven with, and store the run itself when it is new.

    Whatever cannot work is found before the run is stored: the problem, the configuration, the isolation, the policy.
    At the end of the block, the best of a run that has ended is drawn, and a long run is saved for its pages.

    Raises:
        InvalidProblemError: the problem cannot be searched on.
        ConfigurationError, UsageError: the configuration or the policy is off, or an extension is missing.
        ExtensionError: an extension cannot be imported.
        ConflictError: the run to go on with has ended, and cannot be continued.
        RefusedError: the machine does not offer the isolation that is required.
        PolicyError: the policy cannot be reached, or refuses.
        UnreachableError: the queue does not answer.
    """
    plan = _plan(order, storage)
    named = named_beside(plan.policies, plan.problem)
    load_all(plan.config, beside=named)
    if plan.record is not None and plan.record.state not in ENDED and plan.record.desired_state != RUNNING:
        _want(storage, plan.record, RUNNING)
    async with policies.open(plan) as asked, evaluators.open(evaluator_request(plan)) as opened:
        plan = _stored(plan, order, storage, opened.isolation)
        job = _job(plan, storage, asked, opened.evaluator, named, trainers(plan))
        warnings = (*plan.warnings, *await evaluator_warnings(plan, opened))
        yield OpenedRun(
            job=job,
            critic=asked.critic,
            advisor=asked.advisor,
            activity=asked.activity,
            isolation=opened.isolation,
            warnings=warnings,
            resumed=plan.record is not None,
            wanted=partial(_wanted, storage, plan.run_id),
            rest=partial(_rest, storage, plan.run_id),
        )
        await draw_best(storage, opened.evaluator, plan.run_id)
    await asyncio.to_thread(save_ended_run, storage.columns, storage.reader, plan.run_id)


def _job(
    plan: RunPlan,
    storage: Storage,
    asked: RunPolicies,
    evaluator: Evaluator,
    extensions: list[Named],
    trainer: RunTrainer | None,
) -> RunJob:
    return RunJob(
        run_id=plan.run_id,
        problem=plan.problem,
        config=plan.config,
        policies=asked.members,
        embedder=asked.embedder,
        analyst=asked.analyst,
        facts=partial(stored_facts, storage.reader, plan.run_id),
        health=asked.health,
        evaluator=evaluator,
        log=storage.log,
        clock=storage.clock,
        owner=this_process(),
        extensions=extensions,
        elapsed_seconds=plan.record.active_seconds if plan.record else 0.0,
        patience_seconds=PATIENCE_SECONDS,
        trainer=trainer,
        versions=asked.versions,
        snapshots=storage.snapshots,
    )


def _stored(plan: RunPlan, order: RunOrder, storage: Storage, isolation: str) -> RunPlan:
    """The plan of a run that is stored from now on."""
    if plan.record is not None:
        return _continued(plan, plan.record, order, storage)
    new = new_run(plan, isolation, storage.clock.now())
    storage.log.create(replace(new, owner=this_process(), created_by=COMMAND_LINE))
    return plan


def _continued(plan: RunPlan, record: RunRecord, order: RunOrder, storage: Storage) -> RunPlan:
    """The plan of a stored run that goes on, with what of its budget is changed; one that has ended is continued."""
    budget = _budget(order)
    if not budget and record.state not in ENDED:
        return plan
    intents = storage.intents(record.tenant)
    by = COMMAND_LINE
    now = intents.extend(record.id, budget, by) if budget else intents.want(record.id, RUNNING, by)
    return replace(plan, record=now, config=replace(plan.config, budget=config_from_json(now.config).budget))


def _budget(order: RunOrder) -> dict[str, Any]:
    """The keys of the budget that an order names."""
    return {key.removeprefix(BUDGET): value for key, value in order.flags.items() if key.startswith(BUDGET)}


def _want(storage: Storage, record: RunRecord, desired_state: str) -> None:
    storage.intents(record.tenant).want(record.id, desired_state, COMMAND_LINE)


def _rest(storage: Storage, run_id: str) -> None:
    intent = _wanted(storage, run_id)
    if intent is not None and intent.by and intent.desired_state == RUNNING:
        _want(storage, storage.reader.run(run_id), PAUSED)


def _wanted(storage: Storage, run_id: str) -> Intent | None:
    return storage.claims().wanted([run_id]).get(run_id)


async def check_folder(sandbox: SandboxSettings, place: Path | Project, evaluators: EvaluatorFactory) -> CheckReport:
    """Check a problem and run its seeds once in the sandbox.

    Raises:
        InvalidProblemError: it cannot even be read, or its evaluator cannot be used.
        RefusedError: the machine does not offer the isolation that the settings require.
    """
    loaded = load_problem(place)
    warning = await environment_warning(loaded.problem, loaded.bundle, others=False)
    problem = await with_environment(loaded.problem, loaded.bundle, sandbox, others=False)
    warnings = (*loaded.warnings, *filter(None, [warning]))
    loaded = replace(loaded, problem=problem, warnings=warnings)
    async with AsyncExitStack() as stack:
        opened: list[OpenedEvaluator] = []

        async def evaluate(program: Program, wanted: ScoringRequest) -> Evaluation:
            # Opened at the first seed only: what the interpreter lacks is explained better by the check itself.
            if not opened:
                request = EvaluatorRequest(problem=loaded.problem, bundle=loaded.bundle, source=loaded.place, slots=1)
                opened.append(await stack.enter_async_context(evaluators.open(request)))
            return await opened[0].evaluator.evaluate(program, "check", wanted)

        report = await check_problem(loaded, evaluate)
        return with_image(report, problem.evaluator.image, opened[0].image if opened else "")


async def evaluator_warnings(plan: RunPlan, opened: OpenedEvaluator) -> tuple[str, ...]:
    """How the evaluation of a run can fail its owner: gaps of the isolation, and packages that this process lacks."""
    lack = await environment_warning(plan.problem, plan.bundle, others=False) if opened.in_process else None
    return (*opened.warnings, *filter(None, [lack]))


def _plan(order: RunOrder, storage: Storage) -> RunPlan:
    if order.resume is not None:
        return plan_again(order.resume, storage, order.flags.get(SLOTS), _budget(order))
    if order.problem is None:
        raise UsageError("name a problem folder, or a run to continue")
    return plan_new(order, order.problem, storage.clock.now())
