"""Changes that people ask of a run at work, made by its search."""

from evolve import payloads
from evolve.change_events import HintGiven, InsightsWritten, ProgramInserted, RequestedChange
from evolve.errors import ConfigurationError
from evolve.evaluation import Evaluation, Outcome
from evolve.identity import proposal_id
from evolve.money import FREE
from evolve.program import Program
from evolve.proposal import Candidate, CompletedReply, Individual, Proposal
from evolve.search.candidate_maker import CandidateMaker, admit
from evolve.search.changes import MANUAL
from evolve.search.event_recorder import EventRecorder
from evolve.search.hints import check_hint
from evolve.search.insights import check_insights
from evolve.search.state import SearchState
from evolve.search.unloaded import UNLOADED


def check_change(change: RequestedChange, state: SearchState) -> None:
    """Check a change that is to be made.

    Raises:
        ConfigurationError: it cannot be made.
    """
    data = change.data
    if isinstance(data, HintGiven):
        check_hint(data.text, data.proposals)
    if isinstance(data, InsightsWritten):
        check_insights(data.text)
    if isinstance(data, ProgramInserted):
        _check_place(data, state)


def make_change(
    change: RequestedChange, maker: CandidateMaker, state: SearchState, events: EventRecorder
) -> tuple[Candidate, ...]:
    """Make a change; the candidates that are to be evaluated for it."""
    data = change.data
    events.add(data)
    if isinstance(data, ProgramInserted) and change.program is not None:
        return _insert(data, change.program, maker, state, events)
    return ()


def _check_place(data: ProgramInserted, state: SearchState) -> None:
    if data.parent not in state.lineage:
        raise ConfigurationError(f"the parent {data.parent} was not evaluated in this run")
    if not 0 <= data.island < len(state.islands):
        raise ConfigurationError(f"the run has no island {data.island}: its islands are 0 to {len(state.islands) - 1}")


def _insert(
    data: ProgramInserted, program: Program, maker: CandidateMaker, state: SearchState, events: EventRecorder
) -> tuple[Candidate, ...]:
    """Take a person's program as the only answer to a proposal of its own."""
    number = state.asked + 1
    parent = Individual(
        candidate_id=data.parent, program=UNLOADED, evaluation=Evaluation(outcome=Outcome.OK), measures={}
    )
    proposal = Proposal(
        id=proposal_id(maker.run_id, number),
        number=number,
        island=data.island,
        operator=MANUAL,
        parent=parent,
        change_id=data.change_id,
    )
    events.add(payloads.describe_proposal(proposal), proposal)
    candidate = maker.make(number, 0, data.island, program, payloads.edges(proposal))
    admitted = admit(state, candidate, events)
    completed = CompletedReply(completions=(), cost=FREE, attempts=0)
    events.add(payloads.describe_completion(number, 1, completed, {}), completed)
    return admitted
