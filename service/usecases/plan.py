"""What a run is to be, from a front door's words or from the run's record, before anything of it is started."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from evolve.budget import check_money
from evolve.configuration import RunConfig
from evolve.money import shared_currency
from evolve.problem import Problem
from evolve.search.embedding import check_embedder
from evolve.search.insights import check_analyst
from service.errors import ConflictError, UsageError
from service.identifiers import new_id
from service.policy_settings.choice import submitted
from service.policy_settings.roles import PolicyRoles, Registered, check_learning, read_policies, together, with_params
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import read_policy
from service.ports import ENDED, Bundle, EvaluatorRequest, NewRun, RunLog, RunPolicies, RunRecord, Storage
from service.problems.configuration import (
    PROBLEM,
    Layer,
    config_as_json,
    config_from_json,
    limit_sources,
    parse_sets,
    read_config,
    read_config_file,
)
from service.problems.description import measures_as_json, objectives_as_json
from service.problems.formats.openevolve import DEFAULT_BUDGET
from service.problems.load import LoadedProblem, load_bundle, load_problem
from service.problems.project import Project
from service.projections.continuation import refusal
from service.usecases.extensions import refuse_missing
from service.usecases.labels import check_labels

PROBLEM_FILE = "problem.toml"
UNCHANGED: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """What a front door asks for: a new run of a problem, or to go on with one.

    Attributes:
        settings: `key=value` words.
        flags: configuration keys, dotted; they win over everything else.
        policies: each `syntax`, a bundled model, an address or a file; none: what the problem names, else the syntax
            mutator.
        model: instead of the one that a single policy names.
        params: `KEY=VALUE` each, of a single policy.
        require_isolation: weakest isolation to run under; None: what the settings say.
        queue: Redis through which workers evaluate; None: what the settings say.
        apart: whether the run has policies beside these, of the caller's own.
        labels: of a new run.
        registered: finds policies of the registry by name. None: there is no registry.
    """

    problem: Path | Project | None = None
    resume: str | None = None
    config: Path | None = None
    settings: Sequence[str] = ()
    flags: Mapping[str, Any] = field(default_factory=dict)
    policies: Sequence[str] = ()
    model: str | None = None
    params: tuple[str, ...] = ()
    require_isolation: str | None = None
    queue: str | None = None
    apart: bool = False
    labels: Mapping[str, str] = field(default_factory=dict)
    registered: Registered | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPlan:
    """A run before anything of it is started.

    Attributes:
        source: where the problem's folder lay.
        warnings: what the problem says and is not honoured.
        record: what is stored of it; None for a new one.
        limits: each limit of a new run's budget, with where it was set.
        labels: of a new run.
    """

    run_id: str
    problem: Problem
    bundle: Bundle
    source: str
    config: RunConfig
    policies: tuple[PolicySettings, ...]
    warnings: tuple[str, ...] = ()
    record: RunRecord | None = None
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)


class PolicyFactory(Protocol):
    """Opens the policies of planned runs."""

    def open(self, plan: RunPlan) -> AbstractAsyncContextManager[RunPolicies]:
        """Open the policies of a run, each asked who it is before anything is asked of it.

        A run that was begun goes on with those that can be asked.

        Raises:
            PolicyUnavailable: one of a new run, or all of one that was begun, cannot be reached.
            PolicyDenied: they refuse the key, or do not offer the model.
            UsageError: a key that is named is not there, or a model or a template cannot be read.
            RefusedError, UnreachableError: the address may not be reached, or its name does not resolve.
            ConfigurationError: a template is off, or prices are in different currencies.
        """


def plan_new(order: RunOrder, place: Path | Project, now: datetime) -> RunPlan:
    """A new run of a problem.

    Raises:
        InvalidProblemError: the problem cannot be searched on.
        ConfigurationError: the configuration cannot be honoured.
        UsageError: the policy's description or a label is off.
    """
    return plan_loaded(order, load_problem(place), new_id("run", now))


def plan_loaded(order: RunOrder, loaded: LoadedProblem, run_id: str, *, words: str = "the flags") -> RunPlan:
    """A new run of a problem that was read; raises the rest of the same errors.

    Args:
        order: what is asked for.
        loaded: the problem.
        run_id: id of the run.
        words: where the order's flags stood, for messages.
    """
    layers = [(PROBLEM, loaded.search)]
    layers += [read_config_file(order.config)] if order.config else []
    layers += [parse_sets(order.settings), (words, order.flags)]
    config, policies = read_config(layers), tuple(_policies(order, loaded))
    check_learning(config.learning, PolicyRoles.of(policies))
    return RunPlan(
        run_id=run_id,
        problem=loaded.problem,
        bundle=loaded.bundle,
        source=loaded.place,
        config=config,
        policies=policies,
        warnings=_warnings(loaded, config),
        limits=limits_of(layers, loaded.place),
        labels=check_labels(order.labels),
    )


def limits_of(layers: Sequence[Layer], place: str) -> dict[str, dict[str, Any]]:
    """Each limit of a budget with where it was set; the problem by its file.

    Args:
        layers: of the configuration.
        place: where the problem lies.
    """
    file = Path(place) / PROBLEM_FILE
    problem = str(file) if file.is_file() else place
    return {
        key: {**entry, "from": problem if entry["from"] == PROBLEM else entry["from"]}
        for key, entry in limit_sources(layers).items()
    }


def plan_again(run_id: str, storage: Storage, slots: int | None, budget: Mapping[str, Any] = UNCHANGED) -> RunPlan:
    """A stored run, to go on with; its problem is what it was, whatever became of the folder.

    Args:
        run_id: id of the run.
        slots: evaluations at once from now on; None: as before.
        budget: keys of the budget with the values that they shall have.

    Raises:
        ConflictError: it has ended, and cannot be continued with this budget.
    """
    record = storage.reader.run(run_id)
    if record.state in ENDED and (why := refusal(record, budget)):
        raise ConflictError(why)
    plan = plan_stored(record, storage.log)
    if slots is None:
        return plan
    return replace(plan, config=replace(plan.config, concurrency=replace(plan.config.concurrency, evaluations=slots)))


def plan_stored(record: RunRecord, log: RunLog) -> RunPlan:
    """What is stored of a run, as a plan, whether or not it has ended.

    Raises:
        NotFoundError: the run is not there.
        InvalidProblemError, ConfigurationError, UsageError: this version cannot read it.
    """
    refuse_missing(record, log)
    bundle = log.bundle(record.id)
    return RunPlan(
        run_id=record.id,
        problem=replace(load_bundle(bundle, record.problem_name).problem, name=record.problem_name),
        bundle=bundle,
        source=record.source,
        config=config_from_json(record.config),
        policies=tuple(read_policy(policy, f"the policy of {record.id}") for policy in record.policies),
        record=record,
    )


def evaluator_request(plan: RunPlan, slots: int = 0) -> EvaluatorRequest:
    """The problem of a run, to be evaluated.

    Args:
        plan: the run.
        slots: evaluations at once, where the configuration of the run does not say how many.
    """
    return EvaluatorRequest(
        problem=plan.problem,
        bundle=plan.bundle,
        source=plan.source,
        slots=plan.config.concurrency.evaluations or slots,
        others=submitted(plan.source),
    )


def new_run(plan: RunPlan, isolation: str, now: datetime) -> NewRun:
    """The record of a new run.

    Raises:
        ConfigurationError: its policies have prices in different currencies, its budget of money cannot be held, it
            weighs objectives that its problem does not have, compares by embeddings without an embedder, has an
            embedder or an analyst for nothing, or trains a policy that cannot be trained within a run.
    """
    roles = PolicyRoles.of(plan.policies)
    for options in plan.config.selection_options_of_islands:
        options.check_objectives([objective.name for objective in plan.problem.objectives])
    check_embedder(plan.config, roles.embedder.name if roles.embedder else None)
    check_analyst(plan.config.insights, roles.analyst.name if roles.analyst else None)
    check_learning(plan.config.learning, roles)
    check_money(plan.config.budget, shared_currency(policy.currency for policy in plan.policies))
    return record_of(plan, isolation, now)


def record_of(plan: RunPlan, isolation: str, now: datetime) -> NewRun:
    """What is stored of a run that can be made; nothing is checked."""
    problem = plan.problem
    return NewRun(
        id=plan.run_id,
        problem_name=problem.name,
        bundle=plan.bundle,
        config=config_as_json(plan.config),
        policies=[policy.describe() for policy in plan.policies],
        seed=plan.config.seed,
        integrity=str(problem.evaluator.integrity),
        isolation=isolation,
        objectives=objectives_as_json(problem),
        measures=measures_as_json(problem),
        known_best=problem.known_best,
        source=plan.source,
        created_at=now,
        limits=plan.limits,
        labels=plan.labels,
    )


def _policies(order: RunOrder, loaded: LoadedProblem) -> list[PolicySettings]:
    if order.policies or not loaded.policies:
        return read_policies(
            order.policies or ["syntax"],
            model=order.model,
            params=order.params,
            apart=order.apart,
            registered=order.registered,
        )
    if order.model is not None and len(loaded.policies) > 1:
        raise UsageError(f"--model is for a single policy, and {loaded.place} names {len(loaded.policies)}")
    named = {"model": order.model} if order.model else {}
    place = f"the policy of {loaded.place}"
    policies = [read_policy({**policy, **named}, place) for policy in loaded.policies]
    if order.params and len(policies) > 1:
        raise UsageError(f"--param is for a single policy, and {loaded.place} names {len(policies)}")
    return together([with_params(policy, order.params) for policy in policies])


def _warnings(loaded: LoadedProblem, config: RunConfig) -> tuple[str, ...]:
    """What the problem's reader warns of, but for what the user has settled since."""
    settled = config.budget.evaluations != loaded.search.get("budget", {}).get("evaluations")
    return tuple(text for text in loaded.warnings if not (settled and text.endswith(DEFAULT_BUDGET)))
