"""The commands that steer runs."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from service.cli import formatting
from service.cli.records import find_candidate, find_run, run_json
from service.cli.terminal import Terminal
from service.errors import UsageError
from service.ports import CANCELLED, ENDED, PAUSED, RUNNING, RunRecord

if TYPE_CHECKING:
    from service.usecases.control_runs import RunController

BUDGET = ("evaluations", "answers", "tokens", "money", "wall_seconds", "target", "patience")
_DONE = {PAUSED: "is paused", CANCELLED: "is cancelled"}
_COMING = {PAUSED: "pauses", CANCELLED: "is being cancelled", RUNNING: "resumes"}


def want(terminal: Terminal, controller: "RunController", run_id: str, desired_state: str) -> None:
    """Want a run running, paused or cancelled, and say how it stands."""
    run = controller.control.want(find_run(controller.site.reader, run_id), desired_state)
    if terminal.as_json:
        terminal.emit(run_json(run))
        return
    terminal.show(standing(run.id, run.state, desired_state))
    say_who_drives(terminal, controller, run)


def standing(id_: str, state: str, desired_state: str) -> str:
    """How something stands of which a state is wanted."""
    done = state == desired_state and desired_state in _DONE
    return f"{id_} {(_DONE if done else _COMING)[desired_state]}"


def extend(terminal: Terminal, controller: "RunController", run_id: str, budget: Mapping[str, Any]) -> None:
    """Give a run another budget; one that has ended goes on with it."""
    given = {key: value for key, value in budget.items() if value is not None}
    if not given:
        raise UsageError("name a limit to change, such as --evaluations 1000")
    before = find_run(controller.site.reader, run_id)
    run = controller.control.extend(before, given)
    if terminal.as_json:
        terminal.emit(run_json(run))
        return
    words = ", ".join(f"{key} {value}" for key, value in given.items())
    if before.state in ENDED:
        terminal.show(f"{run.id} continues with {words}")
        say_who_drives(terminal, controller, run)
        return
    terminal.show(f"{run.id} gets {words}")


def fork(
    terminal: Terminal,
    controller: "RunController",
    name: str,
    settings: Sequence[str],
    flags: Mapping[str, Any],
    labels: Mapping[str, str],
) -> None:
    """Submit a run that begins with a candidate of another."""
    from service.problems.configuration import merge, parse_sets

    candidate = find_candidate(controller.site.reader, name)
    given = {key: value for key, value in flags.items() if value is not None}
    config = merge([parse_sets(settings), ("the flags", given)])
    run = controller.control.fork(controller.site.reader.run(candidate.run_id), candidate.id, config, labels)
    if terminal.as_json:
        terminal.emit(run_json(run))
        return
    terminal.show(run.id)
    terminal.note(
        f"it starts from {formatting.short(candidate.id)} of {formatting.short(candidate.run_id)}", style="dim"
    )
    say_who_drives(terminal, controller, run)


def delete(terminal: Terminal, controller: "RunController", run_id: str) -> None:
    """Remove a run that has ended or is paused; it is named in full, for this is not to be undone."""
    run = find_run(controller.site.reader, run_id)
    if run_id != run.id:
        raise UsageError(f"give the full id to delete the run permanently: {run.id}")
    controller.control.delete(run)
    if terminal.as_json:
        terminal.emit({"run_id": run.id, "deleted": True})
    else:
        terminal.note(f"{run.id} is deleted")


def say_who_drives(terminal: Terminal, controller: "RunController", run: RunRecord) -> None:
    """Say how to watch a run, or how to drive one that nobody drives."""
    if run.state in ENDED or run.state == PAUSED == run.desired_state:
        return
    name = formatting.short(run.id)
    if controller.alone and run.desired_state == RUNNING and run.state in ("queued", PAUSED):
        drive = terminal.command(f"run --resume {name}")
        terminal.note(f"A runner continues it. Without a runner, run: {drive}", style="dim")
        return
    terminal.note(f"next: {terminal.command(f'watch {name}')}", style="dim")
