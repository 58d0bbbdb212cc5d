"""The packages that a problem declares: installed when whoever runs the command agrees."""

import asyncio
import sys

from service.cli.exit_codes import FAILED, OK
from service.cli.terminal import Terminal, plain
from service.errors import InvalidProblemError
from service.problems.bundle import open_bundle
from service.problems.declared_packages import REQUIREMENTS, declared_packages
from service.problems.environments import Environment, environment_of, make, uv_program
from service.problems.evaluator_environment import missing_environment
from service.problems.load import load_problem
from service.problems.project import Project

MAX_LINES = 20


def offer_environment(terminal: Terminal, project: Project, *, yes: bool) -> None:
    """Ask whether to install what a problem needs and this interpreter lacks, and do it; nobody there: do nothing.

    Args:
        terminal: where whoever runs the command is asked.
        project: the problem.
        yes: whether the answer was given with the command.

    Raises:
        InvalidProblemError: the problem cannot be read, or the installer fails.
    """
    loaded = load_problem(project)
    environment = asyncio.run(missing_environment(loaded.problem, loaded.bundle))
    if environment is None:
        return
    if yes or terminal.agreed("install them", _question(environment)):
        with terminal.doing(f"installing {environment.file}"):
            make(environment)


def set_up(terminal: Terminal, project: Project, *, yes: bool) -> int:
    """Install what a problem needs, after a question; 1 where packages are still missing, 8 where none are declared."""
    loaded = load_problem(project)
    files, spec = open_bundle(loaded.bundle), loaded.problem.evaluator
    declared = declared_packages(files, spec.file)
    if declared is None:
        raise InvalidProblemError(
            [f"{project.folder} declares no packages: write them into {REQUIREMENTS}, one a line"]
        )
    offer_environment(terminal, project, yes=yes)
    missing = asyncio.run(missing_environment(loaded.problem, loaded.bundle))
    environment = environment_of(files, spec)
    python = environment.python if environment and environment.ready else spec.python or sys.executable
    if terminal.as_json:
        terminal.emit(
            {"problem": str(project.folder), "ready": missing is None, "file": declared.file, "python": python}
        )
    elif missing is None:
        terminal.show(plain(f"✓ {declared.file}: the packages are there, for {python}"))
    else:
        terminal.show(plain(f"✗ {declared.file}: nothing was installed. Answer y, or give --yes"))
    return OK if missing is None else FAILED


def _question(environment: Environment) -> str:
    # Where packages come from is seen first, however long the list.
    ordered = sorted(environment.lines, key=lambda line: not (line.startswith("-") or "://" in line))
    lines = ordered[:MAX_LINES]
    more = len(environment.lines) - len(lines)
    return "\n".join(
        [
            f"{environment.file} needs packages that this interpreter does not have:",
            *(f"  {line[:200]}" for line in lines),
            *([f"  and {more} more"] if more else []),
            f"{'uv' if uv_program() else 'pip'} installs them into {environment.folder}."
            " It runs code of these packages with your rights,"
            " outside of the sandbox.",
        ]
    )
