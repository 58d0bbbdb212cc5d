"""Tables: runs, and candidates of a run."""

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from service.bootstrap.site import Site
from service.cli import figures
from service.cli.records import as_score, find_run, run_json, score_word
from service.cli.terminal import Terminal, plain
from service.ports import CandidateRecord, ResultReader, RunRecord
from service.projections.candidates import candidate_json, every_candidate

if TYPE_CHECKING:
    from rich.table import Table

STATE_STYLES = {"running": "cyan", "succeeded": "green", "failed": "red", "cancelled": "yellow", "paused": "yellow"}
MOST_ANSWER = 60
OUTCOME_STYLES = {"ok": "green", "duplicate": "dim", "rejected": "dim", "pending": "cyan", "evaluating": "cyan"}


def list_runs(terminal: Terminal, reader: ResultReader, limit: int) -> None:
    """Print runs, newest first."""
    runs = reader.runs(limit=limit)
    if terminal.as_json:
        for run in runs:
            terminal.emit(run_json(run))
    elif runs:
        terminal.show(runs_table(runs))
    else:
        terminal.note("there is no run yet: evolve run PROBLEM starts one")


def runs_table(runs: Sequence[RunRecord]) -> "Table":
    """One row a run."""
    paid = any(run.counters.cost not in (None, "0") for run in runs)
    table = plain_table(
        "run", "problem~", "state", "best>", "evaluated>", "valid>", *(["cost>"] if paid else []), "created"
    )
    for run in runs:
        table.add_row(
            figures.short(run.id),
            plain(run.problem_name),
            run.state,
            figures.number(as_score(run, run.best_fitness)),
            figures.count(run.counters.evaluations),
            figures.count(run.counters.valid),
            *([run.counters.cost or "–"] if paid else []),
            f"{run.created_at.astimezone():%m-%d %H:%M}",
        )
    return table


def list_programs(terminal: Terminal, site: Site, run_id: str, limit: int | None, text: str = "") -> None:
    """Print candidates: the best first up to a limit, or without one all of them in order of age.

    Args:
        text: in the source of each, letters of either case; empty: any.
    """
    run = find_run(site.reader, run_id)
    if text:
        candidates: Iterable[CandidateRecord] = islice(site.search(run, text, limit is not None), limit)
    else:
        candidates = every_candidate(site.reader, run.id) if limit is None else site.reader.best(run.id, limit)
    if terminal.as_json:
        for candidate in candidates:
            terminal.emit(candidate_json(candidate))
        return
    rows = list(candidates)
    if not rows:
        lack = "no such candidate" if text else "no evaluated candidate yet"
        terminal.note(f"{run.id} has {lack}{'' if limit is None else '; --all looks at every candidate'}")
        return
    terminal.show(programs_table(run, rows))
    if limit is not None and len(rows) == limit:
        terminal.note(
            f"the best {limit} by {score_word(run)}; --limit N for more, --all for every candidate", style="dim"
        )


def programs_table(run: RunRecord, candidates: Iterable[CandidateRecord]) -> "Table":
    """One row a candidate of a run."""
    from rich.text import Text

    rows = list(candidates)
    answered = any(candidate.answer is not None for candidate in rows)
    table = plain_table(
        "candidate", f"{score_word(run)}>", "outcome", "proposal>", "operator", "policy~", "parent",
        *(["answer~"] if answered else []),
    )  # fmt: skip
    for candidate in rows:
        parent = next((edge.candidate_id for edge in candidate.parents if edge.role == "parent"), None)
        word = outcome_word(candidate)
        table.add_row(
            figures.short(candidate.id),
            figures.number(as_score(run, candidate.fitness)),
            Text(word, style=OUTCOME_STYLES.get(word, "red")),
            "seed" if candidate.number == 0 else f"{candidate.number}.{candidate.position}",
            candidate.operator if candidate.number else "",
            plain(candidate.policy),
            figures.short(parent) if parent else "",
            *([plain(figures.cut(candidate.answer or "–", MOST_ANSWER))] if answered else []),
        )
    return table


def outcome_word(candidate: CandidateRecord) -> str:
    """What became of a candidate, in one word."""
    return candidate.outcome if candidate.outcome and candidate.status == "evaluated" else candidate.status


def plain_table(*headings: str) -> "Table":
    """A table without lines; a heading that ends in `>` is aligned right, one in `~` gives way to the others."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        right, gives_way = heading.endswith(">"), heading.endswith("~")
        name = heading.rstrip(">~")
        table.add_column(name, justify="right" if right else "left", no_wrap=not gives_way, overflow="ellipsis")
    return table
