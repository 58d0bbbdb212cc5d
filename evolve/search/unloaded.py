"""What stands for programs that a replay has not loaded: most candidates of a run are never looked at again."""

from collections.abc import Mapping
from dataclasses import replace

from evolve.event_types import CandidateCreated
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
    )


def loaded_twin(known: Mapping[str, Individual], stub: Individual) -> Individual:
    """The loaded twin of a replayed individual; its measures and fitness stay those of the event."""
    loaded = known.get(stub.candidate_id)
    return replace(stub, program=loaded.program, evaluation=loaded.evaluation) if loaded else stub
