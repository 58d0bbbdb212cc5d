"""Candidates of a search: made of programs, and admitted where they are new."""

from evolve import payloads
from evolve.event_types import CandidateDuplicate
from evolve.identity import candidate_id
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Candidate
from evolve.search.event_recorder import EventRecorder
from evolve.search.scoring import CandidateScorer
from evolve.search.state import SearchState
from evolve.similarity.fingerprint import fingerprint


class CandidateMaker:
    """Makes candidates of one run; it changes nothing.

    Args:
        run_id: the ids of candidates derive from it.
        problem: what is searched for.
        state: of the search.
        scorer: says what they are measured by while their evaluation is repeated.
    """

    def __init__(self, run_id: str, problem: Problem, state: SearchState, scorer: CandidateScorer) -> None:
        self.run_id = run_id
        self._problem, self._state, self._scorer = problem, state, scorer

    def make(
        self, number: int, position: int, island: int, program: Program, parents: tuple[tuple[str, str], ...]
    ) -> Candidate:
        """The candidate of a program, by its proposal and its place there."""
        members = self._state.islands[island].archive.members
        return Candidate(
            id=candidate_id(self.run_id, number, position),
            proposal_number=number,
            position=position,
            island=island,
            program=program,
            fingerprint=fingerprint(program, self._problem.language),
            parents=parents,
            early_stop_threshold=self._scorer.early_stop_threshold(members),
        )


def admit(state: SearchState, candidate: Candidate, events: EventRecorder) -> tuple[Candidate, ...]:
    """Take a candidate in; it is to be evaluated where no other has its program."""
    first = state.seen.get(candidate.fingerprint)
    events.add(payloads.describe_candidate(candidate), candidate)
    if first is None:
        return (candidate,)
    events.add(CandidateDuplicate(candidate_id=candidate.id, of=first))
    return ()
