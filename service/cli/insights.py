"""`evolve insights`: what a run has learnt, its versions, and the edits of people."""

import difflib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from evolve.search.insights import MAX_INSIGHTS_CHARACTERS, joined_text
from service.cli import formatting
from service.cli.records import find_run
from service.cli.steer import SteeringCommand, hint
from service.cli.terminal import Terminal, plain
from service.errors import NotFoundError, UsageError
from service.ports import RunRecord
from service.projections.insights import facts_of
from service.projections.run_site import RunSite

if TYPE_CHECKING:
    from service.schemas.insights import InsightsVersion

STDIN = "-"
EARLIER = "From an earlier run:\n"
INSIGHTS_TEXT = "insights.text"
_BYTES_OF_A_CHARACTER = 4


def show_facts(terminal: Terminal, site: RunSite, run_id: str) -> None:
    """Print the facts of a run."""
    run, text = _facts(site, run_id)
    if terminal.as_json:
        terminal.emit({"run_id": run.id, "text": text})
    else:
        terminal.show(plain(text))


def hint_facts(steered: SteeringCommand, proposals: int) -> None:
    """Give an active run its own facts as a hint."""
    _, text = _facts(steered.controller.site, steered.run.id)
    hint(steered, text, proposals)


def show_versions(terminal: Terminal, site: RunSite, run_id: str) -> None:
    """Print the versions of a run's insights, the newest first, each with what differs from the one before."""
    run = find_run(site.reader, run_id)
    found = site.insights(run)
    if terminal.as_json:
        terminal.emit(found.model_dump(mode="json"))
        return
    if not found.items:
        terminal.show(f"{run.id} has no insights: set insights.every, or give it some with --edit")
    for place, one in enumerate(found.items):
        before = found.items[place + 1].text if place + 1 < len(found.items) else ""
        terminal.show(plain(f"version {one.version or 'to come'}, {_author(one)}"))
        for line in difflib.ndiff(before.splitlines(), one.text.splitlines()):
            if not line.startswith("?"):
                terminal.show(plain(line))


def edit_insights(steered: SteeringCommand, path: str) -> None:
    """Write the next version of a run's insights from a file, or from stdin."""
    text = _text(path).strip()
    request = steered.controller.control.edit_insights(steered.run, text)
    said = "gets these insights in its next prompts" if text else "gets no insights until it writes the next version"
    steered.show(request, said)


def earlier_insights(terminal: Terminal, site: RunSite, run_id: str) -> str:
    """The newest insights of a run, or its facts where it has none, for another run to begin with."""
    run = find_run(site.reader, run_id)
    text = next((one.text for one in site.insights(run).items if one.version and one.text), "")
    name = formatting.short(run.id)
    terminal.note(f"insights from {name}: {'its newest version' if text else 'its facts'}", style="dim")
    text = (text or _facts(site, run.id)[1]).removeprefix(EARLIER)
    return joined_text("", EARLIER + text)


def _facts(site: RunSite, run_id: str) -> tuple[RunRecord, str]:
    run = find_run(site.reader, run_id)
    return run, facts_of(site.reader, run, site.failures(run), site.statistics(run))


def _author(version: "InsightsVersion") -> str:
    if version.source == "person":
        return f"by {version.by}"
    if version.source == "earlier_run":
        return "from an earlier run"
    written = f"by the analyst {version.policy}" if version.source == "analyst" else "facts of the run"
    failed = f" (the analyst {version.policy} wrote nothing: {version.reason})" if version.reason else ""
    return f"{written}, after {version.evaluations} evaluations{failed}"


def _text(path: str) -> str:
    maximum = _BYTES_OF_A_CHARACTER * MAX_INSIGHTS_CHARACTERS
    try:
        if path == STDIN:
            return sys.stdin.read(maximum + 1)
        with Path(path).open(encoding="utf-8") as file:
            return file.read(maximum + 1)
    except FileNotFoundError:
        raise NotFoundError(f"there is no file {path}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as text: {error}") from None
