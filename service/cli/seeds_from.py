"""The option `--seeds-from`: the programs of checkpoints, or of earlier runs, as further seeds."""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.records import find_run
from service.cli.run_options import RunOptions
from service.cli.terminal import Terminal
from service.errors import InvalidProblemError, NotFoundError, UsageError
from service.ports import ResultReader
from service.problems.checkpoints import read_checkpoint
from service.problems.load import load_problem
from service.problems.population import DEFAULT_PROGRAMS, MAX_PROGRAMS, EarlierProgram, EarlierRun, join_populations
from service.problems.project import Project

if TYPE_CHECKING:
    from service.client.service_choice import SourceOptions

_COUNTED = re.compile(r"(.+):([0-9]{1,9})")


def run_with_population(
    terminal: Terminal, options: RunOptions, where: "SourceOptions", texts: Sequence[str] | None
) -> RunOptions:
    """The words of a run whose problem has the programs that somebody names as further seeds.

    Raises:
        UsageError: what is named does not exist, or a run to continue has its own programs.
        InvalidProblemError: the problem or the checkpoint cannot be read.
    """
    if not texts:
        return options
    if options.problem is None or options.resume:
        raise UsageError("--seeds-from adds seeds to a new run of a problem: leave out --resume and name the problem")
    return replace(options, problem=with_population(terminal, options.problem, where, texts))


def with_population(terminal: Terminal, project: Project, where: "SourceOptions", texts: Sequence[str]) -> Project:
    """A problem with further seeds.

    Args:
        terminal: is told how many there are.
        project: the problem.
        where: the place of runs.
        texts: each `CHECKPOINT[:k]` or `RUN[:k]`.

    Raises:
        UsageError: what is named does not exist.
        InvalidProblemError: the problem or the checkpoint cannot be read.
    """
    objectives = load_problem(project).problem.objectives
    populations = []
    for text in texts:
        name, count = _named(text)
        place = Path(name).expanduser()
        population = (read_checkpoint(place) if place.exists() else _run(where, name, count)).best(count, objectives)
        terminal.note(f"further seeds: {population}", style="dim")
        if population.unscored:
            terminal.note(
                f"warning: {name} has no score of {population.unscored} of these programs, so the earliest come along"
                " instead of the best: name results with scores, or more programs with :K",
                style="yellow",
            )
        populations.append(population)
    joined = join_populations(populations)
    if len(joined.programs) > MAX_PROGRAMS:
        raise UsageError(f"--seeds-from: all together are {len(joined.programs)} programs, more than {MAX_PROGRAMS}")
    return replace(project, population=joined.as_files())


def _named(text: str) -> tuple[str, int]:
    """A checkpoint or a run, and how many of its programs."""
    matched = _COUNTED.fullmatch(text)
    if matched is None or Path(text).expanduser().exists():
        return text, DEFAULT_PROGRAMS
    count = int(matched[2])
    if not 0 < count <= MAX_PROGRAMS:
        raise UsageError(f"--seeds-from {text}: name between 1 and {MAX_PROGRAMS} programs")
    return matched[1], count


def _run(where: "SourceOptions", name: str, count: int) -> EarlierRun:
    from service.cli.options import site_of

    try:
        with site_of(where) as site:
            run = find_run(site.reader, name)
            found = site.reader.best(run.id, limit=count)
            programs = {one.id: site.reader.program(one.id) for one in found}
            lines = {one.id: _line(site.reader, one.id) for one in found}
    except NotFoundError as error:
        raise UsageError(f"--seeds-from {name}: there is no such file, folder or run: {error}") from error
    if not found:
        raise InvalidProblemError([f"no program of {formatting.short(run.id)} was evaluated with success"])
    taken = [
        EarlierProgram(
            name=one.id,
            files=_files(dict(programs[one.id].files)),
            parents=[parent for parent in lines[one.id][1:] if parent in programs][:1]
            + [edge.candidate_id for edge in one.parents if edge.role == "crossover"],
            generation=len(lines[one.id]) - 1,
            metrics=dict(one.scores),
        )
        for one in found
    ]
    return EarlierRun(source=f"the run {formatting.short(run.id)}", programs=taken, total=run.counters.evaluations)


def _line(reader: ResultReader, candidate_id: str) -> list[str]:
    """Ids along the first parents, its own first."""
    return [one.id for one in reader.ancestors(candidate_id)]


def _files(files: dict[str, str]) -> dict[str, str]:
    return {"": next(iter(files.values()))} if len(files) == 1 else files
