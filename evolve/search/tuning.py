"""Tuning of numbers: what the proposals of tuners found out, and which program is tuned next; a fold of a run's events.

A tuner's proposals stand in sessions. A session tunes the numbers of one program, its base, by one optimizer. The fold
holds the fitness of everything that the optimizer tried, so that its state follows from the events of the run.
"""

from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field, replace

from evolve.archives.population import Population
from evolve.credit.operators import TUNE
from evolve.event_types import (
    CandidateCreated,
    CandidateDuplicate,
    CandidateEvaluated,
    EventData,
    ProposalAnswered,
    ProposalCreated,
    ProposalFailed,
)
from evolve.proposal import Individual, TuningRecord
from evolve.search.strategies import ProposalPlan

# Members of an archive that are good enough to be tuned.
MAX_RANK = 16
# Generations of a session without a better best, after which others are tuned.
PATIENCE = 10
# Share of the best by which another has to be better to count as a gain: else the last digits are tuned for ever.
_SMALL = 1e-6

Find = Callable[[str], Individual]


@dataclass(slots=True, kw_only=True)
class Generation:
    """The answers of one proposal while they come in; `scores` by position, None where there is none."""

    proposal_number: int
    scores: list[float | None]
    awaited: int = 0
    closed: bool = False


@dataclass(slots=True, kw_only=True)
class TuningSession:
    """One program whose numbers are tuned.

    Attributes:
        number: of the proposal that began it.
        seed: of its optimizer.
        base: the program as it was.
        best: the best so far, the base among it.
        generations: fitness by position of each proposal that is over.
        current: the proposal that is not; None: the session can be gone on with.
        since_best: generations since `best` was found.
    """

    number: int
    seed: int
    base: Individual
    best: Individual
    generations: list[tuple[float | None, ...]] = field(default_factory=list)
    current: Generation | None = None
    since_best: int = 0

    @property
    def over(self) -> bool:
        """Whether nothing more is expected of it."""
        return self.since_best >= PATIENCE

    @property
    def record(self) -> TuningRecord:
        """What its optimizer needs to go on."""
        return TuningRecord(session=self.number, seed=self.seed, base=self.base, generations=tuple(self.generations))


class TuningSessions:
    """The sessions of a run."""

    def __init__(self) -> None:
        self.by_number: dict[int, TuningSession] = {}
        self._of_candidate: dict[str, int] = {}
        self._open: dict[int, TuningSession] = {}
        self._awaited: dict[str, tuple[int, int]] = {}

    def fold(self, data: EventData, find: Find) -> None:
        """Fold one event.

        Args:
            data: of the event.
            find: brings an individual that the search holds.
        """
        match data:
            case ProposalCreated() if data.tuning:
                self._begin(data, find)
            case CandidateCreated() if data.proposal_number in self._open:
                session = self._open[data.proposal_number]
                assert session.current is not None
                session.current.awaited += 1
                self._of_candidate[data.candidate_id] = session.number
                self._awaited[data.candidate_id] = data.proposal_number, data.position
            case CandidateDuplicate() if data.candidate_id in self._awaited:
                self._settle(data.candidate_id, None, find)
            case CandidateEvaluated() if data.candidate_id in self._awaited:
                self._settle(data.candidate_id, data.fitness, find)
            case ProposalAnswered() | ProposalFailed() if data.proposal_number in self._open:
                self._close(data)

    def plan(
        self, plan: ProposalPlan, members: Population, number: int, banned: Container[str] = frozenset()
    ) -> tuple[ProposalPlan, int]:
        """A plan for a tuner in the place of that for another policy, and the number of its session.

        The best members of the archive come first. One that belongs to no session begins one. Where none of them is
        left, the parent of the plan is tuned, and by another optimizer if it was tuned before.

        Args:
            plan: of the strategy.
            members: of the archive of its island.
            number: of the proposal.
            banned: candidates that are not tuned any more.
        """
        for member in members.best(MAX_RANK):
            session = self._session(member)
            if session is None:
                return _planned(plan, member, member), number
            banned_too = session.best.candidate_id in banned or session.base.candidate_id in banned
            if session.current is None and not session.over and not banned_too:
                return _planned(plan, session.best, session.base), session.number
        return _planned(plan, plan.parent, plan.parent), number

    def record(self, number: int, seed: int, parent: Individual) -> TuningRecord:
        """What the optimizer of a session needs; a session that a proposal begins has no generation.

        Args:
            number: of the session.
            seed, parent: of the proposal, where it begins the session.
        """
        session = self.by_number.get(number)
        return session.record if session else TuningRecord(session=number, seed=seed, base=parent)

    def individuals(self) -> Iterable[Individual]:
        """The programs that a replay must bring: those of sessions that may go on."""
        for session in self.by_number.values():
            if session.current is not None or not session.over:
                yield session.base
                yield session.best

    def reopen(self) -> None:
        """Find the sessions with a proposal that is not over, after those of a snapshot were put in."""
        current = [(one.current.proposal_number, one) for one in self.by_number.values() if one.current is not None]
        self._open = dict(sorted(current, key=lambda entry: entry[0]))

    def fill(self, loaded: Callable[[Individual], Individual]) -> None:
        """Put loaded individuals in the place of those that a replay left without their texts."""
        for session in self.by_number.values():
            session.base, session.best = loaded(session.base), loaded(session.best)

    def _session(self, member: Individual) -> TuningSession | None:
        return self.by_number.get(self._of_candidate.get(member.candidate_id, 0))

    def _begin(self, data: ProposalCreated, find: Find) -> None:
        session = self.by_number.get(data.tuning)
        if session is None:
            parent = data.parents[0][0]
            base = find(parent)
            session = TuningSession(number=data.tuning, seed=data.seed, base=base, best=base)
            self.by_number[data.tuning] = session
            self._of_candidate[parent] = data.tuning
        session.current = Generation(proposal_number=data.proposal_number, scores=[None] * data.limit)
        self._open[data.proposal_number] = session

    def _settle(self, candidate_id: str, fitness: float | None, find: Find) -> None:
        number, position = self._awaited.pop(candidate_id)
        session = self._open[number]
        assert session.current is not None
        session.current.awaited -= 1
        if position < len(session.current.scores):
            session.current.scores[position] = fitness
        best = session.best.fitness
        if fitness is not None and (best is None or fitness > best):
            if best is None or fitness - best > _SMALL * abs(best):
                session.since_best = -1  # of this generation, which is counted when it is over
            session.best = find(candidate_id)
        self._finish(session)

    def _close(self, data: ProposalAnswered | ProposalFailed) -> None:
        session = self._open[data.proposal_number]
        assert session.current is not None
        session.current.closed = True
        if isinstance(data, ProposalFailed):
            if data.away and not session.current.awaited:
                session.current = None
                del self._open[data.proposal_number]
                return
            session.since_best = PATIENCE  # its optimizer finds nothing new
        self._finish(session)

    def _finish(self, session: TuningSession) -> None:
        current = session.current
        if current is None or not current.closed or current.awaited:
            return
        session.generations.append(tuple(current.scores))
        session.since_best += 1
        session.current = None
        del self._open[current.proposal_number]


def _planned(plan: ProposalPlan, parent: Individual, base: Individual) -> ProposalPlan:
    return replace(
        plan,
        operator=TUNE,
        probability=1.0,
        parent=parent,
        second_parent=None,
        inspirations=(base,) if base.candidate_id != parent.candidate_id else (),
        failures=(),
        selection="",
        weights=(),
        rationale={},
    )
