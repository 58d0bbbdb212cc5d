"""The commands `evolve problem`: check a folder, or make one."""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

from service.bootstrap.runs import check_folder
from service.cli import figures
from service.cli.listing import MOST_ANSWER, plain_table
from service.cli.main import INVALID, OK
from service.cli.terminal import Terminal, plain
from service.config import load_settings
from service.errors import UsageError
from service.problems.domains.init import init_domain
from service.problems.init import init_problem
from service.problems.project import Project

MAX_WARNINGS, MAX_FEEDBACK = 5, 2000

if TYPE_CHECKING:
    from rich.table import Table

    from service.problems.check import CheckReport, SeedReport


def check(terminal: Terminal, project: Project) -> int:
    """Check a problem and explain every complaint; 8 when there is any."""
    from service.telemetry import configure_logging

    configure_logging(terminal.verbosity, color=terminal.color)
    settings = load_settings()
    with terminal.doing("running the seed"):
        report = asyncio.run(check_folder(settings, project))
    if terminal.as_json:
        terminal.emit(report_json(project.folder, report))
        return OK if report.ok else INVALID
    show_warnings(terminal, report.warnings)
    for complaint in report.complaints:
        terminal.show(plain(f"✗ {complaint}"))
    if report.seeds:
        terminal.show(seeds_table(report))
    for seed in report.seeds:
        if seed.evaluation.feedback:
            said = plain(seed.evaluation.feedback[:MAX_FEEDBACK]).splitlines()
            terminal.show(f"feedback on {plain(seed.name)}:", *(f"  {line}" for line in said))
    if not report.ok:
        terminal.note(f"{figures.plural(len(report.complaints), 'complaint')}: the problem cannot be searched on yet")
        return INVALID
    for error in report.errors:
        terminal.show(plain(f"✗ the evaluator reports an error of the seed, and scores it all the same: {error}"))
    terminal.show("✓ the problem can be searched on" if not report.errors else "the problem can be searched on")
    _advise(terminal, report)
    terminal.note(f"next: {terminal.command(f'run {project.words}')}", style="dim")
    return OK


def _advise(terminal: Terminal, report: "CheckReport") -> None:
    """How long a run will take, and a limit of time that suits the seeds better."""
    cores = len(os.sched_getaffinity(0))
    workers = figures.plural(min(report.slots or cores, cores), "worker")
    took = figures.duration(report.run_seconds(cores))
    evaluations = figures.plural(report.evaluations, "evaluation")
    pace = "if programs are as fast as the seed"
    terminal.note(f"time: {evaluations} take about {took} with {workers}, {pace}", style="dim")
    if report.advice:
        terminal.note(f"time: {report.advice}", style="dim")


def show_warnings(terminal: Terminal, warnings: Sequence[str]) -> None:
    """Print warnings, each once; of many the first, and how many more there are."""
    unique = list(dict.fromkeys(warnings))
    shown = unique if len(unique) <= MAX_WARNINGS or terminal.verbosity > 0 else unique[: MAX_WARNINGS - 1]
    for warning in shown:
        terminal.note(f"warning: {warning}", style="yellow")
    if len(unique) > len(shown):
        terminal.note(
            f"{figures.plural(len(unique) - len(shown), 'more warning')}: evolve -v shows all", style="yellow"
        )


def report_json(folder: Path, report: "CheckReport") -> dict[str, Any]:
    """A report as `problem check --json` gives it."""
    return {
        "problem": str(folder),
        "ok": report.ok,
        "ready": report.ok and not report.errors,
        "complaints": list(report.complaints),
        "warnings": list(report.warnings),
        "seeds": [_seed_json(seed) for seed in report.seeds],
        "advice": report.advice or None,
        "run_seconds": report.run_seconds(len(os.sched_getaffinity(0))) if report.seconds else None,
    }


def _seed_json(seed: "SeedReport") -> dict[str, Any]:
    evaluation = seed.evaluation
    return {
        "name": seed.name,
        "program_id": seed.program.id,
        "outcome": str(evaluation.outcome),
        "reason": evaluation.reason,
        "scores": dict(evaluation.scores),
        "measures": dict(evaluation.measures),
        "fitness": seed.fitness,
        "answer": evaluation.answer,
        "seconds": evaluation.seconds,
        "isolation": evaluation.isolation,
    }


def seeds_table(report: "CheckReport") -> "Table":
    """What each seed scored."""
    answered = any(seed.evaluation.answer is not None for seed in report.seeds)
    table = plain_table("seed", "outcome", "fitness>", "took>", "scores~", *(["answer~"] if answered else []))
    for seed in report.seeds:
        evaluation = seed.evaluation
        scores = ", ".join(f"{plain(name)} {figures.number(value)}" for name, value in evaluation.scores.items())
        took = figures.duration(evaluation.seconds)
        answer = [plain(figures.cut(evaluation.answer or "–", MOST_ANSWER))] if answered else []
        table.add_row(plain(seed.name), str(evaluation.outcome), figures.exact(seed.fitness), took, scores, *answer)
    return table


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """What a problem is begun from: a question of a domain, or, without one, a small problem in Python."""

    domain: str | None = None
    data: Path | None = None
    number: int | None = None


def init(terminal: Terminal, folder: Path, beginning: Beginning) -> None:
    """Make a problem that runs, and say what to do with it."""
    files = _begin(folder, beginning)
    if terminal.as_json:
        terminal.emit({"problem": str(folder), "files": [str(path) for path in files]})
        return
    terminal.show(*(plain(str(path)) for path in files))
    place = quote(str(folder))
    terminal.note(
        f"next: {terminal.command(f'problem check {place}')}, {terminal.command(f'run {place}')}", style="dim"
    )


def _begin(folder: Path, beginning: Beginning) -> tuple[Path, ...]:
    if beginning.domain is not None:
        return init_domain(folder, beginning.domain, beginning.data, beginning.number)
    if beginning.data is not None or beginning.number is not None:
        raise UsageError("--data and --number name a question of a domain: add --domain NAME")
    return init_problem(folder)
