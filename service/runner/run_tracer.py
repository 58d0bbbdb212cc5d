"""Tracer of a run: a trace for each proposal, which the evaluations of its answers join."""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evolve.evaluation import Evaluation
from evolve.ports import NO_TRACER, SearchTracer
from evolve.proposal import Candidate, Proposal
from service import tracing

# Of the newest proposals. An evaluation that waited for longer gets a trace of its own.
MAX_PROPOSALS = 10_000


class RunTracer:
    """The port SearchTracer with OpenTelemetry.

    Args:
        run_id: the run.
    """

    def __init__(self, run_id: str) -> None:
        self._run_id = run_id
        self._traceparents: OrderedDict[int, str] = OrderedDict()

    @contextmanager
    def proposal(self, proposal: Proposal) -> Iterator[None]:
        """Start the trace of a proposal."""
        attributes: dict[str, tracing.Attribute] = {
            "evolve.run.id": self._run_id,
            "evolve.proposal.number": proposal.number,
            "evolve.island": proposal.island,
            "evolve.operator": proposal.operator,
            "evolve.policy": proposal.policy,
            "evolve.parent.id": proposal.parent.candidate_id,
        }
        with tracing.span("propose", attributes=attributes, parent=tracing.ROOT) as opened:
            self._traceparents[proposal.number] = opened.traceparent
            if len(self._traceparents) > MAX_PROPOSALS:
                self._traceparents.popitem(last=False)
            yield

    @contextmanager
    def evaluation(self, candidate: Candidate) -> Iterator[Callable[[Evaluation], None]]:
        """Continue the trace of the candidate's proposal. Seeds have traces of their own."""
        attributes: dict[str, tracing.Attribute] = {
            "evolve.run.id": self._run_id,
            "evolve.candidate.id": candidate.id,
            "evolve.proposal.number": candidate.proposal_number,
        }
        parent = self._traceparents.get(candidate.proposal_number, tracing.ROOT)
        with tracing.span("evaluate candidate", attributes=attributes, parent=parent) as opened:
            yield lambda evaluation: opened.note(tracing.evaluation_attributes(evaluation))


def open_tracer(run_id: str) -> SearchTracer:
    """The tracer of a run in this process: one that records nothing, unless traces are sent."""
    return RunTracer(run_id) if tracing.enabled() else NO_TRACER
