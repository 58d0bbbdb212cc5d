"""What stands for programs that a replay has not loaded: most candidates of a run are never looked at again."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial

from evolve.evaluation import Evaluation, Outcome, reward_vector, signed_scores
from evolve.event_types import CandidateCreated, CandidateEvaluated
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Candidate, Individual, Proposal

_KEPT_SIZES = 65_536
_NOTHING: Mapping[str, float] = {}  # one for all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class UnloadedProgram(Program):
    """A program that is not in memory.

    Attributes:
        characters: its size; None: not known.
    """

    characters: int | None = None

    @property
    def size(self) -> int:
        """Characters over all files; 0 where that is not known."""
        return self.characters or 0


@lru_cache(maxsize=_KEPT_SIZES)
def unloaded_program(size: int | None = None) -> UnloadedProgram:
    """A program that is not in memory, of a size; one object for all of that size."""
    return UnloadedProgram(files=(("unloaded", ""),), characters=size)


UNLOADED = unloaded_program()


def known_size(program: Program) -> int | None:
    """Characters of a program; None: it is not in memory, and its size is not known."""
    return program.characters if isinstance(program, UnloadedProgram) else program.size


def is_unloaded(individual: Individual) -> bool:
    """Whether the program and the texts of an individual are not in memory."""
    return isinstance(individual.program, UnloadedProgram)


def unloaded_candidate(data: CandidateCreated) -> Candidate:
    """The candidate of an event, without its program and parents."""
    return Candidate(
        id=data.candidate_id,
        proposal_number=data.proposal_number,
        position=data.position,
        island=data.island,
        program=unloaded_program(data.size),
        fingerprint=data.fingerprint,
        early_stop_threshold=data.early_stop_threshold,
        changed=data.changed,
    )


def unloaded_individual(problem: Problem, candidate: Candidate, data: CandidateEvaluated) -> Individual:
    """The individual of an event, without its program and texts."""
    evaluation = evaluation_without_texts(Outcome(data.outcome), data.scores)
    return individual_without_texts(problem, candidate.id, candidate.program, evaluation, data.fitness, data.measures)


def individual_without_texts(
    problem: Problem,
    name: str,
    program: Program,
    evaluation: Evaluation,
    fitness: float | None,
    measures: Mapping[str, float],
) -> Individual:
    """An individual of what events tell, whose id is `name`; a million of them share what is equal."""
    rewards = () if fitness is None else reward_vector(problem, evaluation)
    signed = () if fitness is None else signed_scores(problem.objectives, evaluation.scores, fitness)
    return Individual(
        candidate_id=name,
        program=program,
        evaluation=evaluation,
        fitness=fitness,
        rewards=rewards,
        signed_scores=rewards if rewards == signed else signed,
        measures=measures or _NOTHING,
    )


def released(individual: Individual) -> Individual:
    """An individual without its program and texts, as its events tell of it."""
    rewards = individual.rewards
    return replace(
        individual,
        program=unloaded_program(individual.program.size),
        evaluation=evaluation_without_texts(individual.evaluation.outcome, individual.evaluation.scores),
        signed_scores=rewards if rewards == individual.signed_scores else individual.signed_scores,
        measures=individual.measures or _NOTHING,
    )


def evaluation_without_texts(outcome: Outcome, scores: Mapping[str, float]) -> Evaluation:
    """An evaluation of what events tell of it."""
    return Evaluation(outcome=outcome, scores=scores, measures=_NOTHING, cases=_NOTHING, spread=_NOTHING)


def loaded_twin(known: Mapping[str, Individual], stub: Individual) -> Individual:
    """The loaded twin of a replayed individual; its measures and fitness stay those of the event."""
    loaded = known.get(stub.candidate_id)
    return replace(stub, program=loaded.program, evaluation=loaded.evaluation) if loaded else stub


def unloaded_in(proposal: Proposal) -> list[str]:
    """Ids of the individuals of a proposal whose programs and texts are not in memory."""
    return list(dict.fromkeys(one.candidate_id for one in _individuals(proposal) if is_unloaded(one)))


def loaded_proposal(proposal: Proposal, known: Mapping[str, Individual]) -> Proposal:
    """A proposal with loaded individuals in the place of those that were not in memory."""
    twin = partial(loaded_twin, known)
    return replace(
        proposal,
        parent=twin(proposal.parent),
        second_parent=proposal.second_parent and twin(proposal.second_parent),
        inspirations=tuple(map(twin, proposal.inspirations)),
        failures=tuple(map(twin, proposal.failures)),
        tuning=proposal.tuning and replace(proposal.tuning, base=twin(proposal.tuning.base)),
    )


def _individuals(proposal: Proposal) -> Iterator[Individual]:
    yield proposal.parent
    yield from filter(None, [proposal.second_parent])
    yield from proposal.inspirations
    yield from proposal.failures
    if proposal.tuning:
        yield proposal.tuning.base
