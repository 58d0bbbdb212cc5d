"""Decisions on changes of active runs: how commands wait for them and say them."""

from typing import TYPE_CHECKING, Any

from service.cli import formatting
from service.cli.control import say_who_drives
from service.cli.records import run_json
from service.cli.terminal import Terminal, plain
from service.errors import ConflictError, UnreachableError
from service.ports import ENDED, PAUSED, RUNNING, RunRecord
from service.projections.change_decisions import ACCEPTED, PENDING, REFUSED, ChangeRequest, SearchDecision

if TYPE_CHECKING:
    from service.usecases.control_runs import RunController


def show_decision(
    terminal: Terminal, controller: "RunController", request: ChangeRequest, words: str, wait_seconds: float
) -> None:
    """Wait for the decision on a change, and say it.

    A run that is not active decides when it continues, so nobody waits for it.

    Args:
        terminal: where it is said.
        controller: of the place of the run.
        request: the change.
        words: the change in a sentence that begins with the run.
        wait_seconds: 0: the change is only asked for.

    Raises:
        ConflictError: the search refused the change.
        UnreachableError: the search of an active run did not decide in time.
    """
    run = request.run
    waits = wait_seconds > 0 and _active(run, alone=controller.alone)
    decision = controller.control.decision(request, wait_seconds if waits else 0.0)
    if decision.state == REFUSED:
        raise ConflictError(f"{run.id} refused the change: {plain(decision.reason)}")
    if waits and decision.state == PENDING:
        raise UnreachableError(_unanswered(controller.site.reader.run(run.id), wait_seconds))
    if terminal.as_json:
        terminal.emit({**run_json(run), "change": _decision_json(decision)})
        return
    if decision.state == ACCEPTED:
        terminal.show(f"{words}: accepted")
        terminal.note(f"next: {terminal.command(f'changes {formatting.short(run.id)}')}", style="dim")
        return
    terminal.show(f"{words}: {_waiting(run, waited=wait_seconds > 0)}")
    say_who_drives(terminal, controller, run)


def _active(run: RunRecord, *, alone: bool) -> bool:
    """Whether a search drives the run, or will within moments."""
    return run.state == RUNNING or (not alone and run.state not in ENDED and run.desired_state == RUNNING)


def _waiting(run: RunRecord, *, waited: bool) -> str:
    if not waited:
        return "asked for"
    return f"waits, because the run is {'paused' if PAUSED in (run.state, run.desired_state) else run.state}"


def _unanswered(run: RunRecord, wait_seconds: float) -> str:
    if run.state in ENDED:
        return f"{run.id} ended before its search decided on the change, it is {run.state}"
    if run.state != RUNNING:
        return f"{run.id} is {run.state}, so its search has not decided on the change: it waits until the run continues"
    seconds = f"{wait_seconds:g} s"
    return (
        f"the search of {run.id} has not decided on the change within {seconds}: the change waits for it, and"
        f" evolve changes {run.id} shows the decision"
    )


def _decision_json(decision: SearchDecision) -> dict[str, Any]:
    return {"id": decision.change_id, "kind": decision.kind, "state": decision.state, "reason": decision.reason}
