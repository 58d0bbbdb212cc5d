"""Runs side by side in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from service.bootstrap.site import Site
from service.cli import figures
from service.cli.listing import plain_table
from service.cli.records import find_run
from service.cli.terminal import Terminal, plain

if TYPE_CHECKING:
    from rich.table import Table

    from service.schemas.series import RunComparison

COLUMNS = 4


def show_comparison(terminal: Terminal, site: Site, run_ids: Sequence[str]) -> None:
    """Print runs side by side, and what is to be expected of those that differ in nothing but the seed."""
    found = site.compare(list(dict.fromkeys(find_run(site.reader, run_id).id for run_id in run_ids)))
    if terminal.as_json:
        terminal.emit(found.model_dump(mode="json"))
        return
    terminal.show(comparison_table(found))
    for group in found.groups:
        best = ", ".join(figures.number(value) for value in group.best_at_k)
        terminal.show(
            "", f"{figures.plural(len(group.run_ids), 'run')} of {plain(group.name)}, seeds {_list(group.seeds)}"
        )
        mean, deviation = figures.exact(group.final_mean), figures.number(group.final_deviation, 3)
        terminal.show(f"  fitness {mean} ± {deviation}; expected best of 1, 2, ... runs: {best}")


def comparison_table(found: "RunComparison") -> "Table":
    """A row a run: its best fitness after some numbers of evaluations, the same for all."""
    places = _spread(len(found.axis))
    headings = [f"@{figures.count(found.axis[place])}>" for place in places]
    table = plain_table("run", "problem~", "seed>", "state", *headings, "fitness>", "evaluated>", "policies~")
    for run in found.runs:
        table.add_row(
            figures.short(run.run_id),
            plain(run.problem),
            str(run.seed),
            run.state,
            *(figures.number(run.best[place]) for place in places),
            figures.exact(run.final_fitness),
            figures.count(run.evaluations),
            plain(", ".join(run.policies)),
        )
    return table


def _spread(length: int) -> list[int]:
    """A few places of a list, evenly, the last one among them."""
    return sorted({(number * length) // COLUMNS - 1 for number in range(1, COLUMNS + 1) if number * length >= COLUMNS})


def _list(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))
