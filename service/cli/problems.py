"""The command `evolve problems`: the catalogue, or a problem of it."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.fact_table import facts
from service.cli.listing import plain_table
from service.cli.terminal import Terminal, plain
from service.problems.catalogue import CatalogueProblem, catalogue, find_problem

if TYPE_CHECKING:
    from rich.table import Table

_ARROWS = {"maximize": "up", "minimize": "down"}


def list_catalogue(terminal: Terminal) -> None:
    """Print the problems of the catalogue, relatives beside each other."""
    found = catalogue()
    if terminal.as_json:
        for problem in found:
            terminal.emit(asdict(problem))
        return
    terminal.show(_table(found))
    terminal.note(
        f"next: {terminal.command('problems NAME')}, {terminal.command('problem init DIR --catalogue NAME')}",
        style="dim",
    )


def show_catalogue_problem(terminal: Terminal, name: str) -> None:
    """Print what is known of a problem of the catalogue."""
    problem = find_problem(name)
    if terminal.as_json:
        terminal.emit(asdict(problem))
        return
    known = "none" if problem.known_best is None else repr(problem.known_best)
    rows = [
        ("problem", problem.name),
        ("title", problem.title),
        ("description", problem.description),
        ("objective", f"{problem.objective}, {problem.direction}"),
        ("best known", known),
        ("source", problem.known_best_source),
        ("how sure", f"{problem.status}, as of {problem.as_of}"),
        ("trap", problem.trap),
        ("verifier", "a second one, independent of the scorer" if problem.verified_twice else "the scorer alone"),
    ]
    terminal.show(facts([(key, plain(value)) for key, value in rows if value]))
    terminal.note(f"next: {terminal.command(f'problem init DIR --catalogue {problem.name}')}", style="dim")


def _table(found: tuple[CatalogueProblem, ...]) -> "Table":
    table = plain_table("problem", "family", "objective", "better", "best known>", "how sure", "verifier")
    for problem in found:
        table.add_row(
            problem.name,
            problem.family,
            problem.objective,
            _ARROWS[problem.direction],
            formatting.number(problem.known_best, 10) if problem.known_best is not None else "–",
            problem.status,
            "second" if problem.verified_twice else "–",
        )
    return table
