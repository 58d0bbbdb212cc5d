"""Checking a problem before a run: everything that would go wrong, explained."""

import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace

from evolve.answers.regions import check_markers
from evolve.configuration import RunConfig
from evolve.errors import ConfigurationError, ProblemError
from evolve.evaluation import Evaluation, ScoringRequest, fitness
from evolve.problem import Limits, Measure, Objective, Problem
from evolve.program import Program
from service.problems.advice import DEFAULT_EVALUATIONS, advise_limit, advise_preload, expected_seconds
from service.problems.configuration import PROBLEM, read_config
from service.problems.description import seed_names
from service.problems.load import LoadedProblem
from service.problems.problem_lines import problem_lines
from service.problems.requirements import check_requirements

_ERROR = "error: "
# Without the name of the exception: evaluators that catch one report its text, as ShinkaEvolve's aggregation does.
_NO_MODULE = re.compile(r"No module named '([\w.]+)'")
Evaluate = Callable[[Program, ScoringRequest], Awaitable[Evaluation]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedRun:
    """The result of a single run of a seed. `fitness` is None if it failed."""

    name: str
    program: Program
    evaluation: Evaluation
    fitness: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckReport:
    """The outcome of a check.

    Attributes:
        complaints: faults to correct, in a sentence each.
        warnings: ignored settings, in a sentence each.
        lenient: whether results are read as OpenEvolve reads them.
        limits: of each evaluation.
        evaluations: of a run without another number.
        slots: concurrent evaluations. 0: one per core of the machine.
        preload: modules that the warm process imports.
        taken: the form of the folder and what was taken from it, a line each; empty: it is in Evolve's own form.
        image: digest of the container image that the seeds ran in; empty: in none.
    """

    complaints: tuple[str, ...]
    warnings: tuple[str, ...]
    seeds: tuple[SeedRun, ...]
    lenient: bool = False
    limits: Limits = field(default_factory=Limits)
    evaluations: int = DEFAULT_EVALUATIONS
    slots: int = 0
    preload: tuple[str, ...] = ()
    taken: tuple[str, ...] = ()
    image: str = ""

    @property
    def seconds(self) -> tuple[float, ...]:
        """How long each seed took that could be scored."""
        return tuple(seed.evaluation.seconds for seed in self.seeds if seed.evaluation.ok)

    @property
    def advice(self) -> tuple[str, ...]:
        """Hints for faster evaluations, in a sentence each."""
        scored = [seed.evaluation for seed in self.seeds if seed.evaluation.ok]
        return tuple(filter(None, (advise_limit(self.seconds, self.limits), advise_preload(scored, self.preload))))

    def run_seconds(self, cores: int) -> float:
        """How long the evaluations of a run take on so many cores, if its programs are as fast as the seeds."""
        return expected_seconds(self.seconds, self.evaluations, min(self.slots or cores, cores))

    @property
    def ok(self) -> bool:
        """Whether the problem can be searched on as it is."""
        return not self.complaints

    @property
    def errors(self) -> tuple[str, ...]:
        """Errors that a lenient evaluator reports for seeds that it also scores."""
        lines = [line for seed in self.seeds if seed.evaluation.ok for line in seed.evaluation.feedback.splitlines()]
        return tuple(line.removeprefix(_ERROR) for line in lines if line.startswith(_ERROR)) if self.lenient else ()


def with_image(report: CheckReport, reference: str, image: str) -> CheckReport:
    """The report of a check in an image, with a warning where the name of the image can come to mean another.

    Args:
        report: of the check.
        reference: how the problem names the image.
        image: its digest.
    """
    warnings = report.warnings
    if image and "@" not in reference and "@" in image:
        warnings += (f"evaluator.image = {reference!r} can name another image later: pin it as {image!r}",)
    return replace(report, image=image, warnings=warnings)


async def check_problem(loaded: LoadedProblem, evaluate: Evaluate, look_up: bool = True) -> CheckReport:
    """Check a problem's declarations, its interpreter, its seeds, each run once by `evaluate`, and its holdout.

    If the interpreter lacks a requirement, the seeds do not run, because they would only fail for that reason.

    Args:
        loaded: the problem.
        evaluate: scores a seed.
        look_up: whether the interpreter belongs to this machine, and may start outside of a sandbox.
    """
    problem = loaded.problem
    config, complaints = _configured(loaded)
    complaints += [*_declarations(problem), *_markers(problem)]
    spec = problem.evaluator
    here = look_up and not spec.image
    lacking = await check_requirements(spec.python, spec.requirements, spec.preload) if here else []
    named = [] if lacking else zip(seed_names(problem), problem.seeds, strict=True)
    seeds = [await _run(problem, name, seed, evaluate) for name, seed in named]
    good = next((seed for seed in seeds if seed.evaluation.ok), None)
    warnings = [*loaded.warnings]
    for seed in seeds:
        if good is None or seed.evaluation.ok:
            complaints += _results(problem, seed)
        else:
            warnings += [f"{found}. A run starts from the other seeds" for found in _results(problem, seed)]
    if spec.holdout and good is not None:
        held_out = await evaluate(good.program, ScoringRequest(holdout=True))
        if not held_out.ok:
            complaints.append(f"holdout fails for the seed {good.name} ({held_out.outcome}): {held_out.reason}")
    return CheckReport(
        complaints=(*complaints, *lacking),
        warnings=tuple(warnings),
        seeds=tuple(seeds),
        lenient=spec.lenient,
        limits=problem.limits,
        evaluations=config.budget.evaluations or DEFAULT_EVALUATIONS,
        slots=config.concurrency.evaluations,
        preload=spec.preload,
        taken=problem_lines(loaded) if loaded.foreign else (),
    )


def _configured(loaded: LoadedProblem) -> tuple[RunConfig, list[str]]:
    """The configuration of a run without further settings, and its faults."""
    try:
        return read_config([(PROBLEM, loaded.search)]), []
    except ConfigurationError as error:
        return RunConfig(), [str(error)]


async def _run(problem: Problem, name: str, program: Program, evaluate: Evaluate) -> SeedRun:
    evaluation = await evaluate(program, ScoringRequest(traced=True))
    return SeedRun(name=name, program=program, evaluation=evaluation, fitness=fitness(problem, evaluation))


def _markers(problem: Problem) -> Iterator[str]:
    for seed in problem.seeds:
        try:
            check_markers(seed)
        except ProblemError as error:
            yield f"the seed's {error}"


def _declarations(problem: Problem) -> Iterator[str]:
    for objective in problem.objectives:
        if objective.target is not None and not _within(objective, objective.target):
            yield (
                f"objective {objective.name}: the target {objective.target:g} is outside of its bounds"
                f" {_bounds(objective)}: no score can reach it"
            )
    known, several = problem.known_best, len(problem.objectives) > 1
    first = problem.objectives[0] if problem.objectives else None
    if first is not None and not several and known is not None and not _within(first, known):
        yield f"known_best = {known:g} is outside of {first.name}'s bounds {_bounds(first)}"


def _results(problem: Problem, seed: SeedRun) -> Iterator[str]:
    evaluation = seed.evaluation
    if not evaluation.ok:
        reason = evaluation.reason or "no reason was given"
        yield f"the seed {seed.name} fails ({evaluation.outcome}): {reason}{_missing_module(reason)}"
        return
    for objective in problem.objectives:
        score = evaluation.scores[objective.name]
        if not _within(objective, score):
            yield (
                f"objective {objective.name}: the seed {seed.name} scores {score:g}, outside of the declared bounds"
                f" {_bounds(objective)}: widen them"
            )
        if objective.reached(score):
            yield (
                f"objective {objective.name}: the seed {seed.name} already reaches the target, so a run would end"
                " at once"
            )
    measured = {**evaluation.measures, "complexity": float(seed.program.size)}
    for measure in problem.measures:
        value = measured.get(measure.name)
        if value is not None and not _within(measure, value):
            yield (
                f"measure {measure.name}: the seed {seed.name} has the value {value:g}, outside of its bounds"
                f" {_bounds(measure)}: widen them, or leave them out for a running range"
            )


def _missing_module(reason: str) -> str:
    """How to get a module that a seed lacks; empty: it lacks none."""
    named = _NO_MODULE.search(reason)
    if named is None:
        return ""
    return (
        f": add the package of {named[1]} to requirements.txt and install it with evolve problem setup PROBLEM, or"
        " name an interpreter with --python"
    )


def _within(axis: Objective | Measure, value: float) -> bool:
    return axis.low is None or axis.high is None or axis.low <= value <= axis.high


def _bounds(axis: Objective | Measure) -> str:
    return f"{axis.low:g} to {axis.high:g}"
