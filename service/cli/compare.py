"""Runs side by side in a terminal."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.batches import whole_id
from service.cli.control_app import BATCH
from service.cli.listing import plain_table
from service.cli.records import find_run
from service.cli.terminal import Terminal, plain
from service.client.service_choice import SourceOptions
from service.errors import UsageError
from service.ports.reader import RunFilter
from service.projections.run_site import RunSite
from service.schemas.batches import MAX_RUNS

if TYPE_CHECKING:
    from rich.table import Table

    from service.ports import ResultReader
    from service.schemas.series import Axis, ComparedGroup, ComparedRun, GroupLevel, RunComparison

COLUMNS = 4


def show_comparison(
    terminal: Terminal,
    site: RunSite,
    words: Sequence[str],
    where: SourceOptions,
    *,
    over: "Axis",
    by: str = "",
    at: str = "",
) -> None:
    """Print runs side by side, what is to be expected of each group of them, and which group is ahead.

    Args:
        words: runs and batches, or groups of them as NAME=RUN,RUN.
        where: the place of runs and batches.
        over: the axis.
        by: key by which they are grouped.
        at: budgets at which groups are compared, separated by commas.
    """
    from service.projections.comparison import Order

    run_ids, names = _named(site.reader, words, where)
    found = site.compare(run_ids, Order(over=over, by=by, names=names, budgets=_budgets(at)))
    if terminal.as_json:
        terminal.emit(found.model_dump(mode="json"))
        return
    terminal.show(comparison_table(found))
    sign, word = _scale(found)
    for group in found.groups:
        terminal.show("", *_expected(group, sign, word))
    if found.budgets and len(found.leads) and found.groups:
        terminal.show("", levels_table(found))
    terminal.show(*_verdicts(found))
    for note in found.notes:
        terminal.note(note)


def _named(reader: "ResultReader", words: Sequence[str], where: SourceOptions) -> tuple[list[str], list[str]]:
    """Whole ids, each once, and the name of the group of each where groups are named."""
    found: dict[str, str] = {}
    equated = ["=" in word for word in words]
    if any(equated) and not all(equated):
        raise UsageError("some runs are in named groups and some are not: write every group as NAME=RUN,RUN")
    for word in words:
        name, _, listed = word.rpartition("=")
        if "," in name:
            raise UsageError(f"{name[:60]!r} has a comma: name the group without one")
        for named_id in listed.split(","):
            found |= dict.fromkeys(_run_ids(reader, named_id, where), name)
    return list(found), list(found.values()) if any(equated) else []


def _run_ids(reader: "ResultReader", named: str, where: SourceOptions) -> list[str]:
    """The whole id of a run, or those of the runs of a batch, the oldest first."""
    if not named.startswith(BATCH):
        return [find_run(reader, named).id]
    return [run.id for run in reversed(reader.runs(MAX_RUNS, only=RunFilter(batch_id=whole_id(where, named))))]


def _budgets(text: str) -> list[float]:
    try:
        return [float(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--at {text[:60]}: write numbers separated by commas, such as 100,500") from None


def comparison_table(found: "RunComparison") -> "Table":
    """A row a run: its best at some places of the axis, the same for all; of one objective as its score."""
    places = _spread(len(found.axis))
    paid = any(run.cost not in (None, "0") for run in found.runs)
    headings = [f"@{_place(found, found.axis[place])}>" for place in places]
    costs = [*(["tokens>"] if any(run.tokens for run in found.runs) else []), *(["cost>"] if paid else [])]
    table = plain_table("run", "problem~", "seed>", "state", *headings, "best>", "evaluated>", *costs, "policies~")
    for run in found.runs:
        table.add_row(
            formatting.short(run.run_id),
            plain(run.problem),
            str(run.seed),
            run.state,
            *(formatting.number(_signed(run.best[place], _sign(run))) for place in places),
            formatting.exact(_signed(run.final_fitness, _sign(run))),
            formatting.count(run.evaluations),
            *([formatting.count(run.tokens)] if "tokens>" in costs else []),
            *([run.cost or "–"] if paid else []),
            plain(", ".join(run.policies)),
        )
    return table


def levels_table(found: "RunComparison") -> "Table":
    """A row a group: the mean of its best at equal budgets, with its interval."""
    sign, _ = _scale(found)
    headings = [f"@{_place(found, budget)}>" for budget in found.budgets]
    table = plain_table("group~", "seeds>", *headings)
    for group in found.groups:
        table.add_row(
            plain(group.title),
            formatting.count(len(set(group.seeds))),
            *(_level(level, sign) for level in group.levels),
        )
    return table


def _sign(run: "ComparedRun") -> int:
    """What makes of a run's fitness the number that people read."""
    return -1 if run.direction == "minimize" else 1


def _scale(found: "RunComparison") -> tuple[int, str]:
    """What makes of the fitness of groups the number that people read, and what that is called."""
    directions = {run.direction for run in found.runs}
    if len(directions) > 1 or None in directions:
        return 1, "fitness"
    return (-1 if directions == {"minimize"} else 1), "score"


def _signed(value: float | None, sign: int) -> float | None:
    return None if value is None else sign * value + 0.0  # no negative zero


def _expected(group: "ComparedGroup", sign: int, word: str) -> list[str]:
    best = ", ".join(formatting.number(_signed(value, sign)) for value in group.best_at_k)
    seeds = ", ".join(map(str, group.seeds))
    mean, deviation = formatting.exact(_signed(group.final_mean, sign)), formatting.number(group.final_deviation, 3)
    return [
        f"{formatting.plural(len(group.run_ids), 'run')} of {plain(group.title)}, seeds {seeds}",
        f"  {word} {mean} ± {deviation}; expected best of 1, 2, ... runs: {best}",
    ]


def _level(level: "GroupLevel", sign: int) -> str:
    mean = formatting.number(_signed(level.mean, sign), 5)
    if level.low is None or level.high is None:
        return mean
    low, high = sorted((sign * level.low, sign * level.high))
    return f"{mean} [{formatting.number(low, 4)}, {formatting.number(high, 4)}]"


def _verdicts(found: "RunComparison") -> list[str]:
    """Of every two groups whether one is ahead at the last budget; once where no group has several runs."""
    told = [lead.gaps[-1] for lead in found.leads if lead.gaps]
    if not told:
        return []
    if all(gap.seeds < 2 and gap.others < 2 for gap in told):
        return ["", "no group has several seeds, so luck cannot be ruled out: run each group with several seeds"]
    return ["", *(plain(gap.sentence) for gap in told)]


def _place(found: "RunComparison", value: float) -> str:
    if found.over == "time":
        return formatting.duration(value)
    if found.over == "money":
        return f"{formatting.number(value, 3)} {found.currency}".rstrip()
    return formatting.count(int(value))


def _spread(length: int) -> list[int]:
    """A few places of a list, evenly, the last one among them."""
    return sorted({(number * length) // COLUMNS - 1 for number in range(1, COLUMNS + 1) if number * length >= COLUMNS})
