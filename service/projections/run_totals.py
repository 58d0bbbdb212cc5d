"""The running totals of a run and the state that it enters, folded from its events."""

from dataclasses import replace

from evolve.credit.yields import UNSUCCESSFUL
from evolve.evaluation import Outcome
from evolve.event_types import (
    CandidateCreated,
    CandidateDuplicate,
    CandidateEvaluated,
    CandidateRejected,
    ProposalAnswered,
    ProposalCreated,
    ProposalFailed,
    RunFinished,
)
from evolve.events import Event, EventKind
from evolve.payloads import Bill, bills
from service.ports import Counters
from service.projections.money import added

_ENTERED = {
    EventKind.RUN_STARTED: "running",
    EventKind.RUN_RESUMED: "running",
    EventKind.RUN_CONTINUED: "queued",
    EventKind.RUN_PAUSING: "pausing",
    EventKind.RUN_PAUSED: "paused",
    EventKind.RUN_CANCELLED: "cancelled",
}


def entered(event: Event) -> str | None:
    """The state that a run enters with an event; None: it stays where it is."""
    if isinstance(event.data, RunFinished):
        return "failed" if event.data.reason in UNSUCCESSFUL else "succeeded"
    return _ENTERED.get(event.kind)


def count(counters: Counters, event: Event) -> Counters:
    """Fold one event into the running totals of a run. Cancelled evaluations count nowhere, seeds are no answers."""
    match event.data:
        case ProposalCreated():
            return replace(counters, proposals=counters.proposals + 1)
        case ProposalAnswered() | ProposalFailed() as ended:
            for bill in bills(ended):
                counters = _spent(counters, bill)
        case CandidateCreated(proposal_number=number):
            return replace(counters, answers=counters.answers + (number > 0))
        case CandidateRejected():
            return replace(counters, answers=counters.answers + 1, rejected=counters.rejected + 1)
        case CandidateDuplicate():
            return replace(counters, duplicates=counters.duplicates + 1)
        case CandidateEvaluated(outcome=outcome) if outcome != Outcome.CANCELLED:
            valid = outcome == Outcome.OK
            return replace(
                counters,
                evaluations=counters.evaluations + 1,
                valid=counters.valid + valid,
                failed=counters.failed + (not valid),
            )
    return counters


def _spent(counters: Counters, bill: Bill) -> Counters:
    return replace(
        counters,
        tokens_input=counters.tokens_input + bill.usage.input,
        tokens_cached=counters.tokens_cached + bill.usage.cached,
        tokens_output=counters.tokens_output + bill.usage.output,
        cost=added(counters.cost, bill.cost),
    )
