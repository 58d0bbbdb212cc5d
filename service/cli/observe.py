"""The command `evolve observe`: the loop of another program is recorded as a run."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from evolve.problem import Direction, Objective
from service.bootstrap.storage import open_storage
from service.cli import formatting
from service.cli.records import as_score, run_json
from service.cli.terminal import Terminal
from service.config import load_settings
from service.errors import UsageError
from service.problems.init import name_for
from service.problems.observed_versions import ObservedVersion, read_history, read_lines, read_versions
from service.usecases.record_versions import RecordOrder, record_versions

STDIN = Path("-")


@dataclass(frozen=True, slots=True, kw_only=True)
class ObserveOptions:
    """The words of `evolve observe`.

    Attributes:
        source: a folder of versions, a git repository, or `-`.
        paths: of the program in a git repository.
        scores: file with the scores of the versions.
    """

    source: Path
    metric: str
    minimize: bool
    name: str = ""
    paths: tuple[str, ...] = ()
    scores: Path | None = None


def observe_loop(terminal: Terminal, options: ObserveOptions, db: str | None) -> None:
    """Record a loop, and say what it came to.

    Raises:
        UsageError: there is nothing to record, or it cannot be read.
    """
    direction = Direction.MINIMIZE if options.minimize else Direction.MAXIMIZE
    lines = options.source == STDIN
    source = "JSON lines" if lines else str(options.source.resolve())
    order = RecordOrder(
        name=name_for(Path(options.name or ("observed" if lines else options.source.resolve().name))),
        objective=Objective(name=options.metric, direction=direction),
        source=source,
        labels={"name": options.name} if options.name else {},
    )
    with open_storage(load_settings(), db) as storage:
        run = storage.reader.run(record_versions(storage, order, _versions(options)))
    if terminal.as_json:
        terminal.emit(run_json(run))
        return
    count = formatting.plural(run.counters.evaluations, "version")
    best = formatting.exact(as_score(run, run.best_fitness))
    terminal.show(run.id)
    terminal.note(f"{count} recorded, {run.counters.failed} of them failed, best {options.metric} {best}")
    following = f"lineage {formatting.short(run.id)}"
    if run.counters.failed == run.counters.evaluations:
        terminal.note(f"no version has a score {options.metric}: check the name that --metric gives", style="yellow")
        following = f"candidates {formatting.short(run.id)} --all"
    terminal.note(f"next: {terminal.command(following)}", style="dim")


def _versions(options: ObserveOptions) -> Iterator[ObservedVersion]:
    source = options.source
    if source == STDIN:
        if options.paths or options.scores:
            raise UsageError("JSON lines have files and scores in each line: leave out --path and --scores")
        return read_lines(sys.stdin)
    if not source.is_dir():
        raise UsageError(f"{source} is not a folder: name a folder of versions, a git repository, or - for JSON lines")
    if (source / ".git").exists():
        return read_history(source, options.paths, options.scores)
    if options.paths:
        raise UsageError(f"--path is for a git repository, and {source} is a folder of versions: leave it out")
    return read_versions(source, options.scores)
