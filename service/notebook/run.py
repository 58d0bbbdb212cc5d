"""`evolve.run`: a search from a notebook or a script, with functions of one's own, and its result as a value."""

import inspect
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack, cast

from evolve.errors import ConfigurationError
from evolve.extensions import Extensions
from evolve.problem import Limits, Measure, Objective, Problem
from evolve.search.result import Result
from evolve.trackers import TrackerChoice
from service.config import database_url, load_settings
from service.errors import InvalidProblemError
from service.identifiers import new_id
from service.notebook.arguments import Asked, Watcher, check_advising, policies_of, several
from service.notebook.extensions import take_objects
from service.notebook.keywords import RunKeywords, with_keywords
from service.notebook.main_thread_executor import MainThreadExecutor
from service.notebook.problem import Function, read_problem, scored_by
from service.notebook.problem_class import SKETCHED, ProblemClass, ProblemWords, problem_words
from service.notebook.result import RunFailedError, RunResult, told
from service.notebook.session import CallerFunctions, NotebookSession
from service.notebook.storage import LAST, read_run, storage_url
from service.policy_settings.roles import read_policies
from service.problems.configuration import SHORT, known_keys
from service.problems.inline_problem import stored_bundle
from service.problems.load import LoadedProblem
from service.problems.suggestion import hint
from service.timestamps import SystemClock
from service.usecases.extensions import load_all, named_beside
from service.usecases.labels import named
from service.usecases.plan import RunOrder, RunPlan, plan_loaded
from service.usecases.track_run import read_choices

_WORDS = "evolve.run"


@with_keywords
def run(
    problem: str | Path | Problem | ProblemClass | type[ProblemClass],
    *,
    evaluate: Function | None = None,
    policy: Asked | Sequence[Asked] | None = None,
    critic: Function | None = None,
    advisor: Function | None = None,
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
    track: str | Sequence[str] | None = None,
    on_event: Watcher | None = None,
    progress: bool = False,
    **configuration: Unpack[RunKeywords],
) -> RunResult:
    """Search for a better program in this process, also in a notebook; Ctrl-C returns what there is so far.

    Args:
        problem: a folder; or, with `evaluate`, a seed's text or a `Problem`; or a class with `seed` and `evaluate`.
        evaluate: takes the text of a program (of several files: a dict) and returns a score or a dict of scores; what
            it raises is the reason of a failed candidate. Without it a folder's own evaluator scores, in the sandbox.
        policy: what `--policy` takes, a `Policy` or its class, or a function that takes a prompt and returns a
            completion or at most `answers` answers; or a list of these; None: the folder's, else the syntax mutator.
        critic, advisor: functions that take a prompt and return a review of the parent, and ideas for it, for `policy`.
        model: which one of the policy's server.
        sandbox: whether `evaluate` is run in the sandbox, out of its own text, instead of in this process.
        name, labels, description, language, objectives, measures, limits: of the run, and of the problem of a seed.
        require_isolation: weakest isolation of the sandbox; None: as the settings say.
        storage: path or URL of a database that keeps the run for `open_run` and commands; None: nothing is stored.
        track: trackers, such as `tensorboard:runs`; a tracked run is stored, where commands keep runs unless you say.
        on_event, progress: hears each event, in the calling thread; whether a bar or a line says how it goes.
        configuration: any key of the run configuration, such as `evaluations=100` or `budget={"target": 2.6}`; a
            selection, archive, strategy, operator or stopping rule may be your own: `selection=MySelection()`.

    Raises:
        InvalidProblemError, ProblemError: the problem cannot be searched on, or no seed can be scored.
        RunFailedError: no answer could be used, an extension failed, and the like; `result` has what was found.
        ConfigurationError, UsageError, NotFoundError: an argument is off; the text says which.
        RefusedError, PolicyError: the sandbox is too weak, or the policy cannot be reached.
    """
    meant = problem_words(problem, evaluate, name, _sketch(description, language, objectives, measures, limits))
    loaded = _loaded(meant, sandbox=sandbox)
    names, own = policies_of(policy)
    flags, extensions = take_objects(cast("Mapping[str, Any]", configuration))
    order = RunOrder(flags=flags, policies=names, model=model, require_isolation=require_isolation, apart=bool(own))
    trackers, place = _tracked(track, storage)
    plan, url = _stored(_plan(replace(order, labels=named(name, labels or {})), loaded, extensions), place)
    check_advising(plan, own, critic=critic, advisor=advisor)
    called = CallerFunctions(None if sandbox else meant.evaluate, own, critic, advisor, extensions)
    session = partial(NotebookSession, plan, order, called, on_event, progress=progress, storage=url, trackers=trackers)
    return _sit(session, plan, {}, storage=url)


def _loaded(meant: ProblemWords, *, sandbox: bool) -> LoadedProblem:
    read = read_problem(meant.problem, meant.evaluate, meant.name, meant.sketch)
    return scored_by(meant.evaluate, read, meant.sketch.get("limits"), sandbox=sandbox)


def _tracked(
    track: str | Sequence[str] | None, storage: str | Path | None
) -> tuple[list[TrackerChoice], str | Path | None]:
    """The trackers, and the database of the run: one that is tracked is stored."""
    trackers = read_choices(several(track) or ())
    return trackers, database_url(load_settings(), None) if trackers and storage is None else storage


def open_run(
    run_id: str = LAST,
    *,
    storage: str | Path | None = None,
    evaluate: Function | None = None,
    policy: Asked | Sequence[Asked] | None = None,
    critic: Function | None = None,
    advisor: Function | None = None,
    track: str | Sequence[str] | None = None,
    on_event: Watcher | None = None,
    progress: bool = False,
) -> RunResult:
    """A stored run as a result: one of `evolve.run(storage=...)`, or one that a command or a service made.

    `open_run(...).extend(evaluations=200)` continues it, and stores what comes of that. A run that was made with
    functions needs them again.

    Args:
        run_id: id of the run, or a beginning of it of six characters or more; `last`: the newest.
        storage: path or URL of the database; None: that of the settings, where commands keep their runs.
        evaluate, policy, critic, advisor: functions of yours that the run goes on with; None: what it was made with.
        track, on_event, progress: as for `run`, while it goes on.

    Raises:
        NotFoundError: there is no such run or database.
        UsageError: an argument is off; the text says which.
    """
    result, plan, url = read_run(run_id, storage)
    names, own = policies_of(policy)
    if policy is not None:
        plan = replace(plan, policies=tuple(read_policies(names, apart=bool(own))) if names else ())
    check_advising(plan, own, critic=critic, advisor=advisor)
    called = CallerFunctions(evaluate, own, critic, advisor, Extensions())
    order = RunOrder(flags={}, policies=names, apart=bool(own))
    trackers = read_choices(several(track) or ())
    session = partial(NotebookSession, plan, order, called, on_event, progress=progress, storage=url, trackers=trackers)
    return told(result, plan, partial(_sit, session, plan, storage=url), url)


def _sit(
    make: Callable[..., NotebookSession],
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
    return {key: value for key, value in zip(SKETCHED, words, strict=True) if value is not None}


def _stored(plan: RunPlan, storage: str | Path | None) -> tuple[RunPlan, str]:
    """A new run as it is kept in a database, and the URL of that; empty: it is kept nowhere."""
    if storage is None:
        return plan, ""
    bundle = stored_bundle(plan.problem, plan.bundle)
    return replace(plan, run_id=new_id("run", SystemClock().now()), bundle=bundle), storage_url(storage)


def _refuse_unknown(configuration: Mapping[str, Any]) -> None:
    """Refuse a keyword that is near one of the call's own; `read_config` refuses the rest of the unknown."""
    keys = {*known_keys(), *SHORT}
    own = set(inspect.signature(run).parameters) - set(RunKeywords.__annotations__)
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
