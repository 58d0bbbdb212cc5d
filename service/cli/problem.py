"""The commands `evolve problem init` and `evolve problem import`, and the warnings about a problem."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from service.cli import formatting
from service.cli.terminal import Terminal, plain
from service.errors import UsageError
from service.problems.bundle import unpack
from service.problems.catalogue import init_from_catalogue
from service.problems.domains.init import init_domain
from service.problems.init import init_problem
from service.problems.load import load_problem
from service.problems.problem_lines import problem_lines
from service.problems.project import Project

MAX_WARNINGS = 5


def show_warnings(terminal: Terminal, warnings: Sequence[str]) -> None:
    """Print warnings, each once; of many the first, and how many more there are."""
    unique = list(dict.fromkeys(warnings))
    shown = unique if len(unique) <= MAX_WARNINGS or terminal.verbosity > 0 else unique[: MAX_WARNINGS - 1]
    for warning in shown:
        terminal.note(f"warning: {warning}", style="yellow")
    if len(unique) > len(shown):
        terminal.note(
            f"{formatting.plural(len(unique) - len(shown), 'more warning')}: see all with evolve -v", style="yellow"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ProblemTemplate:
    """What a problem is begun from: a question of a domain, a problem of the catalogue, or a small one in Python."""

    domain: str | None = None
    data: Path | None = None
    number: int | None = None
    catalogue: str | None = None


def init(terminal: Terminal, folder: Path, beginning: ProblemTemplate) -> None:
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


def _begin(folder: Path, beginning: ProblemTemplate) -> tuple[Path, ...]:
    if beginning.domain is not None and beginning.catalogue is not None:
        raise UsageError("--domain and --catalogue name two problems: leave one out")
    if beginning.domain is not None:
        return init_domain(folder, beginning.domain, beginning.data, beginning.number)
    if beginning.data is not None or beginning.number is not None:
        raise UsageError("--data and --number name a question of a domain: add --domain NAME")
    if beginning.catalogue is not None:
        return init_from_catalogue(folder, beginning.catalogue)
    return init_problem(folder)


def import_problem(terminal: Terminal, project: Project, target: Path) -> None:
    """Write a problem of any form in Evolve's own form, and say what to do with it."""
    loaded = load_problem(project)
    unpack(loaded.bundle, target)
    files = sorted(path for path in target.rglob("*") if path.is_file())
    if terminal.as_json:
        terminal.emit({"problem": str(target), "form": loaded.form, "files": [str(path) for path in files]})
        return
    show_warnings(terminal, loaded.warnings)
    terminal.show(*map(plain, problem_lines(loaded)))
    place = quote(str(target))
    terminal.note(f"next: read {place}/problem.toml, then {terminal.command(f'problem check {place}')}", style="dim")
