"""Events that a search writes of its values, and the way back: ids and small numbers only."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evolve.credit.yields import grouped_drops
from evolve.event_types import (
    CandidateCreated,
    CandidateEvaluated,
    CandidateReevaluated,
    CandidateRejected,
    ProposalAnswered,
    ProposalCreated,
    ProposalFailed,
)
from evolve.identity import candidate_id
from evolve.money import Money
from evolve.proposal import Candidate, CompletedReply, Individual, Proposal, Usage

PARENT, CROSSOVER, INSPIRATION = "parent", "crossover", "inspiration"


def edges(proposal: Proposal, shown: Sequence[str] | None = None) -> tuple[tuple[str, str], ...]:
    """(candidate id, role) of those a child of this proposal descends from, the parent first.

    Args:
        shown: the candidates that the policy was shown; None: all of the proposal's.
    """
    others = [(proposal.second_parent, CROSSOVER)] if proposal.second_parent is not None else []
    others += [(inspiration, INSPIRATION) for inspiration in proposal.inspirations]
    seen = [(one.candidate_id, role) for one, role in others if shown is None or one.candidate_id in shown]
    return ((proposal.parent.candidate_id, PARENT), *seen)


class Bill(NamedTuple):
    """A payment for a proposal; `policy` and `purpose` are empty where its own policy was paid."""

    policy: str
    usage: Usage
    cost: Money | None
    purpose: str = ""


def describe_proposal(proposal: Proposal) -> ProposalCreated:
    """The event of a proposal: enough to put the proposal again."""
    return ProposalCreated(
        proposal_number=proposal.number,
        proposal_id=proposal.id,
        island=proposal.island,
        operator=proposal.operator,
        probability=proposal.probability,
        selection=proposal.selection,
        weights=tuple(proposal.weights),
        rationale=dict(proposal.rationale),
        parents=edges(proposal),
        failures=tuple(failure.candidate_id for failure in proposal.failures),
        rejections=tuple(proposal.rejections),
        policy=proposal.policy,
        seed=proposal.seed,
        answers=proposal.answers,
        samples=proposal.samples,
        limit=proposal.limit,
        form=proposal.form,
        hint=proposal.hint_id,
        insights=proposal.insights_id,
        change=proposal.change_id,
        tuning=proposal.tuning.session if proposal.tuning else 0,
        prompt=proposal.prompt.number if proposal.prompt else None,
        writes=bool(proposal.prompt_trials),
        priority=proposal.priority_id,
    )


def rebuild_proposal(created: ProposalCreated, loaded: Mapping[str, Individual]) -> Proposal:
    """The proposal of an event.

    Args:
        loaded: the individuals that the event names, by id.
    """
    parent, *others = ((loaded[candidate], role) for candidate, role in created.parents)
    return Proposal(
        id=created.proposal_id,
        number=created.proposal_number,
        island=created.island,
        operator=created.operator,
        probability=created.probability,
        parent=parent[0],
        second_parent=next((one for one, role in others if role == CROSSOVER), None),
        inspirations=tuple(one for one, role in others if role == INSPIRATION),
        failures=tuple(loaded[candidate] for candidate in created.failures),
        rejections=created.rejections,
        selection=created.selection,
        weights=created.weights,
        rationale=created.rationale,
        policy=created.policy,
        seed=created.seed,
        answers=created.answers,
        samples=created.samples,
        limit=created.limit,
        form=created.form,
        hint_id=created.hint,
        insights_id=created.insights,
        change_id=created.change,
        priority_id=created.priority,
    )


def describe_outcome(individual: Individual) -> CandidateEvaluated:
    """The event of a candidate's evaluation."""
    evaluation = individual.evaluation
    return CandidateEvaluated(
        candidate_id=individual.candidate_id,
        outcome=str(evaluation.outcome),
        fitness=individual.fitness,
        scores=dict(evaluation.scores),
        measures=dict(individual.measures),
        seconds=evaluation.seconds,
        attempt=1,
    )


def describe_reevaluation(individual: Individual, attempt: int) -> CandidateReevaluated:
    """The event of a further evaluation of a candidate."""
    first = describe_outcome(individual)
    return CandidateReevaluated(
        candidate_id=first.candidate_id,
        outcome=first.outcome,
        fitness=first.fitness,
        scores=first.scores,
        measures=first.measures,
        seconds=first.seconds,
        attempt=attempt,
    )


def describe_candidate(candidate: Candidate) -> CandidateCreated:
    """The event of an answer that became a candidate."""
    return CandidateCreated(
        candidate_id=candidate.id,
        proposal_number=candidate.proposal_number,
        position=candidate.position,
        island=candidate.island,
        program_id=candidate.program.id,
        fingerprint=candidate.fingerprint,
        early_stop_threshold=candidate.early_stop_threshold,
        recovered=tuple(candidate.recovered),
        changed=candidate.changed,
        size=candidate.program.size,
    )


def describe_rejection(
    run_id: str, proposal: Proposal, position: int, parents: Sequence[tuple[str, str]], reason: str
) -> CandidateRejected:
    """The event of an answer that was refused."""
    return CandidateRejected(
        candidate_id=candidate_id(run_id, proposal.number, position),
        proposal_number=proposal.number,
        position=position,
        island=proposal.island,
        parents=tuple(parents),
        reason=reason,
    )


def describe_completion(
    number: int, answers: int, completed: CompletedReply, recovered: Mapping[str, int]
) -> ProposalAnswered:
    """The event of a completion.

    Args:
        number: of the proposal.
        answers: how many were taken.
        completed: the last word of its policy.
        recovered: how many of the answers made a program though they were not written as asked, by kind.
    """
    return ProposalAnswered(
        proposal_number=number,
        answers=answers,
        dropped=len(completed.dropped),
        recovered={**completed.recovered, **recovered},
        drops=grouped_drops(completed.dropped),
        tokens=completed.usage,
        cost=completed.cost,
        charges=tuple(completed.charges),
        seconds=completed.seconds,
    )


def describe_failure(
    number: int, reason: str, cut: CompletedReply | None = None, *, away: bool = False
) -> ProposalFailed:
    """The event of a proposal that has no further answer.

    Args:
        number: of the proposal.
        reason: why.
        cut: the completion that was cut off, with what it had taken by then.
        away: the policy could not be asked, and others could.
    """
    if cut is None:
        return ProposalFailed(proposal_number=number, reason=reason, away=away)
    return ProposalFailed(
        proposal_number=number, reason=reason, tokens=cut.usage, cost=cut.cost, charges=tuple(cut.charges), away=away
    )


def bills(ended: ProposalAnswered | ProposalFailed) -> list[Bill]:
    """The payments for a proposal by its last event: its completion, then each charge; none: nothing was written."""
    if ended.tokens is None:
        return []
    return [
        Bill("", ended.tokens, ended.cost),
        *(Bill(one.policy, one.usage, one.cost, one.purpose) for one in ended.charges),
    ]
