"""How a candidate came about: the line of first parents from its seed, a step at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from evolve.repository import Repository
from service.cli import formatting
from service.cli.records import as_score, find_candidate, score_word
from service.cli.terminal import Terminal, plain
from service.identifiers import candidate_address
from service.ports import CandidateRecord, ResultReader, RunRecord
from service.projections.candidates import candidate_json
from service.projections.diff import tally
from service.projections.gain_shares import gain_shares, shares_in_words
from service.projections.sides import sides_of

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from service.projections.run_site import RunSite


@dataclass(frozen=True, slots=True, kw_only=True)
class LineageStep:
    """One generation.

    Attributes:
        delta: change of fitness from the step before; None for the seed, and where one of the two has none.
        added, removed: lines changed from the step before; None where one of the two has no program.
        record: highest fitness on the line so far.
    """

    candidate: CandidateRecord
    delta: float | None = None
    added: int | None = None
    removed: int | None = None
    record: bool = False


def show_lineage(terminal: Terminal, site: "RunSite", candidate_id: str) -> None:
    """Print the line from the seed to a candidate."""
    reader = site.reader
    line = list(reversed(reader.ancestors(find_candidate(reader, candidate_id).id)))
    steps = list(walk(site, line))
    if terminal.as_json:
        terminal.emit(
            {
                "candidate_id": line[-1].id,
                "run_id": line[-1].run_id,
                "steps": [_json(step) for step in steps],
                "gain_shares": gain_shares(line),
            }
        )
        return
    run = reader.run(line[-1].run_id)
    terminal.show(lineage_table(run, steps))
    others = sum(edge.role != "parent" for candidate in line for edge in candidate.parents)
    terminal.note(_closing(run, steps, others), style="dim")
    if steps[-1].added is not None:
        terminal.note(f"next: {terminal.command(f'diff {candidate_address(run.id, line[-1].id)}')}", style="dim")


def walk(site: "RunSite", line: Sequence[CandidateRecord]) -> Iterator[LineageStep]:
    """The steps of a line that starts at the seed."""
    repository = cache(lambda: site.repository(site.reader.run(line[0].run_id)))
    highest: float | None = None
    before: CandidateRecord | None = None
    for candidate in line:
        record = candidate.fitness is not None and (highest is None or candidate.fitness > highest)
        highest = candidate.fitness if record else highest
        if before is None:
            yield LineageStep(candidate=candidate, record=record)
        else:
            added, removed = _changed(site.reader, before, candidate, repository)
            delta = None if candidate.fitness is None or before.fitness is None else candidate.fitness - before.fitness
            yield LineageStep(candidate=candidate, delta=delta, added=added, removed=removed, record=record)
        before = candidate


def _changed(
    reader: ResultReader,
    before: CandidateRecord,
    after: CandidateRecord,
    repository: Callable[[], Repository | None],
) -> tuple[int | None, int | None]:
    if before.program_id is None or after.program_id is None:  # rejected before it became a program
        return None, None
    return tally(*sides_of(reader.program(before.id), reader.program(after.id), repository))


def lineage_table(run: RunRecord, steps: Sequence[LineageStep]) -> "Table":
    """A row a step, on a stem from the seed down."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    table.add_column("candidate", no_wrap=True)
    table.add_column(score_word(run), justify="right", no_wrap=True)
    table.add_column("change", justify="right", no_wrap=True)
    table.add_column("lines", justify="right", no_wrap=True)
    table.add_column("how", overflow="ellipsis", no_wrap=True)
    for index, step in enumerate(steps):
        table.add_row(*_row(run, step, last=index == len(steps) - 1))
    return table


def _row(run: RunRecord, step: LineageStep, *, last: bool) -> tuple["Text", ...]:
    from rich.text import Text

    candidate = step.candidate
    first = candidate.proposal_number == 0
    change = "green" if (step.delta or 0) > 0 else "red" if (step.delta or 0) < 0 else "dim"
    lines = (
        Text("") if step.added is None else Text.assemble((f"+{step.added}", "green"), " ", (f"−{step.removed}", "red"))
    )
    return (
        Text("●" if first or step.record else "○", style="bold green" if last else "green" if step.record else "dim"),
        Text(formatting.short(candidate.id), style="bold" if last else ""),
        Text(formatting.exact(as_score(run, candidate.fitness))),
        Text(formatting.signed(as_score(run, step.delta)), style=change),
        lines,
        Text(_how(candidate)),
    )


def _how(candidate: CandidateRecord) -> str:
    changed = f": {candidate.changed}" if candidate.changed else ""
    if candidate.proposal_number == 0:
        return f"seed{changed}"
    others = [formatting.short(edge.candidate_id) for edge in candidate.parents if edge.role == "crossover"]
    crossed = f" with {', '.join(others)}" if others else ""
    return plain(f"{candidate.operator}{crossed} by {candidate.policy}{changed}")


def _closing(run: RunRecord, steps: Sequence[LineageStep], others: int) -> str:
    last, first = steps[-1].candidate, steps[0].candidate
    if len(steps) == 1:
        return "a seed, without parents"
    inspired = f", {formatting.plural(others, 'further program')} shown on the way" if others else ""
    gained = ""
    if last.fitness is not None and first.fitness is not None:
        gained = f", {formatting.signed(as_score(run, last.fitness - first.fitness))} from the seed"
    sources = shares_in_words(gain_shares([step.candidate for step in steps]))
    by = f", by {sources}" if gained and sources else ""
    return f"{formatting.plural(len(steps) - 1, 'step')}{gained}{by}{inspired}"


def _json(step: LineageStep) -> dict[str, object]:
    return {**candidate_json(step.candidate), "delta": step.delta, "added": step.added, "removed": step.removed}
