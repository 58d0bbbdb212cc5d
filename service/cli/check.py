"""The command `evolve problem check`, here or by a service."""

import asyncio
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evolve.evaluation import Trace
from service.cli import formatting
from service.cli.environment import offer_environment
from service.cli.exit_codes import INVALID, OK
from service.cli.listing import MAX_ANSWER, plain_table
from service.cli.problem import show_warnings
from service.cli.terminal import Terminal, plain
from service.client.service_choice import ServiceChoice, SourceOptions, advising_local, choose_service
from service.config import load_settings
from service.errors import InvalidProblemError
from service.problems.project import Project

MAX_FEEDBACK = 2000
WRITERS = {"program": "printed by the program", "evaluator": "printed by the evaluator", "both": "printed"}

if TYPE_CHECKING:
    from rich.table import Table

    from service.problems.check import CheckReport, SeedRun
    from service.schemas.problems import ProblemCheck, SeedScore


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSeed:
    """A seed in a check: its result, and what people read beside it."""

    name: str
    outcome: str
    fitness: float | None
    seconds: float
    scores: Mapping[str, float]
    answer: str | None
    feedback: str
    printed: Mapping[str, str]
    artifacts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedProblem:
    """A check of a problem, made here or by a service.

    Attributes:
        taken: the form of the folder and what was taken from it, a line each.
        pace: how long a run takes; empty: not known.
        image: digest of the container image that the seeds ran in; empty: in none.
        document: what `--json` prints.
    """

    ok: bool
    complaints: Sequence[str]
    warnings: Sequence[str]
    seeds: Sequence[CheckedSeed]
    errors: Sequence[str]
    advice: Sequence[str]
    taken: Sequence[str] = ()
    pace: str = ""
    image: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)


def check_anywhere(terminal: Terminal, project: Project, where: SourceOptions, *, yes: bool = False) -> int:
    """Check a problem and explain every complaint; 8 when there is any.

    Args:
        terminal: where to.
        project: the problem.
        where: the service that checks it; nothing named: this process does.
        yes: whether to install what the problem asks for without a question.
    """
    service = choose_service(load_settings(), where)
    if service is None:
        offer_environment(terminal, project, yes=yes)
    checked = _check_there(terminal, project, service) if service else _check_here(terminal, project)
    if terminal.as_json:
        terminal.emit({"problem": str(project.folder), **checked.document})
        return OK if checked.ok else INVALID
    return _show(terminal, project, checked)


def _check_here(terminal: Terminal, project: Project) -> CheckedProblem:
    from service.bootstrap.runs import check_folder
    from service.telemetry import configure_logging

    configure_logging(terminal.verbosity, color=terminal.color)
    settings = load_settings()
    with terminal.doing("running the seed"):
        report = asyncio.run(check_folder(settings, project))
    return CheckedProblem(
        ok=report.ok,
        complaints=report.complaints,
        warnings=report.warnings,
        seeds=[_seed_here(seed) for seed in report.seeds],
        errors=report.errors,
        advice=report.advice,
        taken=report.taken,
        pace=_pace(report),
        image=report.image,
        document=report_json(report),
    )


def _check_there(terminal: Terminal, project: Project, service: ServiceChoice) -> CheckedProblem:
    from service.client import calls
    from service.problems.upload_request import upload_of

    try:
        upload = upload_of(project)
    except InvalidProblemError as error:
        return _unread(error)
    with advising_local(service), service.client() as client, terminal.doing("running the seed"):
        report = client.send(calls.check_problem(upload))
    return CheckedProblem(
        ok=report.ok,
        complaints=report.complaints,
        warnings=report.warnings,
        seeds=[_seed_there(seed) for seed in report.seeds],
        errors=report.errors,
        advice=report.advice,
        document=_document(report),
    )


def _unread(error: InvalidProblemError) -> CheckedProblem:
    """The check of a problem that this process cannot even read, and so cannot send."""
    said = {
        "ok": False,
        "ready": False,
        "complaints": list(error.complaints),
        "warnings": [],
        "seeds": [],
        "advice": [],
    }
    return CheckedProblem(
        ok=False, complaints=error.complaints, warnings=(), seeds=(), errors=(), advice=(), document=said
    )


def _document(report: "ProblemCheck") -> dict[str, Any]:
    said = report.model_dump(mode="json", include={"ok", "complaints", "warnings", "seeds", "advice"})
    return {**said, "ready": report.ok and not report.errors}


def _seed_here(seed: "SeedRun") -> CheckedSeed:
    evaluation, trace = seed.evaluation, seed.evaluation.trace
    return CheckedSeed(
        name=seed.name,
        outcome=str(evaluation.outcome),
        fitness=seed.fitness,
        seconds=evaluation.seconds,
        scores=evaluation.scores,
        answer=evaluation.answer,
        feedback=trace.feedback if trace else evaluation.feedback,
        printed=trace.printed if trace else {},
        artifacts=trace.artifacts if trace else {},
    )


def _seed_there(seed: "SeedScore") -> CheckedSeed:
    return CheckedSeed(
        name=seed.seed,
        outcome=seed.outcome,
        fitness=seed.fitness,
        seconds=seed.seconds,
        scores=seed.scores,
        answer=seed.answer,
        feedback=seed.feedback_without_artifacts if seed.artifacts else seed.feedback,
        printed=seed.printed,
        artifacts=seed.artifacts,
    )


def _show(terminal: Terminal, project: Project, checked: CheckedProblem) -> int:
    terminal.show(*map(plain, checked.taken))
    show_warnings(terminal, checked.warnings)
    for complaint in checked.complaints:
        terminal.show(plain(f"✗ {complaint}"))
    if checked.seeds:
        terminal.show(seeds_table(checked.seeds))
    for seed in checked.seeds:
        _show_texts(terminal, seed)
    if not checked.ok:
        terminal.note(f"{formatting.plural(len(checked.complaints), 'complaint')}: fix them before you run the problem")
        return INVALID
    for error in checked.errors:
        terminal.show(plain(f"✗ the evaluator reports an error for the seed but still scores it: {error}"))
    terminal.show("✓ the problem is ready to run" if not checked.errors else "the problem is ready to run")
    if checked.image:
        terminal.note(f"image: {checked.image}", style="dim")
    for sentence in filter(None, (checked.pace, *checked.advice)):
        terminal.note(f"time: {sentence}", style="dim")
    terminal.note(f"next: {terminal.command(f'run {project.words}')}", style="dim")
    return OK


def _show_texts(terminal: Terminal, seed: CheckedSeed) -> None:
    """Feedback, artifacts and printed text of a seed, each in a section of its own."""
    name = plain(seed.name)
    if seed.feedback:
        terminal.show(f"feedback on {name}:", *_indented(seed.feedback[:MAX_FEEDBACK]))
    if seed.artifacts:
        terminal.show(f"artifacts of {name}:")
    for artifact, text in seed.artifacts.items():
        lines = _indented(text)
        terminal.show(*([f"  {plain(artifact)}: {lines[0].strip()}"] if len(lines) == 1 else [f"  {plain(artifact)}:"]))
        terminal.show(*(f"  {line}" for line in lines[1 if len(lines) == 1 else 0 :]))
    for writer, text in seed.printed.items():
        terminal.show(f"{WRITERS.get(writer, 'printed')} for {name}:", *_indented(text))


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in plain(text).splitlines()]


def _pace(report: "CheckReport") -> str:
    """How long a run will take."""
    cores = len(os.sched_getaffinity(0))
    workers = formatting.plural(min(report.slots or cores, cores), "worker")
    evaluations = formatting.plural(report.evaluations, "evaluation")
    took = formatting.duration(report.run_seconds(cores))
    return f"{evaluations} take about {took} with {workers}, if programs are as fast as the seed"


def report_json(report: "CheckReport") -> dict[str, Any]:
    """A report as `problem check --json` gives it."""
    return {
        "ok": report.ok,
        "ready": report.ok and not report.errors,
        "complaints": list(report.complaints),
        "warnings": list(report.warnings),
        "seeds": [_seed_json(seed) for seed in report.seeds],
        "advice": list(report.advice),
        "taken": list(report.taken),
        "image": report.image,
        "run_seconds": report.run_seconds(len(os.sched_getaffinity(0))) if report.seconds else None,
    }


def _seed_json(seed: "SeedRun") -> dict[str, Any]:
    evaluation, trace = seed.evaluation, seed.evaluation.trace or Trace()
    return {
        "name": seed.name,
        "program_id": seed.program.id,
        "outcome": str(evaluation.outcome),
        "reason": evaluation.reason,
        "scores": dict(evaluation.scores),
        "measures": dict(evaluation.measures),
        "fitness": seed.fitness,
        "answer": evaluation.answer,
        "feedback": evaluation.feedback,
        "printed": dict(trace.printed),
        "artifacts": dict(trace.artifacts),
        "imports": dict(trace.imports),
        "seconds": evaluation.seconds,
        "isolation": evaluation.isolation,
    }


def seeds_table(seeds: Sequence[CheckedSeed]) -> "Table":
    """What each seed scored."""
    answered = any(seed.answer is not None for seed in seeds)
    table = plain_table("seed", "outcome", "fitness>", "took>", "scores~", *(["answer~"] if answered else []))
    for seed in seeds:
        scores = ", ".join(f"{plain(name)} {formatting.number(value)}" for name, value in seed.scores.items())
        answer = [plain(formatting.cut(seed.answer or "–", MAX_ANSWER))] if answered else []
        took = formatting.duration(seed.seconds)
        table.add_row(plain(seed.name), seed.outcome, formatting.exact(seed.fitness), took, scores, *answer)
    return table
