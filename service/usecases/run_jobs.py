"""What runners drive runs with, made anew for each run from what is stored of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from functools import partial

from evolve.ports import Evaluator
from service.config import ExtensionsSettings
from service.policy_settings.choice import submitted
from service.ports import EvaluatorFactory, RunRecord, Storage
from service.process.identity import this_process
from service.projections.insights import stored_facts
from service.projections.saved_columns import save_ended_run
from service.runner.reevaluate import Reevaluation
from service.runner.run_job import RunJob
from service.usecases.drive_run import evaluator_warnings
from service.usecases.extensions import load_all, named_beside, refuse_kinds, refuse_run, refuse_runtime
from service.usecases.plan import PolicyFactory, RunPlan, evaluator_request, plan_stored
from service.usecases.run_learning import RunTrainers, no_trainer
from service.usecases.run_leftovers import RunLeftovers
from service.usecases.track_run import RunTracking

Warn = Callable[[Sequence[str]], None]


class StoredJobs:
    """Makes what runs are driven with, from what is stored of them.

    Args:
        storage: where the runs are.
        policies: open the policies of the runs.
        evaluators: evaluate the programs of the runs.
        extensions: those that the operator allows.
        slots: evaluations at once of each run whose configuration does not say how many.
        warn: hears what the isolation of a run leaves open.
        tracking: sends runs to trackers while they are driven.
        trainers: give runs who trains their policies within them.
        leftovers: removes what ended runs leave. None: they leave nothing.
    """

    def __init__(
        self,
        storage: Storage,
        policies: PolicyFactory,
        evaluators: EvaluatorFactory,
        extensions: ExtensionsSettings,
        *,
        slots: int = 0,
        warn: Warn = lambda _: None,
        tracking: RunTracking | None = None,
        trainers: RunTrainers = no_trainer,
        leftovers: RunLeftovers | None = None,
    ) -> None:
        self.storage = storage
        self._policies, self._evaluators, self._extensions = policies, evaluators, extensions
        self._slots, self._warn, self._tracking = slots, warn, tracking
        self._trainers, self._leftovers = trainers, leftovers

    @asynccontextmanager
    async def open(self, record: RunRecord) -> AsyncIterator[RunJob]:
        """Everything that a run is driven with; a long run that has ended then is saved for its pages."""
        plan = await asyncio.to_thread(plan_stored, record, self.storage.log)
        if submitted(plan.source):
            refuse_run(plan.config, self._extensions)
            refuse_kinds(plan.policies, self._extensions)
            refuse_runtime(plan.problem, self._extensions.allow)
        named = named_beside(plan.policies, plan.problem)
        load_all(plan.config, beside=named)
        async with (
            self._policies.open(plan) as asked,
            self._evaluating(plan) as evaluator,
        ):
            with self._tracking.follow(record.id) if self._tracking else nullcontext():
                yield RunJob(
                    run_id=record.id,
                    problem=plan.problem,
                    config=plan.config,
                    policies=asked.members,
                    embedder=asked.embedder,
                    analyst=asked.analyst,
                    facts=partial(stored_facts, self.storage.reader, record.id),
                    health=asked.health,
                    evaluator=evaluator,
                    log=self.storage.log,
                    clock=self.storage.clock,
                    owner=this_process(),
                    extensions=named,
                    elapsed_seconds=record.active_seconds,
                    trainer=self._trainers(plan),
                    versions=asked.versions,
                    snapshots=self.storage.snapshots,
                )
        await asyncio.to_thread(save_ended_run, self.storage.columns, self.storage.reader, record.id)

    @asynccontextmanager
    async def open_again(self, record: RunRecord) -> AsyncIterator[Reevaluation]:
        """Everything that candidates of a run are evaluated again with; no policy is needed for that."""
        plan = await asyncio.to_thread(plan_stored, record, self.storage.log)
        async with self._evaluating(plan) as evaluator:
            yield Reevaluation(
                run_id=record.id,
                problem=plan.problem,
                config=plan.config,
                evaluator=evaluator,
                log=self.storage.log,
                reader=self.storage.reader,
                clock=self.storage.clock,
                owner=this_process(),
            )

    async def clear(self, record: RunRecord) -> None:
        """Remove what a run leaves that has ended without being driven to its end."""
        if self._leftovers is not None:
            await self._leftovers.remove(record)

    @asynccontextmanager
    async def open_evaluator(self, record: RunRecord) -> AsyncIterator[Evaluator]:
        """The evaluator of a run's programs, which also draws them."""
        plan = await asyncio.to_thread(plan_stored, record, self.storage.log)
        async with self._evaluating(plan) as evaluator:
            yield evaluator

    @asynccontextmanager
    async def _evaluating(self, plan: RunPlan) -> AsyncIterator[Evaluator]:
        async with self._evaluators.open(evaluator_request(plan, self._slots)) as opened:
            self._warn(await evaluator_warnings(plan, opened))
            yield opened.evaluator
