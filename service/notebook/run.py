"""`evolve.run`: a search from a notebook or a script, with functions of one's own, and its result as a value."""

import inspect
import os
import time
import warnings
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, cast

from evolve.configuration import DeterministicConfig, RunConfig
from evolve.errors import ConfigurationError
from evolve.events import Event
from evolve.extensions import Extension, ExtensionKind, Extensions, own_name
from evolve.identity import digest
from evolve.policies import GuardedPolicy, PolicyContext
from evolve.ports import Evaluator, Policy
from evolve.problem import Limits, Measure, Objective, Problem
from evolve.prompt import build_prompt, build_review_prompt
from evolve.search.driver import Driver
from evolve.search.ensemble import EnsembleMember
from evolve.search.result import Result
from service.bootstrap.evaluators import choose_evaluators
from service.bootstrap.policies import ConfiguredPolicies
from service.config import load_settings
from service.errors import InvalidProblemError
from service.identifiers import new_id
from service.notebook.arguments import Asked, Watcher, check_critic, name_of, policies_of, several
from service.notebook.extensions import take_objects
from service.notebook.main_thread_executor import CallingThread, MainThreadExecutor, attempts, is_asynchronous
from service.notebook.problem import Function, read_problem, scored_by
from service.notebook.progress_line import progress_watcher
from service.notebook.result import RunFailedError, RunResult, told
from service.notebook.storage import LAST, KeptRun, kept, read_run, storage_url
from service.policy.critic import Critic, reviewed
from service.policy.function import CONTEXT_TOKENS, FunctionPolicy, form_for
from service.policy.opening import OpenedPolicies
from service.policy.prompt_builder import BuildFor, prompt_builder
from service.policy_settings.roles import read_policies
from service.problems.configuration import SHORT, known_keys
from service.problems.inline_problem import stored_bundle
from service.problems.load import LoadedProblem
from service.problems.suggestion import hint
from service.timestamps import SystemClock
from service.usecases.extensions import load_all, named_beside
from service.usecases.labels import named
from service.usecases.plan import RunOrder, RunPlan, evaluator_request, plan_loaded
from service.usecases.prompt_templates import read_templates

# One proposal is answered while the children of the one before are scored.
WINDOW = 2
_WORDS = "evolve.run"
_SKETCH = ("description", "language", "objectives", "measures", "limits")


def run(
    problem: str | Path | Problem,
    *,
    evaluate: Function | None = None,
    policy: Asked | Sequence[Asked] | None = None,
    critic: Function | None = None,
    model: str | None = None,
    sandbox: bool = False,
    name: str | None = None,
    labels: Mapping[str, str] | None = None,
    description: str | None = None,
    language: str | None = None,
    objectives: str | Sequence[str | Objective] | None = None,
    measures: str | Sequence[str | Measure] | None = None,
    limits: Limits | None = None,
    require_isolation: str | None = None,
    storage: str | Path | None = None,
    on_event: Watcher | None = None,
    progress: bool = False,
    **configuration: Any,
) -> RunResult:
    """Search for a better program in this process, and return what came of it.

    A plain call in scripts and in the running event loop of a notebook; Ctrl-C returns what there is so far.

    Args:
        problem: a problem's folder; or, with `evaluate`, the text of a seed program or a `Problem`.
        evaluate: takes the text of a program (of several files: a dict) and returns a score or a dict of scores; what
            it raises is the reason of a failed candidate. Without it a folder's own evaluator scores, in the sandbox.
        policy: what `--policy` takes, a `Policy` or the class of one, or a function that takes a prompt and returns a
            completion or a list of at most `answers` answers; or a list of these, which are asked in turn by lot;
            without it the folder's own, else the syntax mutator.
        critic: a function that takes a prompt and returns a review of the parent, which `policy` is shown;
            a critic behind a server is a policy with `role = "critic"` of a policy file.
        model: which one of the policy's server.
        sandbox: whether `evaluate` is run in the sandbox, out of its own text, instead of in this process.
        name, labels: of the run; the problem of a seed's text has the name too.
        description, language, objectives, measures, limits: of the problem of a seed's text.
        require_isolation: weakest isolation of the sandbox; None: as the settings say.
        storage: path or URL of a database that keeps the run for `open_run` and commands; None: nothing is stored.
        on_event, progress: hears each event, in the calling thread; whether a bar or a line says how it goes.
        configuration: any key of the run configuration, such as `evaluations=100` or `budget={"target": 2.6}`; a
            selection, archive, strategy, operator or stopping rule may be your own: `selection=MySelection()`.

    Raises:
        InvalidProblemError, ProblemError: the problem cannot be searched on, or no seed can be scored.
        RunFailedError: no answer could be used, an extension failed, and the like; its `result` has what was found.
        ConfigurationError, UsageError, NotFoundError: an argument is off; the text says which.
        RefusedError, PolicyError: the sandbox is too weak, or the policy cannot be reached.
    """
    sketch = _sketch(description, language, several(objectives), several(measures), limits)
    loaded = scored_by(evaluate, read_problem(problem, evaluate, name, sketch), limits, sandbox=sandbox)
    names, own = policies_of(policy)
    flags, extensions = take_objects(configuration)
    order = RunOrder(flags=flags, policies=names, model=model, require_isolation=require_isolation, apart=bool(own))
    plan, url = _stored(_plan(replace(order, labels=named(name, labels or {})), loaded, extensions), storage)
    check_critic(critic, plan, own)
    called = _CallerFunctions(None if sandbox else evaluate, own, critic, extensions)
    session = partial(_NotebookSession, plan, order, called, on_event, progress=progress, storage=url)
    return _sit(session, plan, {}, storage=url)


def open_run(
    run_id: str = LAST,
    *,
    storage: str | Path | None = None,
    evaluate: Function | None = None,
    policy: Asked | Sequence[Asked] | None = None,
    critic: Function | None = None,
    on_event: Watcher | None = None,
    progress: bool = False,
) -> RunResult:
    """A stored run as a result: one of `evolve.run(storage=...)`, or one that a command or a service made.

    `open_run(...).extend(evaluations=200)` continues it, and stores what comes of that. A run that was made with
    functions needs them again.

    Args:
        run_id: id of the run, or a beginning of it of six characters or more; `last`: the newest.
        storage: path or URL of the database; None: that of the settings, where commands keep their runs.
        evaluate, policy, critic: functions of yours that the run goes on with; None: what it was made with.
        on_event, progress: as for `run`, while it goes on.

    Raises:
        NotFoundError: there is no such run or database.
        UsageError: an argument is off; the text says which.
    """
    result, plan, url = read_run(run_id, storage)
    names, own = policies_of(policy)
    if policy is not None:
        plan = replace(plan, policies=tuple(read_policies(names, apart=bool(own))) if names else ())
    check_critic(critic, plan, own)
    called = _CallerFunctions(evaluate, own, critic, Extensions())
    order = RunOrder(flags={}, policies=names, apart=bool(own))
    session = partial(_NotebookSession, plan, order, called, on_event, progress=progress, storage=url)
    return told(result, plan, partial(_sit, session, plan, storage=url), url)


@dataclass(frozen=True, slots=True)
class _CallerFunctions:
    """What of the caller's own a run calls: who scores, answers and reviews, and how it searches."""

    evaluate: Function | None
    policies: Sequence[Policy | Function]
    critic: Function | None
    extensions: Extensions


class _NotebookSession:
    """One run: opens what it needs, drives it, and closes it."""

    def __init__(
        self,
        plan: RunPlan,
        order: RunOrder,
        called: _CallerFunctions,
        on_event: Watcher | None,
        *,
        progress: bool,
        storage: str,
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
        self._storage = storage
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
                return await self._driver.run()

    def _derived_id(self, opened: OpenedPolicies, config: RunConfig) -> str:
        """The id of a run that is not kept: equal calls have equal ones."""
        problem, members = self._plan.problem, opened.members
        asked = [member.policy.name for member in members]
        asked += [repr(member.weight) for member in members] if len(members) > 1 else []
        asked += [opened.critic] if opened.critic else []
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
            critic: Critic | None = None
            asked = OpenedPolicies(members=())
            if called.critic is not None:
                critic = Critic(
                    await stack.enter_async_context(self._own_policy(called.critic, 1, 1, build_review_prompt))
                )
            if self._order.policies or not called.policies:
                opening = ConfiguredPolicies(self._settings.policies).open(self._plan, critic)
                asked = await stack.enter_async_context(opening)
                members, critic = [*asked.members], asked.reviewer
            for own in called.policies:
                policy = cast("Policy", own)
                if inspect.isclass(own) and hasattr(own, "propose"):
                    policy = await stack.enter_async_context(self._of_kind(own))
                elif not hasattr(own, "propose"):
                    opened = self._own_policy(own, config.answers or 1, config.samples or 1, build_prompt)
                    policy = await stack.enter_async_context(opened)
                members.append(reviewed(EnsembleMember(policy=policy), critic))
            yield replace(asked, members=tuple(members), critic="" if critic is None else critic.name)

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
                self.calls.tell(partial(warnings.warn, warning, stacklevel=4))
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


def _sit(
    make: Callable[..., _NotebookSession],
    plan: RunPlan,
    budget: Mapping[str, Any],
    earlier: RunResult | None = None,
    *,
    storage: str,
) -> RunResult:
    """Drive a run to its end, a new one or one that goes on under a changed budget."""
    run_loop = make(earlier=earlier, extension=budget)
    result = MainThreadExecutor(run_loop.work, run_loop.calls, run_loop.stop).run()
    found = told(_with_seed(result), plan, partial(_sit, make, plan, storage=storage), storage)
    if found.detail:
        raise RunFailedError(f"the run failed: {found.detail}", found)
    return found


def _plan(order: RunOrder, loaded: LoadedProblem, extensions: Extensions) -> RunPlan:
    _refuse_unknown(order.flags)
    plan = plan_loaded(order, loaded, "", words=_WORDS)
    load_all(plan.config, extensions, beside=named_beside(plan.policies, plan.problem))
    for warning in plan.warnings:
        warnings.warn(warning, stacklevel=3)
    return plan


def _sketch(*words: object) -> dict[str, Any]:
    """What of a problem was said in a call, by the names of the arguments."""
    return {key: value for key, value in zip(_SKETCH, words, strict=True) if value is not None}


def _stored(plan: RunPlan, storage: str | Path | None) -> tuple[RunPlan, str]:
    """A new run as it is kept in a database, and the URL of that; empty: it is kept nowhere."""
    if storage is None:
        return plan, ""
    bundle = stored_bundle(plan.problem, plan.bundle)
    return replace(plan, run_id=new_id("run", SystemClock().now()), bundle=bundle), storage_url(storage)


def _refuse_unknown(configuration: Mapping[str, Any]) -> None:
    """Refuse a keyword that is near one of the call's own; `read_config` refuses the rest of the unknown."""
    own = set(inspect.signature(run).parameters) - {"configuration"}
    keys = {*known_keys(), *SHORT}
    tops = {key.partition(".")[0] for key in keys}
    for key in configuration:
        near = hint(key, own | keys)
        if key.partition(".")[0] not in tops and any(f"{word!r}" in near for word in own):
            raise ConfigurationError(f"{_WORDS}: unknown key {key!r}{near}")


def _with_seed(result: Result) -> Result:
    if result.reason == "error":
        why = next((record["reason"] for record in result.candidates if record["reason"]), "nothing was returned")
        raise InvalidProblemError([f"no seed of {result.problem.name} could be scored: {why}"])
    return result
