"""What stands for programs that a replay has not loaded: most candidates of a run are never looked at again."""

from collections.abc import Mapping
from dataclasses import replace

from evolve.evaluation import Evaluation, Outcome, reward_vector, signed_scores
from evolve.event_types import CandidateCreated, CandidateEvaluated
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Candidate, Individual

UNLOADED = Program.of({"unloaded": ""})


def unloaded_candidate(data: CandidateCreated) -> Candidate:
    """The candidate of an event, without its program and parents."""
    return Candidate(
        id=data.candidate_id,
        proposal_number=data.proposal_number,
        position=data.position,
        island=data.island,
        program=UNLOADED,
        fingerprint=data.fingerprint,
        early_stop_threshold=data.early_stop_threshold,
        changed=data.changed,
    )


def unloaded_individual(problem: Problem, candidate: Candidate, data: CandidateEvaluated) -> Individual:
    """The individual of an event, without its program and texts."""
    evaluation, worth = Evaluation(outcome=Outcome(data.outcome), scores=data.scores), data.fitness
    return Individual(
        candidate_id=candidate.id,
        program=candidate.program,
        evaluation=evaluation,
        fitness=worth,
        rewards=() if worth is None else reward_vector(problem, evaluation),
        signed_scores=() if worth is None else signed_scores(problem.objectives, evaluation.scores, worth),
        measures=data.measures,
    )


def loaded_twin(known: Mapping[str, Individual], stub: Individual) -> Individual:
    """The loaded twin of a replayed individual; its measures and fitness stay those of the event."""
    loaded = known.get(stub.candidate_id)
    return replace(stub, program=loaded.program, evaluation=loaded.evaluation) if loaded else stub
