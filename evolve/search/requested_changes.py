"""Changes that people ask of a run at work, made by its search."""

from collections.abc import Mapping
from dataclasses import replace

from evolve import payloads
from evolve.archives.population import fitness_of
from evolve.change_events import (
    BanLifted,
    CandidateBanned,
    ChangeRefused,
    HintGiven,
    InsightsWritten,
    PriorityGiven,
    PriorityLifted,
    ProgramInserted,
    RequestedChange,
    SettingsChanged,
)
from evolve.configuration import BASELINES
from evolve.errors import ConfigurationError
from evolve.evaluation import Evaluation, Outcome
from evolve.event_types import IndividualsRemoved
from evolve.identity import proposal_id
from evolve.money import FREE
from evolve.program import Program
from evolve.proposal import Candidate, CompletedReply, Individual, Proposal
from evolve.search.candidate_maker import CandidateMaker, admit
from evolve.search.changes import MANUAL
from evolve.search.event_recorder import EventRecorder
from evolve.search.hints import check_hint
from evolve.search.insights import check_insights
from evolve.search.priorities import check_priority
from evolve.search.run_settings import check_settings, check_weights, weights_of
from evolve.search.state import SearchState
from evolve.search.unloaded import UNLOADED


def check_change(change: RequestedChange, state: SearchState, weights: Mapping[str, float]) -> None:
    """Check a change that is to be made.

    Args:
        change: what is asked for.
        state: of the search.
        weights: those of its policies at present, by name.

    Raises:
        ConfigurationError: it cannot be made.
    """
    data = change.data
    if isinstance(data, HintGiven):
        check_hint(data.text, data.proposals, data.island, len(state.islands))
    if isinstance(data, InsightsWritten):
        check_insights(data.text)
    if isinstance(data, ProgramInserted):
        _check_place(data, state)
    if isinstance(data, CandidateBanned):
        _check_ban(data, state)
    if isinstance(data, BanLifted) and data.candidate_id not in state.bans.standing:
        raise ConfigurationError(f"the candidate {data.candidate_id} is not banned")
    if isinstance(data, PriorityGiven):
        _check_priority(data, change.individual, state)
    if isinstance(data, PriorityLifted) and data.candidate_id not in state.changes.priorities.standing:
        raise ConfigurationError(f"the candidate {data.candidate_id} has no priority")
    if isinstance(data, SettingsChanged):
        objectives = [objective.name for objective in state.problem.objectives]
        check_settings(data.settings, state.config, weights, objectives)
        check_weights({**weights, **weights_of(data.settings)}.values())


def refusal(change: RequestedChange, reason: str) -> ChangeRefused:
    """The event of a change that cannot be made."""
    data = change.data
    return ChangeRefused(change_id=data.change_id, by=data.by, requested=str(data.kind), reason=reason)


def make_change(
    change: RequestedChange, maker: CandidateMaker, state: SearchState, events: EventRecorder
) -> tuple[Candidate, ...]:
    """Make a change; the candidates that are to be evaluated for it."""
    data = change.data
    events.add(data, change.individual)
    if isinstance(data, ProgramInserted) and change.program is not None:
        return _insert(data, change.program, maker, state, events)
    if isinstance(data, CandidateBanned):
        _empty(state, events)
    if isinstance(data, BanLifted):
        for individual, island in list(state.bans.returning()):
            events.add(state.offer(individual, island))
    return ()


def _check_place(data: ProgramInserted, state: SearchState) -> None:
    if data.parent not in state.lineage:
        raise ConfigurationError(f"the parent {data.parent} was not evaluated in this run")
    if state.bans.passes_on(data.parent):
        raise ConfigurationError(f"the parent {data.parent} is banned with its descendants: lift its ban first")
    if not 0 <= data.island < len(state.islands):
        raise ConfigurationError(f"the run has no island {data.island}: its islands are 0 to {len(state.islands) - 1}")


def _check_priority(data: PriorityGiven, individual: Individual | None, state: SearchState) -> None:
    if state.config.strategy in BASELINES:
        raise ConfigurationError(f"the strategy {state.config.strategy} chooses no parents: it takes no priority")
    check_priority(data, state.lineage, state.bans)
    try:
        _ = individual or state.find(data.candidate_id)
    except KeyError as error:
        raise ConfigurationError(f"the candidate {data.candidate_id} was not brought with its program") from error


def _check_ban(data: CandidateBanned, state: SearchState) -> None:
    if data.candidate_id not in state.lineage:
        raise ConfigurationError(f"the candidate {data.candidate_id} was not evaluated in this run")
    covered = state.bans.covered(data, state.lineage)
    members = [member for island in state.islands for member in island.archive.members]
    starts = state.seeds if state.config.strategy in BASELINES else [*state.seeds, *members]
    if all(one.candidate_id in covered for one in starts):
        raise ConfigurationError(f"without {data.candidate_id} the run has no candidate to start from: leave it one")


def _empty(state: SearchState, events: EventRecorder) -> None:
    """Have what is banned leave the archives; an island that is empty then begins anew.

    From the best of the other islands, or of the seeds where they are empty too.
    """
    for island in state.islands:
        leaving = tuple(one.candidate_id for one in island.archive.members if one.candidate_id in state.bans)
        if leaving:
            events.add(IndividualsRemoved(island=island.number, candidate_ids=leaving))
    for island in state.islands:
        if not len(island.archive.members):
            others = [other.archive.members.best()[0] for other in state.islands if len(other.archive.members)]
            events.add(state.offer(max(others or state.starts, key=fitness_of), island.number))


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
    made = maker.make(number, 0, data.island, program, payloads.edges(proposal))
    candidate = replace(made, changed=data.changed)
    admitted = admit(state, candidate, events)
    completed = CompletedReply(completions=(), cost=FREE, attempts=0)
    events.add(payloads.describe_completion(number, 1, completed, {}), completed)
    return admitted
