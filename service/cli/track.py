"""The command `evolve track`: sends a run to trackers, one after the other, and follows it until it ends."""

from collections.abc import Sequence
from threading import Event

from evolve.extensions import Extensions
from evolve.trackers import open_tracker
from service.cli.exit_codes import INTERRUPTED, OK
from service.cli.formatting import plural
from service.cli.records import find_run
from service.cli.terminal import Terminal
from service.projections.run_site import RunSite
from service.usecases.track_run import read_choices, send_run


def track_run(terminal: Terminal, site: RunSite, run_id: str, trackers: Sequence[str]) -> int:
    """Send a run to each of the trackers, and return the exit code.

    Raises:
        NotFoundError: there is no such run.
        ConfigurationError: a word names no tracker, or what it needs is not installed.
        ExtensionError: a tracker failed.
    """
    extensions = Extensions()
    choices, run = read_choices(trackers, extensions), find_run(site.reader, run_id)
    for choice in choices:
        try:
            with terminal.doing(f"sending {run.id} to {choice}"):
                sent = send_run(site, run.id, open_tracker(choice, extensions), Event())
        except KeyboardInterrupt:
            terminal.note(f"Stopped. {choice} has what is there of run {run.id} so far. The run continues.")
            return INTERRUPTED
        if terminal.as_json:
            terminal.emit({"run_id": run.id, "tracker": str(choice), "points": sent.points, "reached": sent.reached})
        else:
            terminal.note(f"sent {plural(sent.points, 'point')} of {run.id} to {choice}")
    return OK
