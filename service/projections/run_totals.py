"""The running totals of a run and the state that it enters, folded from its events."""

from collections.abc import Mapping
from dataclasses import replace

from evolve.credit.yields import UNSUCCESSFUL
from evolve.evaluation import Outcome
from evolve.events import Event, EventKind
from evolve.payloads import bills
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
    if event.kind is EventKind.RUN_FINISHED:
        return "failed" if event.payload.get("reason") in UNSUCCESSFUL else "succeeded"
    return _ENTERED.get(event.kind)


def count(counters: Counters, event: Event) -> Counters:
    """Fold one event into the running totals of a run. Cancelled evaluations count nowhere, seeds are no answers."""
    kind, payload = event.kind, event.payload
    if kind is EventKind.PROPOSAL_CREATED:
        return replace(counters, proposals=counters.proposals + 1)
    if kind in (EventKind.PROPOSAL_ANSWERED, EventKind.PROPOSAL_FAILED):
        for bill in bills(payload):
            counters = _spent(counters, bill["tokens"], bill.get("cost"))
        return counters
    if kind is EventKind.CANDIDATE_CREATED:
        return replace(counters, answers=counters.answers + (payload["number"] > 0))
    if kind is EventKind.CANDIDATE_REJECTED:
        return replace(counters, answers=counters.answers + 1, rejected=counters.rejected + 1)
    if kind is EventKind.CANDIDATE_DUPLICATE:
        return replace(counters, duplicates=counters.duplicates + 1)
    if kind is EventKind.CANDIDATE_EVALUATED and payload["outcome"] != Outcome.CANCELLED:
        valid = payload["outcome"] == Outcome.OK
        return replace(
            counters,
            evaluations=counters.evaluations + 1,
            valid=counters.valid + valid,
            failed=counters.failed + (not valid),
        )
    return counters


def _spent(counters: Counters, tokens: Mapping[str, int], cost: str | None) -> Counters:
    return replace(
        counters,
        tokens_input=counters.tokens_input + tokens["input"],
        tokens_cached=counters.tokens_cached + tokens["cached"],
        tokens_output=counters.tokens_output + tokens["output"],
        cost=added(counters.cost, cost),
    )
