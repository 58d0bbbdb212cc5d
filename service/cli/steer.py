"""The commands that change an active run, and wait until its search has decided."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.cli import formatting
from service.cli.control import extend
from service.cli.decisions import show_decision
from service.cli.records import find_candidate, find_run
from service.cli.terminal import Terminal
from service.errors import UsageError
from service.ports import CandidateRecord, RunRecord
from service.projections.change_decisions import ChangeRequest

if TYPE_CHECKING:
    from service.usecases.control_runs import RunController


@dataclass(frozen=True, slots=True, kw_only=True)
class SteeringCommand:
    """The run that a command is about, and where the command speaks.

    Attributes:
        terminal: where the decision is said.
        controller: of the place of the run.
        run: that is to change.
        wait_seconds: how long the command waits for the decision.
    """

    terminal: Terminal
    controller: "RunController"
    run: RunRecord
    wait_seconds: float

    def candidate(self, named: str) -> CandidateRecord:
        """A candidate of the run."""
        return find_candidate(self.controller.site.reader, named, self.run.id)

    def show(self, request: ChangeRequest, words: str) -> None:
        """Wait for the decision, and say it: the words follow the run's id."""
        show_decision(self.terminal, self.controller, request, f"{self.run.id} {words}", self.wait_seconds)


def steering_command(
    terminal: Terminal, controller: "RunController", run_id: str, wait_seconds: float
) -> SteeringCommand:
    """The run of a command by its id, a prefix of it, or `last`."""
    run = find_run(controller.site.reader, run_id)
    return SteeringCommand(terminal=terminal, controller=controller, run=run, wait_seconds=wait_seconds)


def hint(steered: SteeringCommand, text: str, proposals: int, island: int | None = None) -> None:
    """Give a run, or one of its islands, a hint, or end the one that stands."""
    request = steered.controller.control.hint(steered.run, text.strip(), proposals, island)
    count = "the next proposal" if proposals == 1 else f"the next {proposals} proposals"
    if island is not None:
        count = f"{count} of island {island}"
    ended = "any more" if island is None else f"for island {island} any more"
    steered.show(request, f"gets the hint in {count}" if text.strip() else f"gets no hint {ended}")


def ban(steered: SteeringCommand, named: str, *, descendants: bool) -> None:
    """Ban a candidate of an active run."""
    candidate = steered.candidate(named)
    request = steered.controller.control.ban(steered.run, candidate.id, descendants=descendants)
    kin = " and its descendants" if descendants else ""
    steered.show(request, f"does not use {formatting.short(candidate.id)}{kin} any more")


def lift_ban(steered: SteeringCommand, named: str) -> None:
    """Lift the ban of a candidate of an active run."""
    candidate = steered.candidate(named)
    request = steered.controller.control.lift_ban(steered.run, candidate.id)
    steered.show(request, f"may use {formatting.short(candidate.id)} again")


def prioritize(steered: SteeringCommand, named: str, proposals: int) -> None:
    """Give a candidate of an active run priority."""
    candidate = steered.candidate(named)
    request = steered.controller.control.prioritize(steered.run, candidate.id, proposals)
    count = "its next proposal" if proposals == 1 else f"its next {proposals} proposals"
    steered.show(request, f"starts {count} from {formatting.short(candidate.id)}")


def lift_priority(steered: SteeringCommand, named: str) -> None:
    """Lift the priority of a candidate of an active run."""
    candidate = steered.candidate(named)
    request = steered.controller.control.lift_priority(steered.run, candidate.id)
    steered.show(request, f"gives {formatting.short(candidate.id)} no priority any more")


def change(steered: SteeringCommand, words: Sequence[str]) -> None:
    """Give settings of an active run other values; limits of the budget go the way of `extend`."""
    from service.problems.configuration import parse_sets
    from service.projections.run_settings import split_budget

    _, given = parse_sets(words)
    budget, settings = split_budget(given)
    if budget and settings:
        raise UsageError("change the budget and other settings with a command each")
    if budget:
        extend(steered.terminal, steered.controller, steered.run.id, budget)
        return
    request = steered.controller.control.change_settings(steered.run, settings)
    steered.show(request, f"gets {', '.join(words)}")
