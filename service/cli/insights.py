"""The command `evolve insights`: facts of a run, printed or given to the run as a hint."""

from service.cli.control import hint
from service.cli.records import find_run
from service.cli.terminal import Terminal, plain
from service.projections.insights import facts_of
from service.projections.run_site import RunSite
from service.usecases.control_runs import RunController


def show_insights(terminal: Terminal, site: RunSite, run_id: str) -> None:
    """Print the facts of a run."""
    run = find_run(site.reader, run_id)
    text = facts_of(site.reader, run, site.failures(run), site.statistics(run))
    if terminal.as_json:
        terminal.emit({"run_id": run.id, "text": text})
    else:
        terminal.show(plain(text))


def hint_insights(terminal: Terminal, controller: RunController, run_id: str, proposals: int) -> None:
    """Give an active run its own facts as a hint."""
    site = controller.site
    run = find_run(site.reader, run_id)
    text = facts_of(site.reader, run, site.failures(run), site.statistics(run))
    hint(terminal, controller, run.id, text, proposals)
