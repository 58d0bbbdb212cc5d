"""What front doors submit: problems, checked without being stored, and runs, stored without being driven."""

import asyncio
import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from evolve.errors import ConfigurationError
from evolve.evaluation import Evaluation, ScoringRequest
from evolve.problem import Problem
from evolve.program import Program
from service.config import Settings
from service.errors import (
    REQUEST,
    InvalidConfigurationError,
    InvalidProblemError,
    QuotaError,
    RefusedError,
    UnreachableError,
    UsageError,
)
from service.identifiers import new_id
from service.net import Resolve
from service.policy_settings.choice import SOURCE, PolicyChoice, operator_policies, shown
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import read_policy
from service.ports import (
    DEFAULT_TENANT,
    WORKERS,
    EvaluatorFactory,
    EvaluatorRequest,
    NewProblem,
    NewRun,
    PolicyWords,
    ProblemReport,
    RunRecord,
    RunRequest,
    SeedReport,
    Storage,
    Upload,
)
from service.problems.check import check_problem
from service.problems.configuration import PROBLEM, Layer, read_config
from service.problems.description import describe_problem
from service.problems.documents import DocumentError, check_size
from service.problems.evaluator_environment import environment_warning
from service.problems.forked_problem import fork_problem
from service.problems.load import LoadedProblem, load_bundle
from service.problems.upload import load_upload
from service.projections.daily_quotas import used_up
from service.usecases.extensions import refuse_kinds, refuse_request, refuse_runtime
from service.usecases.labels import check_labels
from service.usecases.plan import RunPlan, limits_of, new_run
from service.usecases.policy_registry import StoredPolicies
from service.usecases.prompt_templates import read_templates

CHECK_SECONDS = 300.0
HOUR_SECONDS = 3600
_CHECKS_AT_ONCE = 2
_MAX_BUNDLES_MB = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class _Start:
    """What a run starts from: a problem, layers of configuration below the request's, and the policies."""

    loaded: LoadedProblem
    layers: Sequence[Layer]
    policies: Sequence[PolicySettings]
    source: str
    fork_of: str = ""


class BundledSubmissions:
    """The port Submissions over the stores, with the policies, the sandbox or the workers of this installation.

    Args:
        settings: what the operator allows.
        storage: where problems, runs, quotas and usage are.
        evaluators: check the seeds of a problem, and say what this place allows.
        resolve: gives the addresses of a host; the system's when None.
        registry: policies with versions, which requests may name. None: there are none.

    Raises:
        UsageError: the operator's policies cannot be read.
    """

    def __init__(
        self,
        settings: Settings,
        storage: Storage,
        evaluators: EvaluatorFactory,
        *,
        resolve: Resolve | None = None,
        registry: StoredPolicies | None = None,
    ) -> None:
        self._registry = registry
        self._settings, self._storage, self._clock = settings, storage, storage.clock
        self._problems, self._accounts = storage.problems, storage.accounts
        self._evaluators = evaluators
        self._operators = operator_policies(settings.policies)
        self._choice = PolicyChoice(settings.policies, self._operators, resolve)
        self._checks = asyncio.Semaphore(_CHECKS_AT_ONCE)

    def read_problem(self, upload: Upload) -> NewProblem:
        """Read a problem's folder for the tenant `default`; nothing of it is run.

        Raises:
            InvalidProblemError: it cannot be searched on; with every complaint.
        """
        loaded = load_upload(upload)
        if place := _place_outside(loaded.search):
            raise InvalidProblemError([place])
        return NewProblem(
            tenant=DEFAULT_TENANT,
            name=loaded.problem.name,
            bundle=loaded.bundle,
            document=problem_document(loaded),
            created_at=self._clock.now(),
        )

    async def check_problem(self, upload: Upload) -> ProblemReport:
        """Check a problem and run its seeds once, in this machine's sandbox or by a worker.

        Raises:
            RefusedError: nothing here may run programs.
            UnreachableError: the queue does not answer, or the seeds were not scored in time.
        """
        try:
            loaded = await asyncio.to_thread(load_upload, upload)
        except InvalidProblemError as error:
            return ProblemReport(name=upload.name, document={}, complaints=error.complaints)
        if place := _place_outside(loaded.search):
            return ProblemReport(name=loaded.problem.name, document={}, complaints=[place])
        name, document = loaded.problem.name, problem_document(loaded)
        self._refuse_unpermitted(loaded.problem)
        try:
            async with self._checks, asyncio.timeout(CHECK_SECONDS):
                return await self._score(loaded, document)
        except InvalidProblemError as error:
            return ProblemReport(name=name, document=document, complaints=error.complaints, warnings=loaded.warnings)
        except TimeoutError:
            raise UnreachableError(
                f"the seeds were not scored within {CHECK_SECONDS:g} seconds: no worker is free, or they take longer"
            ) from None

    def prepare(self, tenant: str, requests: Sequence[RunRequest], by: str = "") -> Sequence[NewRun]:
        """Make of requests the runs that they ask for; nothing is stored, and names of addresses are waited for.

        Args:
            tenant: whose runs they will be.
            requests: one for each run.
            by: name of the key that they came with; empty: with none.

        Raises:
            NotFoundError: no such problem, candidate or policy.
            InvalidProblemError: a problem cannot be searched on.
            ConfigurationError, UsageError: a configuration or a policy is off, or the problems are too large together.
            RefusedError: the operator does not allow a policy's address, or what a problem wants.
            UnreachableError: a policy's address does not resolve.
        """
        known: dict[str, LoadedProblem] = {}
        found: list[NewRun] = []
        began = self._clock.now()
        for request in requests:
            try:
                run = self._prepared(tenant, request, known, created_at(began, len(found)))
                found.append(replace(run, created_by=by))
            except InvalidConfigurationError as error:
                error.run = len(found)
                raise
        return found

    def store(self, run: NewRun) -> RunRecord:
        """Store a prepared run, queued.

        Raises:
            QuotaError: the tenant has no room for another run.
        """
        with self._storage.unit():
            self.store_all([run])
            return self._storage.readers.of(run.tenant).run(run.id)

    def store_all(self, runs: Sequence[NewRun]) -> None:
        """Store prepared runs of one tenant, queued: all of them or none.

        Raises:
            QuotaError: the tenant has no room for all of them.
        """
        if not runs:
            return
        with self._storage.unit():
            self._refuse_beyond(runs[0].tenant, len(runs), self._clock.now())
            for run in runs:
                self._storage.log.create(run)

    def submit(self, tenant: str, request: RunRequest, by: str = "") -> RunRecord:
        """Prepare a run and store it; what both raise."""
        (run,) = self.prepare(tenant, [request], by)
        return self.store(run)

    def _prepared(self, tenant: str, request: RunRequest, known: dict[str, LoadedProblem], now: datetime) -> NewRun:
        start = self._forked(tenant, request) if request.fork_of else self._fresh(tenant, request, known)
        plan = self._plan(start, request, now)
        if plan.config.learning.model and tenant != DEFAULT_TENANT:
            raise RefusedError(
                f"only the tenant {DEFAULT_TENANT} names learning.model: search with a version of an adapter, such as"
                " one that is shared"
            )
        return replace(
            new_run(plan, WORKERS, now),
            tenant=tenant,
            policies=[shown(policy) for policy in plan.policies],
            document=problem_document(start.loaded) | ({"fork_of": start.fork_of} if start.fork_of else {}),
            batch_id=request.batch_id,
            fork_of=start.fork_of,
        )

    def policies(self) -> Sequence[Mapping[str, Any]]:
        """The operator's policies, as they may be shown."""
        return [shown(policy) for policy in self._operators.values()]

    def _fresh(self, tenant: str, request: RunRequest, known: dict[str, LoadedProblem]) -> _Start:
        record = self._problems.get(tenant, request.problem)
        if record.id not in known:
            known[record.id] = load_bundle(self._problems.bundle(record.bundle_hash), record.name)
            if sum(len(loaded.bundle.content) for loaded in known.values()) > _MAX_BUNDLES_MB << 20:
                raise UsageError(f"the problems are larger than {_MAX_BUNDLES_MB} MB together: submit fewer at once")
        loaded, asked = known[record.id], request.policy
        return _Start(
            loaded=replace(loaded, problem=replace(loaded.problem, name=record.name)),
            layers=[(PROBLEM, loaded.search)],
            policies=self._choice.named(loaded.policies) if asked is None else self._asked(tenant, asked),
            source=f"{SOURCE}{record.name}@{record.version}",
        )

    def _forked(self, tenant: str, request: RunRequest) -> _Start:
        if request.problem:
            raise UsageError("a fork uses the problem of its run: leave out problem")
        reader = self._storage.readers.of(tenant)
        candidate = reader.candidate(request.fork_of)
        run = reader.run(candidate.run_id)
        loaded = fork_problem(self._storage.log.bundle(run.id), run.problem_name, reader.program(candidate.id))
        asked = request.policy
        policies = self._choice.again(run.policies) if asked is None else self._asked(tenant, asked)
        return _Start(
            loaded=replace(loaded, problem=replace(loaded.problem, name=run.problem_name)),
            layers=[(PROBLEM, loaded.search), (f"the run {run.id}", run.config)],
            policies=policies,
            source=f"{SOURCE}{candidate.id}",
            fork_of=candidate.id,
        )

    def _asked(self, tenant: str, words: PolicyWords | Sequence[PolicyWords]) -> list[PolicySettings]:
        registry = self._registry
        return self._choice.asked(words, None if registry is None else partial(registry.settings, tenant))

    def _plan(self, start: _Start, request: RunRequest, now: datetime) -> RunPlan:
        try:
            check_size(REQUEST, request.config)
        except DocumentError as error:
            raise ConfigurationError(str(error)) from error
        layers = [*start.layers, (REQUEST, request.config)]
        config = read_config(layers)
        refuse_request(config, layers, self._settings.extensions)
        refuse_kinds(start.policies, self._settings.extensions)
        plan = RunPlan(
            run_id=new_id("run", now),
            problem=start.loaded.problem,
            bundle=start.loaded.bundle,
            source=start.source,
            config=config,
            policies=tuple(start.policies),
            limits=limits_of(layers, f"problem {start.loaded.problem.name}"),
            labels=check_labels(request.labels),
        )
        if place := _outside(config.prompt.template_dir):
            raise ConfigurationError(place)
        read_templates(plan)
        self._refuse_unpermitted(plan.problem)
        return plan

    def _refuse_unpermitted(self, problem: Problem) -> None:
        python, permitted = problem.evaluator.python, self._settings.sandbox.interpreters
        # It is started before there is a sandbox around it: a stranger could name any program of the machine.
        if python and not problem.evaluator.image and python not in permitted:
            raise RefusedError(
                f"the problem names the interpreter {python[:80]!r}, which is not permitted: leave evaluator.python"
                " out, or ask for it in sandbox.interpreters"
            )
        refuse_runtime(problem, self._settings.extensions.allow)
        self._evaluators.refuse_unpermitted(problem)

    def admit(self, tenant: str) -> None:
        """Nothing where one more run of a tenant may be at work.

        Raises:
            QuotaError: the tenant has used up what it may.
        """
        self._refuse_beyond(tenant, 1, self._clock.now())

    def admit_again(self, tenant: str) -> None:
        """Nothing where a paused run of a tenant may go on.

        Raises:
            QuotaError: the tenant has used up its evaluations or tokens of 24 hours.
        """
        self._refuse_used_up(tenant, self._clock.now())

    def _refuse_beyond(self, tenant: str, added: int, now: datetime) -> None:
        quotas = self._accounts.quotas(tenant)
        if quotas.active_runs is not None:
            self._accounts.hold(tenant)  # of many who come at once each counts those before it
            more = f" and asks for {added} more" if added > 1 else ""
            words = f"runs at once{more}: wait for some to end, or cancel them"
            _refuse_used(tenant, self._accounts.active_runs(tenant), added, quotas.active_runs, words)
        self._refuse_used_up(tenant, now)

    def _refuse_used_up(self, tenant: str, now: datetime) -> None:
        if daily := used_up(self._accounts, tenant, now):
            to_next_hour = HOUR_SECONDS - now.minute * 60 - now.second  # usage is counted by whole hours
            raise QuotaError(f"the tenant {tenant} has used {daily}: try again later", to_next_hour)

    async def _score(self, loaded: LoadedProblem, document: Mapping[str, Any]) -> ProblemReport:
        request = EvaluatorRequest(problem=loaded.problem, bundle=loaded.bundle, slots=1, others=True)
        async with self._evaluators.open(request) as opened:

            async def evaluate(program: Program, wanted: ScoringRequest) -> Evaluation:
                return await opened.evaluator.evaluate(program, f"evl_check_{secrets.token_hex(8)}", wanted)

            report = await check_problem(loaded, evaluate, look_up=opened.in_process)
        lack = ""
        if opened.in_process and not self._settings.sandbox.environments:
            lack = await environment_warning(loaded.problem, loaded.bundle, others=True)
        return ProblemReport(
            name=loaded.problem.name,
            document=document,
            complaints=report.complaints,
            warnings=[*loaded.warnings, *filter(None, [lack])],
            seeds=[
                SeedReport(name=seed.name, evaluation=seed.evaluation, fitness=seed.fitness) for seed in report.seeds
            ],
            errors=report.errors,
            advice=report.advice,
        )


def created_at(began: datetime, place: int) -> datetime:
    """When a run is created, by its place among those that are submitted at once.

    A short id holds the millisecond and no more, and runs are driven in the order of their creation.
    """
    return began + place * timedelta(milliseconds=1)


def problem_document(loaded: LoadedProblem) -> dict[str, Any]:
    """What a problem's files say, with its policies as they may be shown."""
    try:
        policies = [shown(read_policy(policy, "the policy of the problem")) for policy in loaded.policies]
    except UsageError as error:
        return describe_problem(replace(loaded, warnings=(*loaded.warnings, str(error))), [])
    return describe_problem(loaded, policies)


def _refuse_used(tenant: str, used: int, taken: int, limit: int | None, words: str) -> None:
    if limit is not None and used + taken > limit:
        raise QuotaError(f"the tenant {tenant} has used {used} of {limit} {words}")


def _place_outside(search: Mapping[str, Any]) -> str:
    """What is wrong with the folder of templates that a problem's own configuration names; empty: nothing."""
    prompt = search.get("prompt")
    named = prompt.get("template_dir", "") if isinstance(prompt, Mapping) else ""
    return _outside(named) if isinstance(named, str) else ""


def _outside(template_dir: str) -> str:
    place = os.path.normpath(template_dir) if template_dir else "."
    if os.path.isabs(place) or place.startswith("~") or place.split(os.sep)[0] == "..":
        return f"prompt.template_dir {template_dir[:80]!r} lies outside of the problem's folder"
    return ""
