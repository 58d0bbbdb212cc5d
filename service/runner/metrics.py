"""Metrics: what the runs of this process do, counted for Prometheus; never by run, whose numbers are in its events."""

from collections import Counter as Tally
from collections.abc import Sequence

from prometheus_client import Counter, Gauge

from evolve.event_codec import write_usage
from evolve.event_types import IndividualInserted, ProposalAnswered, ProposalCreated, ProposalFailed
from evolve.events import Event, EventKind
from evolve.payloads import Bill, bills
from service.ports import LoggedEvent
from service.runner.status import RunStatus

RUNS = Gauge("evolve_runs", "Runs that this runner drives, by state", ["state"])
WAITING = Gauge("evolve_runs_waiting", "Runs that this runner drives and that wait for something outside of them")
TAKEOVERS = Counter("evolve_run_takeovers", "Running runs that this runner took up after another process had them")
PROPOSALS = Counter("evolve_proposals", "Proposals that ended, by operator and outcome", ["operator", "outcome"])
TOKENS = Counter("evolve_policy_tokens", "Tokens of policies, by model and direction", ["model", "direction"])
MONEY = Counter("evolve_policy_cost", "Money spent on policies, by model and currency", ["model", "currency"])
INSERTIONS = Counter("evolve_archive_insertions", "Individuals offered to archives, by what became of them", ["status"])

_ENDS = {EventKind.PROPOSAL_ANSWERED: "answered", EventKind.PROPOSAL_FAILED: "failed"}
_UNKNOWN = ("unknown", "unknown")


class RunMetrics:
    """Counts what runs commit."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._waiting: set[str] = set()
        self._asked: dict[str, dict[int, tuple[str, str]]] = {}

    def committed(self, events: Sequence[LoggedEvent], status: RunStatus) -> None:
        """Count what a run made durable."""
        self._states[status.run_id] = status.state
        (self._waiting.add if status.waiting else self._waiting.discard)(status.run_id)
        for logged in events:
            self._count(logged.run_id, logged.event)
        self._show()

    def rests(self, run_id: str) -> None:
        """This process drives the run no longer."""
        self._states.pop(run_id, None)
        self._waiting.discard(run_id)
        self._asked.pop(run_id, None)
        self._show()

    def _show(self) -> None:
        WAITING.set(len(self._waiting))
        RUNS.clear()
        for state, count in Tally(self._states.values()).items():
            RUNS.labels(state).set(count)

    def _count(self, run_id: str, event: Event) -> None:
        match event.data:
            case ProposalCreated() as data:
                self._asked.setdefault(run_id, {})[data.proposal_number] = data.operator, data.policy
            case IndividualInserted(status=status):
                INSERTIONS.labels(status).inc()
            case ProposalAnswered() | ProposalFailed() as data:
                # What an earlier runner asked is known by its number only.
                operator, policy = self._asked.get(run_id, {}).pop(data.proposal_number, _UNKNOWN)
                PROPOSALS.labels(operator, _ENDS[event.kind]).inc()
                for bill in bills(data):
                    _pay(bill.policy or policy, bill)


def _pay(policy: str, bill: Bill) -> None:
    for direction, tokens in write_usage(bill.usage).items():
        TOKENS.labels(policy, direction).inc(tokens)
    if bill.cost is not None and bill.cost.currency:
        MONEY.labels(policy, bill.cost.currency).inc(float(bill.cost.amount))
