"""Status: where a run stands, as far as it is committed."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Protocol, Self

from evolve.event_types import (
    BestImproved,
    CandidateCreated,
    CandidateDuplicate,
    CandidateEvaluated,
    RunFinished,
    RunResumed,
    RunUnblocked,
    RunWaiting,
)
from evolve.events import Event
from evolve.policy_events import PolicyBecameUnavailable, PolicyRecovered
from service.ports import Counters, LoggedEvent
from service.projections import count, entered


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """Where a run stands.

    Attributes:
        waiting: why the run cannot go on at present; empty: it can.
        away: policies that cannot be asked at present, while others can.
        seed_fitness: the best fitness among the seeds.
        evaluating, proposing: candidates and proposals in flight.
        elapsed_seconds: time at work, earlier sittings included.
    """

    run_id: str
    state: str = "queued"
    reason: str = ""
    waiting: str = ""
    away: tuple[str, ...] = ()
    counters: Counters = field(default_factory=Counters)
    seed_fitness: float | None = None
    best_candidate_id: str | None = None
    best_program_id: str | None = None
    best_fitness: float | None = None
    best_scores: Mapping[str, float] = field(default_factory=dict)
    evaluating: int = 0
    proposing: int = 0
    elapsed_seconds: float = 0.0


class RunObserver(Protocol):
    """Somebody who watches a run."""

    def committed(self, events: Sequence[LoggedEvent], status: RunStatus) -> None:
        """Called after each commit with what it made durable."""


def away_after(away: tuple[str, ...], event: Event) -> tuple[str, ...]:
    """The policies that cannot be asked, after an event; who takes a run up finds that out anew."""
    match event.data:
        case PolicyBecameUnavailable(policy=policy):
            return (*away, policy)
        case PolicyRecovered(policy=policy):
            return tuple(name for name in away if name != policy)
        case RunResumed():
            return ()
    return away


class StatusFold:
    """Folds events into a status."""

    def __init__(self, run_id: str) -> None:
        # Most events change the totals alone: these are kept apart, since copying a whole status costs as much again.
        self._status, self._counters = RunStatus(run_id=run_id), Counters()
        self._pending: dict[str, tuple[int, str]] = {}
        self._evaluated: tuple[str, str, Mapping[str, float]] = ("", "", {})

    @classmethod
    def restored(cls, run_id: str, saved: Mapping[str, Any]) -> Self:
        """The fold that `saved` gave.

        Raises:
            KeyError, TypeError: it did not.
        """
        fold, status = cls(run_id), dict(saved["status"])
        fold._counters = Counters(**status.pop("counters"))
        fold._status = RunStatus(**status | {"away": tuple(status["away"]), "run_id": run_id})
        fold._pending = {name: (number, program) for name, (number, program) in saved["pending"].items()}
        candidate, program, scores = saved["evaluated"]
        fold._evaluated = candidate, program, scores
        return fold

    def saved(self) -> dict[str, Any]:
        """All that it holds, as JSON."""
        candidate, program, scores = self._evaluated
        evaluated = [candidate, program, dict(scores)]
        return {"status": asdict(self.status), "pending": dict(self._pending), "evaluated": evaluated}

    @property
    def status(self) -> RunStatus:
        """Where the run stands after all events folded until now."""
        return replace(self._status, counters=self._counters)

    def apply(self, event: Event) -> None:
        """Fold one event."""
        self._counters = count(self._counters, event)
        status, data = self._status, event.data
        away = away_after(status.away, event)
        if away is not status.away:
            status = replace(status, away=away)
        state = entered(event)
        if state is not None:
            # Why it waited is worth knowing of a run that was paused meanwhile.
            waiting = status.waiting if state in {"pausing", "paused"} else ""
            status = replace(
                status, state=state, reason=data.reason if isinstance(data, RunFinished) else "", waiting=waiting
            )
        match data:
            case RunWaiting():
                status = replace(status, waiting=data.reason)
            case RunUnblocked():
                status = replace(status, waiting="")
            case CandidateCreated():
                self._pending[data.candidate_id] = (data.proposal_number, data.program_id)
            case CandidateDuplicate(candidate_id=candidate_id):
                self._pending.pop(candidate_id, None)
            case CandidateEvaluated():
                status = self._score(status, data)
            case BestImproved():
                status = self._improve(status, data)
        self._status = status

    def _score(self, status: RunStatus, data: CandidateEvaluated) -> RunStatus:
        candidate, fitness = data.candidate_id, data.fitness
        number, program = self._pending.pop(candidate)
        self._evaluated = (candidate, program, data.scores)
        if number or fitness is None:
            return status
        best = fitness if status.seed_fitness is None else max(fitness, status.seed_fitness)
        return replace(status, seed_fitness=best)

    def _improve(self, status: RunStatus, data: BestImproved) -> RunStatus:
        # The best is always the candidate that was evaluated just before.
        candidate, program, scores = self._evaluated
        return replace(
            status,
            best_candidate_id=candidate,
            best_program_id=program,
            best_fitness=data.fitness,
            best_scores=scores,
        )
