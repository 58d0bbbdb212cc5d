"""Tables: runs, and candidates of a run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.records import as_score, find_run, policy_names, run_json, run_name, score_word
from service.cli.terminal import Terminal, plain
from service.ports import CandidateRecord, ResultReader, RunFilter, RunRecord
from service.projections.candidates import candidate_json, every_candidate
from service.projections.run_site import RunSite

if TYPE_CHECKING:
    from rich.table import Table

STATE_STYLES = {"running": "cyan", "succeeded": "green", "failed": "red", "cancelled": "yellow", "paused": "yellow"}
MAX_ANSWER = 60
MAX_CELL = 24  # characters of a name or of the policies of a run
GAP = 2  # between two columns
OUTCOME_STYLES = {"ok": "green", "duplicate": "dim", "rejected": "dim", "pending": "cyan", "evaluating": "cyan"}


def list_runs(terminal: Terminal, reader: ResultReader, limit: int, labels: Mapping[str, str]) -> None:
    """Print runs that have these labels, newest first."""
    runs = reader.runs(limit=limit, only=RunFilter(labels=labels))
    if terminal.as_json:
        for run in runs:
            terminal.emit(run_json(run))
    elif runs:
        terminal.show(runs_table(runs, datetime.now(UTC), terminal.out.width))
    elif labels:
        terminal.note(f"no run has the labels {', '.join(f'{key}={value}' for key, value in labels.items())}")
    else:
        terminal.note("there is no run yet: start one with evolve run PROBLEM")


def runs_table(runs: Sequence[RunRecord], now: datetime, width: int) -> "Table":
    """One row a run; what there is no room for is left out, the least important first, never the problem.

    Args:
        runs: in the order in which they stand.
        now: from which their age is counted.
        width: of the screen, in columns.
    """
    paid = any(run.counters.cost not in (None, "0") for run in runs)
    named = any(run_name(run) for run in runs)
    columns = [
        Column(heading="run", rank=0, cells=[formatting.short(run.id) for run in runs]),
        Column(heading="problem", rank=0, cells=[plain(run.problem_name) for run in runs]),
        *(
            [Column(heading="name", rank=2, cells=[formatting.cut(run_name(run), MAX_CELL) for run in runs])]
            if named
            else []
        ),
        Column(heading="state", rank=1, cells=[run.state for run in runs]),
        Column(heading="best>", rank=0, cells=[formatting.number(as_score(run, run.best_fitness)) for run in runs]),
        Column(heading="evaluated>", rank=3, cells=[formatting.count(run.counters.evaluations) for run in runs]),
        Column(heading="valid>", rank=9, cells=[formatting.count(run.counters.valid) for run in runs]),
        Column(heading="policy", rank=6, cells=[formatting.cut(policy_names(run), MAX_CELL) for run in runs]),
        Column(heading="seed>", rank=7, cells=[str(run.seed) for run in runs]),
        Column(heading="strategy", rank=8, cells=[plain(str(run.config.get("strategy", ""))) for run in runs]),
        *([Column(heading="cost>", rank=5, cells=[run.counters.cost or "–" for run in runs])] if paid else []),
        Column(heading="age>", rank=4, cells=[formatting.age(now - run.created_at) for run in runs]),
    ]
    kept = fitting(columns, width)
    table = plain_table(*(column.heading for column in kept))
    for row in zip(*(column.cells for column in kept), strict=True):
        table.add_row(*row)
    table.columns[1].overflow, table.columns[1].no_wrap = "fold", False  # a problem's name is shown to its end
    return table


def list_candidates(terminal: Terminal, site: RunSite, run_id: str, limit: int | None, text: str = "") -> None:
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
        terminal.note(f"{run.id} has {lack}{'' if limit is None else ': list every candidate with --all'}")
        return
    terminal.show(candidates_table(run, rows))
    if limit is not None and len(rows) == limit:
        terminal.note(
            f"The best {limit} by {score_word(run)}. List more with --limit N, or every candidate with --all",
            style="dim",
        )


def candidates_table(run: RunRecord, candidates: Iterable[CandidateRecord]) -> "Table":
    """One row a candidate of a run."""
    from rich.text import Text

    rows = list(candidates)
    answered = any(candidate.answer is not None for candidate in rows)
    table = plain_table(
        "candidate>", f"{score_word(run)}>", "outcome", "operator", "policy~", "parent>",
        *(["answer~"] if answered else []),
    )  # fmt: skip
    for candidate in rows:
        parent = next((edge.candidate_id for edge in candidate.parents if edge.role == "parent"), None)
        word = outcome_word(candidate)
        table.add_row(
            formatting.short(candidate.id),
            formatting.number(as_score(run, candidate.fitness)),
            Text(word, style=OUTCOME_STYLES.get(word, "red")),
            candidate.operator if candidate.proposal_number else "seed",
            plain(candidate.policy),
            formatting.short(parent) if parent else "",
            *([plain(formatting.cut(candidate.answer or "–", MAX_ANSWER))] if answered else []),
        )
    return table


def outcome_word(candidate: CandidateRecord) -> str:
    """What became of a candidate, in one word."""
    return candidate.outcome if candidate.outcome and candidate.status == "evaluated" else candidate.status


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table that has to fit a screen.

    Attributes:
        heading: as `plain_table` takes it.
        rank: where there is too little room, columns of the highest rank are left out first; 0: never.
        cells: a text for each row.
    """

    heading: str
    rank: int
    cells: Sequence[str]

    @property
    def width(self) -> int:
        """Columns of the screen that its widest cell takes, with the space behind it."""
        from rich.cells import cell_len

        return max(cell_len(text) for text in (self.heading.rstrip(">~"), *self.cells)) + GAP


def fitting(columns: Sequence[Column], width: int) -> list[Column]:
    """The columns that a screen of some width has room for."""
    kept = list(columns)
    while sum(column.width for column in kept) - GAP > width:
        last = max(kept, key=lambda column: column.rank)
        if not last.rank:
            break
        kept.remove(last)
    return kept


def plain_table(*headings: str) -> "Table":
    """A table without lines; a heading that ends in `>` is aligned right, one in `~` gives way to the others."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold")
    for heading in headings:
        right, gives_way = heading.endswith(">"), heading.endswith("~")
        name = heading.rstrip(">~")
        table.add_column(name, justify="right" if right else "left", no_wrap=not gives_way, overflow="ellipsis")
    return table
