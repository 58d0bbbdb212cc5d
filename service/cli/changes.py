"""`evolve changes`: changes of a run by people, with their effects."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.records import as_score, find_run, score_word
from service.cli.terminal import Terminal, plain
from service.ports import ENDED, RunRecord

if TYPE_CHECKING:
    from service.schemas.changes import Change
    from service.usecases.control_runs import RunController

MAX_TEXT = 60
_NOTE = (
    "Counted are the evaluated candidates of the proposals that a change is about, and as many from right before."
    " For a ban and for settings, these are the next 100."
)


def show_changes(terminal: Terminal, controller: "RunController", run_id: str) -> None:
    """Print the changes of a run, the newest first, each with its yield beside that of as many candidates before."""
    run = find_run(controller.site.reader, run_id)
    found = controller.control.changes(run)
    if terminal.as_json:
        terminal.emit(found.model_dump(mode="json"))
        return
    if not found.items:
        terminal.show(f"{run.id} has no changes by people")
        return
    from service.cli.listing import plain_table

    now = datetime.now(UTC)
    table = plain_table(
        "change",
        "by",
        "made",
        "proposals>",
        "valid>",
        "before>",
        "improvements>",
        "before>",
        f"best {score_word(run)}>",
    )
    for change in found.items:
        table.add_row(*_cells(run, change, now))
    table.columns[0].overflow, table.columns[0].no_wrap = "fold", False
    terminal.show(table)
    terminal.note(_NOTE, style="dim")


def _cells(run: RunRecord, change: "Change", now: datetime) -> list[str]:
    if change.at is None:
        made = "came too late" if run.state in ENDED else "waits"
        return [_subject(change), plain(change.by), made, *6 * ("–",)]
    age = formatting.age(now - change.at)
    if change.kind == "change.refused":
        return [_subject(change), plain(change.by), age, *6 * ("–",)]
    return [
        _subject(change),
        plain(change.by),
        age,
        formatting.count(change.proposals) + (f" of {formatting.count(change.wanted)}" if change.wanted else ""),
        f"{formatting.count(change.valid)} of {formatting.count(change.evaluations)}",
        f"{formatting.count(change.valid_before)} of {formatting.count(change.evaluations_before)}",
        formatting.count(change.improvements),
        formatting.count(change.improvements_before),
        formatting.number(as_score(run, change.best_fitness)),
    ]


def _subject(change: "Change") -> str:
    """The change in a few words."""
    candidate = formatting.short(change.candidate_id) if change.candidate_id else ""
    island = "" if change.island is None else f" for island {change.island}"
    text = plain(formatting.cut(" ".join(change.text.split()), MAX_TEXT))
    match change.kind:
        case "hint.given":
            return f"hint{island}: {text}" if text else f"no hint any more{island}"
        case "insights.written":
            return f"insights: {text}" if text else "no insights any more"
        case "program.inserted":
            return f"program {candidate or 'to come'}"
        case "candidate.banned":
            return f"ban of {candidate}{' and its descendants' if change.descendants else ''}"
        case "ban.lifted":
            return f"lifted the ban of {candidate}"
        case "priority.given":
            return f"priority of {candidate}"
        case "priority.lifted":
            return f"lifted the priority of {candidate}"
        case "settings.changed":
            return plain(", ".join(f"{key}={value}" for key, value in change.settings.items()))
        case _:
            return f"refused ({change.requested}): {plain(formatting.cut(change.reason, MAX_TEXT))}"
