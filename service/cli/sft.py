"""What `evolve train sft` does: runs with accepted programs, or a domain, in, an adapter that knows their form out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evolve.answers.continuation import CONTINUE
from service.cli.records import find_run
from service.cli.task import look_here
from service.cli.terminal import Terminal
from service.cli.training_report import hide_library_warnings, show_line
from service.config import load_settings
from service.errors import UsageError
from service.jsonlines import as_line

if TYPE_CHECKING:
    from service.usecases.training_sources import RunSource
    from training.sft import SftResult, SftSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class SftOptions:
    """The words of `evolve train sft`; None: the default, or what the runs' own policy says.

    Attributes:
        runs: ids of runs in the database, or files that `evolve export` wrote.
        domain: whose examples are demonstrated in place of runs.
        problem: folder of the exports' problem.
        numbers: settings of `training.sft.SftSettings`.
    """

    runs: tuple[str, ...]
    domain: str | None
    problem: Path | None
    model: str
    output: Path
    answers: str
    format: str | None
    edits: str | None
    max_tokens: int
    seed: int
    threads: int
    resume: bool
    db: str | None
    numbers: Mapping[str, float | None]


def teach_form(terminal: Terminal, options: SftOptions) -> None:
    """Train an adapter on the programs that runs accepted, or on the examples of a domain.

    Raises:
        TrainingError: training cannot begin or go on.
        UsageError, NotFoundError: a run, a file or a folder is not there, or a word is off.
        InvalidProblemError: the problem of a run cannot be used.
        ExtensionError: the domain cannot be loaded.
    """
    from training.base_model import require_frameworks

    if (options.domain is None) == (not options.runs):
        raise UsageError("name runs, or a domain with --domain")
    require_frameworks()
    hide_library_warnings()
    if options.threads:
        import torch

        torch.set_num_threads(options.threads)
    if options.domain is None:
        _train_on_runs(terminal, options)
    else:
        _train_on_domain(terminal, options, options.domain)


def _train_on_domain(terminal: Terminal, options: SftOptions, domain: str) -> None:
    from training.sft import train_sft_on_domain

    if options.format is not None or options.edits is not None or options.problem is not None:
        raise UsageError("--format, --edits and --problem are for runs: a domain has its own form")
    look_here()
    settings = _settings(options, {})
    result = train_sft_on_domain(settings, domain, lambda line: show_line(terminal, settings.updates, line))
    next_ = f"train task {domain} --model {options.model} --start {result.adapter} -o trained/task"
    _say(terminal, options, settings.updates, result, f"Train on from it: {terminal.command(next_)}")


def _train_on_runs(terminal: Terminal, options: SftOptions) -> None:
    from training.candidate_sources import CandidateSource, read_candidates
    from training.sft import train_sft

    sources: list[CandidateSource] = []
    authors = []
    with terminal.doing("Reading the runs"):
        for found in _sources(options):
            sources.append(
                CandidateSource(
                    name=found.name,
                    problem=found.problem,
                    candidates=read_candidates(found.lines, found.problem, found.name),
                    prompt=found.config.prompt,
                    inspirations=found.config.inspirations,
                    templates=found.templates,
                )
            )
            authors.append(found.author)
    author = next((each for each in authors if each is not None), None)
    # Whoever is taught to write whole programs needs no beginning.
    form = {"format": author.format, "edits": author.edits} if author and author.edits != CONTINUE else {}
    settings = _settings(options, form)
    result = train_sft(settings, sources, lambda line: show_line(terminal, settings.updates, line))
    run = terminal.command(f"run {options.problem or 'PROBLEM'} --policy http://localhost:8000/v1 --model NAME")
    advice = f"Load it into a running vLLM as docs/how-to/train-a-policy.md says, then: {run}"
    _say(terminal, options, settings.updates, result, advice)


def _sources(options: SftOptions) -> "Iterator[RunSource]":
    from service.bootstrap.storage import open_existing_storage
    from service.usecases.training_sources import export_source, stored_source

    exports = [name for name in options.runs if _is_file(name)]
    stored = [name for name in options.runs if not _is_file(name)]
    for name in exports:
        yield export_source(Path(name), options.problem)
    if stored:
        with open_existing_storage(load_settings(), options.db) as storage:
            for name in stored:
                yield stored_source(find_run(storage.reader, name), storage)


def _is_file(name: str) -> bool:
    path = Path(name)
    return path.is_file() or bool(path.suffix) or path.name != name


def _settings(options: SftOptions, form: Mapping[str, str]) -> "SftSettings":
    from training.demonstrations import DemonstrationSettings
    from training.sft import SftSettings

    asked = {name: value for name, value in (("format", options.format), ("edits", options.edits)) if value is not None}
    values: dict[str, Any] = {**form, **asked}
    shown = DemonstrationSettings(
        answers=_numbers(options.answers), max_tokens=options.max_tokens, seed=options.seed, **values
    )
    numbers: dict[str, Any] = {name: value for name, value in options.numbers.items() if value is not None}
    return SftSettings(
        model=options.model, output=options.output, demonstrations=shown, resume=options.resume, **numbers
    )


def _numbers(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word) for word in text.split(","))
    except ValueError as error:
        raise UsageError(f"--answers {text} must be numbers with commas between them, such as 1,2,4") from error


def _say(terminal: Terminal, options: SftOptions, updates: int, result: "SftResult", advice: str) -> None:
    if terminal.as_json:
        values = {"updates": result.updates, "demonstrations": result.demonstrations, "too_long": result.too_long}
        print(as_line({"schema": 1, "kind": "training.summary", "adapter": str(result.adapter), **values}))
        return
    made = ", ".join(f"{count} with m = {m}" for m, count in result.demonstrations.items())
    terminal.show(f"The adapter is in {result.adapter}.")
    terminal.note(f"Demonstrations: {made}. Too long: {result.too_long}.")
    if result.updates < updates:
        terminal.note(f"The time limit ended training after {result.updates} of {updates} updates.")
    empty = [str(m) for m, count in result.demonstrations.items() if not count]
    if empty:
        source = "parent has enough children" if options.domain is None else "question has enough examples"
        terminal.note(f"warning: no {source} for m = {', '.join(empty)}", style="yellow")
    terminal.note(advice)
