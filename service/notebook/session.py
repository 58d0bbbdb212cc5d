"""One run of `evolve.run`: what it is driven with, from opening its parts to its result."""

import asyncio
import inspect
import os
import time
import warnings
from collections.abc import AsyncIterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

from evolve.configuration import DeterministicConfig, RunConfig
from evolve.events import Event
from evolve.extensions import Extension, ExtensionKind, Extensions, own_name
from evolve.identity import digest
from evolve.policies import GuardedPolicy, PolicyContext
from evolve.ports import Evaluator, Policy
from evolve.prompt import build_ideas_prompt, build_prompt, build_review_prompt
from evolve.search.driver import Driver
from evolve.search.ensemble import EnsembleMember
from evolve.search.result import Result
from evolve.trackers import TrackerChoice
from service.bootstrap.evaluators import choose_evaluators
from service.bootstrap.policies import ConfiguredPolicies
from service.bootstrap.storage import open_reader
from service.config import load_settings
from service.notebook.arguments import Watcher, name_of
from service.notebook.best_view import best_view, with_view
from service.notebook.main_thread_executor import CallingThread, attempts, is_asynchronous
from service.notebook.problem import Function
from service.notebook.progress_line import progress_watcher
from service.notebook.result import RunResult
from service.notebook.storage import KeptRun, kept
from service.policy.advised import AdvisingModel, advised, model_of
from service.policy.advisor import Advisor
from service.policy.critic import Critic
from service.policy.function import CONTEXT_TOKENS, FunctionPolicy, form_for
from service.policy.opening import OpenedPolicies
from service.policy.prompt_builder import BuildFor, prompt_builder
from service.projections.run_site import stored_site
from service.usecases.extensions import named_beside
from service.usecases.plan import RunOrder, RunPlan, evaluator_request
from service.usecases.prompt_templates import read_templates
from service.usecases.track_run import RunTracking, read_choices

# One proposal is answered while the children of the one before are scored.
WINDOW = 2


@dataclass(frozen=True, slots=True)
class CallerFunctions:
    """What of the caller's own a run calls: who scores, answers, reviews and advises, and how it searches."""

    evaluate: Function | None
    policies: Sequence[Policy | Function]
    critic: Function | None
    advisor: Function | None
    extensions: Extensions


class NotebookSession:
    """One run: opens what it needs, drives it, and closes it."""

    def __init__(
        self,
        plan: RunPlan,
        order: RunOrder,
        called: CallerFunctions,
        on_event: Watcher | None,
        *,
        progress: bool,
        storage: str,
        trackers: Sequence[TrackerChoice],
        earlier: RunResult | None,
        extension: Mapping[str, Any],
    ) -> None:
        self.calls = CallingThread()
        self._plan, self._order = plan, order
        self._called = called
        self._watchers: list[Watcher] = [progress_watcher(plan.config.budget)] if progress else []
        self._watchers += [on_event] if on_event else []
        self._earlier, self._extension = earlier, extension
        self._settings = load_settings()
        self._driver: Driver | None = None
        self._storage, self._trackers = storage, trackers
        self._kept: KeptRun | None = None

    def stop(self) -> bool:
        """End the run; False: it has not begun."""
        if self._driver is not None:
            self._driver.stop()
        return self._driver is not None

    async def work(self) -> Result:
        """The run, from opening its parts to its result."""
        plan = self._plan
        async with self._answering() as opened, self._scoring() as evaluator:
            members = opened.members
            config = self._earlier.config if self._earlier else self._ordered(members)
            run_id = plan.run_id or (self._earlier.run_id if self._earlier else self._derived_id(opened, config))
            with kept(self._storage, replace(plan, run_id=run_id), config, self._earlier) as self._kept:
                self._driver = Driver(
                    run_id,
                    plan.problem,
                    config,
                    members,
                    evaluator,
                    monotonic=time.monotonic,
                    observe=self._observe if self._watchers or self._kept else None,
                    embedder=opened.embedder,
                    earlier=self._earlier,
                    extension=self._extension,
                    extensions=self._called.extensions,
                    beside=named_beside(plan.policies, plan.problem),
                )
                async with self._tracked(run_id):
                    result = await self._driver.run()
                    view = await best_view(result, evaluator)
                    if view is not None and result.best is not None and self._kept is not None:
                        self._kept.draw(result.best.candidate_id, view)
                    return result if view is None else with_view(result, view)

    @asynccontextmanager
    async def _tracked(self, run_id: str) -> AsyncIterator[None]:
        """Send the run to its trackers, those of the settings too where it is stored."""
        choices = read_choices([*self._settings.tracking.trackers, *map(str, self._trackers)]) if self._storage else ()
        if not choices:
            yield
            return
        with open_reader(self._settings, self._storage) as reader:
            site = stored_site(reader, self._storage)
            tracking = RunTracking(choices, lambda: nullcontext(site), self._warn)
            try:
                with tracking.follow(run_id):
                    yield
            finally:
                await asyncio.to_thread(tracking.close)

    def _warn(self, sentence: str) -> None:
        self.calls.tell(partial(warnings.warn, sentence, stacklevel=4))

    def _derived_id(self, opened: OpenedPolicies, config: RunConfig) -> str:
        """The id of a run that is not kept: equal calls have equal ones."""
        problem, members = self._plan.problem, opened.members
        asked = [member.policy.name for member in members]
        asked += [repr(member.weight) for member in members] if len(members) > 1 else []
        asked += [name for name in (opened.critic, opened.advisor) if name]
        asked += [opened.embedder.name] if opened.embedder else []
        equal = [problem.name, *(seed.id for seed in problem.seeds), repr(config), *asked]
        return f"run_{digest(repr(equal))}"

    def _observe(self, events: Sequence[Event]) -> None:
        if self._kept is not None:
            self._kept.append(events)
        for event in events:
            for watcher in self._watchers:
                self.calls.tell(partial(watcher, event))

    def _ordered(self, members: Sequence[EnsembleMember]) -> RunConfig:
        config = self._plan.config
        given = "deterministic" in self._order.flags or "deterministic.window" in self._order.flags
        if given or config.deterministic.window or any(one.policy.concurrency != 1 for one in members):
            return config
        return replace(config, deterministic=DeterministicConfig(window=WINDOW))

    @asynccontextmanager
    async def _answering(self) -> AsyncIterator[OpenedPolicies]:
        config, called = self._plan.config, self._called
        async with AsyncExitStack() as stack:
            members: list[EnsembleMember] = []
            advising = await self._advising(stack)
            asked = OpenedPolicies(members=(), advising=advising)
            if self._order.policies or not called.policies:
                opening = ConfiguredPolicies(self._settings.policies).open(self._plan, advising)
                asked = await stack.enter_async_context(opening)
                members = [*asked.members]
            for own in called.policies:
                policy = cast("Policy", own)
                if inspect.isclass(own) and hasattr(own, "propose"):
                    policy = await stack.enter_async_context(self._of_kind(own))
                elif not hasattr(own, "propose"):
                    opened = self._own_policy(own, config.answers or 1, config.samples or 1, build_prompt)
                    policy = await stack.enter_async_context(opened)
                members.append(advised(EnsembleMember(policy=policy), *asked.advising))
            critic, advisor = (model_of(role, asked.advising) for role in ("critic", "advisor"))
            yield replace(asked, members=tuple(members), critic=critic, advisor=advisor)

    async def _advising(self, stack: AsyncExitStack) -> tuple[AdvisingModel, ...]:
        """The caller's functions that advise authors."""
        made: list[AdvisingModel] = []
        if self._called.advisor is not None:
            own = self._own_policy(self._called.advisor, 1, 1, build_ideas_prompt)
            made.append(Advisor(await stack.enter_async_context(own)))
        if self._called.critic is not None:
            own = self._own_policy(self._called.critic, 1, 1, build_review_prompt)
            made.append(Critic(await stack.enter_async_context(own)))
        return tuple(made)

    @asynccontextmanager
    async def _of_kind(self, kind: type) -> AsyncIterator[Policy]:
        """A policy of a class of the caller's, opened as one that a configuration names."""
        plan, config = self._plan, self._plan.config
        counts = {"answers": config.answers, "samples": config.samples, "concurrency": config.concurrency.policy}
        context = PolicyContext(
            name=kind.__name__,
            problem=plan.problem,
            settings={key: count or 1 for key, count in counts.items()},
            build_prompt=partial(
                prompt_builder(form_for(config.answers or 1), plan.problem, config, read_templates(plan)),
                context_tokens=CONTEXT_TOKENS,
            ),
        )
        policy = GuardedPolicy(Extension(kind=ExtensionKind.POLICY, name=own_name(kind)), kind, context)
        try:
            await policy.check()
            yield policy
        finally:
            await policy.close()

    @asynccontextmanager
    async def _own_policy(
        self, function: Function, answers: int, samples: int, build_for: BuildFor
    ) -> AsyncIterator[Policy]:
        plan, config = self._plan, self._plan.config
        calls = config.concurrency.policy or 1
        build = prompt_builder(form_for(answers), plan.problem, config, read_templates(plan), build_for)
        async with self._threads(calls) as executor:
            yield FunctionPolicy(
                attempts(function, executor),
                name=name_of(function),
                answers=answers,
                samples=samples,
                concurrency=calls,
                build_prompt=build,
                monotonic=time.monotonic,
            )

    @asynccontextmanager
    async def _scoring(self) -> AsyncIterator[Evaluator]:
        evaluate, slots, attempt = self._called.evaluate, 0, None
        async with AsyncExitStack() as stack:
            if evaluate is not None:
                slots = len(os.sched_getaffinity(0)) if is_asynchronous(evaluate) else 1
                calls = self._plan.config.concurrency.evaluations or slots
                attempt = attempts(evaluate, await stack.enter_async_context(self._threads(calls)))
            evaluators = choose_evaluators(
                self._settings, queue="", function=attempt, require=self._order.require_isolation
            )
            opened = await stack.enter_async_context(evaluators.open(evaluator_request(self._plan, slots)))
            for warning in opened.warnings:
                self._warn(warning)
            yield opened.evaluator

    @asynccontextmanager
    async def _threads(self, calls: int) -> AsyncIterator[Executor]:
        """Where plain functions are called: in the calling thread, or, several at once, in threads of their own."""
        if calls == 1:
            yield self.calls
            return
        pool = ThreadPoolExecutor(calls, thread_name_prefix="evolve.run")
        try:
            yield pool
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
