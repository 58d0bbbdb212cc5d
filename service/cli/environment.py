"""What `requirements.txt` of a problem asks for: installed when whoever runs the command agrees."""

import asyncio

from service.cli.terminal import Terminal
from service.problems.environments import FILE, Environment, make
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
        InvalidProblemError: the problem cannot be read, or pip fails.
    """
    loaded = load_problem(project)
    environment = asyncio.run(missing_environment(loaded.problem, loaded.bundle))
    if environment is None:
        return
    if yes or terminal.agreed("install them", _question(environment)):
        with terminal.doing(f"installing {FILE}"):
            make(environment)


def _question(environment: Environment) -> str:
    # Where packages come from is seen first, however long the list.
    ordered = sorted(environment.lines, key=lambda line: not (line.startswith("-") or "://" in line))
    lines = ordered[:MAX_LINES]
    more = len(environment.lines) - len(lines)
    return "\n".join(
        [
            f"{FILE} needs packages that this interpreter does not have:",
            *(f"  {line[:200]}" for line in lines),
            *([f"  and {more} more"] if more else []),
            "pip installs them into {environment.folder}. It runs code of these packages with your rights,"
            " outside of the sandbox.",
        ]
    )
