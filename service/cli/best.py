"""The best candidate of a run: by fitness, or under weights that the user names."""

from pathlib import Path

from service.cli import formatting
from service.cli.export import STDOUT, write_program
from service.cli.fact_table import facts
from service.cli.records import find_run
from service.cli.show import candidate_rows
from service.cli.terminal import Terminal
from service.cli.view import write_view
from service.identifiers import candidate_address
from service.ports import CandidateRecord, ResultReader, RunRecord
from service.projections.best import none_yet, read_weights
from service.projections.candidates import candidate_json
from service.projections.run_site import RunSite


def show_best(
    terminal: Terminal,
    site: RunSite,
    run_id: str,
    *,
    weights: str | None,
    output: Path | None,
    view: Path | None = None,
) -> None:
    """Print the best candidate, and write its program and its view where asked to."""
    reader = site.reader
    run = find_run(reader, run_id)
    wanted = read_weights(weights) if weights is not None else {}
    value: float | None = None
    if wanted:
        winner, value = site.weighted(run, wanted)
        candidate = reader.candidate(winner)
    else:
        candidate = _fittest(reader, run)
    written = write_program(terminal, reader.program(candidate.id), output) if output is not None else []
    if view is not None and (drawn := write_view(terminal, site, candidate, view)):
        written.append(drawn)
    if STDOUT in (output, view):
        return
    if terminal.as_json:
        extra = {"weights": wanted, "value": value} if wanted else {}
        terminal.emit({**candidate_json(candidate), **extra, "written": written})
        return
    rows = candidate_rows(candidate)
    if value is not None:
        rows.insert(4, ("weighted", f"{formatting.exact(value)} under {weights}"))
    terminal.show(facts(rows))
    name = candidate_address(run.id, candidate.id)
    if written:
        terminal.note(f"written: {', '.join(written)}", style="dim")
    elif candidate.proposal_number:  # a seed has neither
        terminal.note(f"next: {terminal.command(f'lineage {name}')}, {terminal.command(f'diff {name}')}", style="dim")


def _fittest(reader: ResultReader, run: RunRecord) -> CandidateRecord:
    if best := reader.best(run.id, limit=1):
        return best[0]
    raise none_yet(run)
