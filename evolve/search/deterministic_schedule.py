"""Deterministic order: whatever the order in which the world answers, a search is told in proposal order.

Time is cut into ticks. Tick t asks for a proposal, then takes the answers to the proposal of tick t - lag, then the
evaluations of the proposal of tick t - window + 1: so `ask(n)` sees exactly what was told up to `n - window`. The lag
lets the evaluations of some proposals overlap with the completions of later ones. A tick whose ask was refused, because
the budget is given out, holds no proposal.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

from evolve.budget import extended
from evolve.change_events import ChangeData, InsightsWritten, RequestedChange
from evolve.configuration import RunConfig
from evolve.errors import ConfigurationError, ReplayError
from evolve.evaluation import Evaluation, Outcome
from evolve.event_types import (
    BudgetExtended,
    CandidateEvaluated,
    ProposalAnswered,
    ProposalCreated,
    ProposalFailed,
)
from evolve.events import Event, EventKind
from evolve.extensions import Extensions
from evolve.problem import Problem
from evolve.proposal import Answer, Candidate, CompletedReply, Individual
from evolve.search.candidate_filter import AnswerFilter
from evolve.search.ensemble import PolicyRequest
from evolve.search.search import ResumedWork, Search, SearchStep
from evolve.search.shutdown import ENDED, NOTHING_CUT
from evolve.search.state import SearchState


class SchedulePhase(Enum):
    """What the current tick does next."""

    ASK = auto()
    ANSWERS = auto()
    EVALUATIONS = auto()


@dataclass(frozen=True, slots=True)
class _Failure:
    """A proposal that will have no further answer: why, and what was written of it."""

    reason: str
    cut: CompletedReply | None


class DeterministicSchedule:
    """A schedule around a search: it keeps what comes early and offers the search's own calls."""

    def __init__(self, search: Search, window: int) -> None:
        self._search = search
        self._lag = (window - 1) // 2
        self._slots: deque[int | None] = deque([None] * window, maxlen=window)
        self._attached: deque[list[int]] = deque([[] for _ in range(window)], maxlen=window)
        self._phase = SchedulePhase.ASK
        self._elapsed_seconds = 0.0
        self._answers: dict[int, list[Answer]] = {}
        self._ends: dict[int, CompletedReply | _Failure] = {}
        self._evaluations: dict[str, Evaluation] = {}

    @property
    def state(self) -> SearchState:
        """The state of the search."""
        return self._search.state

    @property
    def position(self) -> list[Any]:
        """Where it stands, as JSON; what it keeps for later turns comes again after a restart."""
        return [list(self._slots), [list(numbers) for numbers in self._attached], self._phase.name]

    def move_to(self, position: Sequence[Any]) -> None:
        """Stand at a position of a schedule of the same window.

        Raises:
            ReplayError: its window is another.
        """
        slots, attached, phase = position
        if not len(slots) == len(attached) == len(self._slots):
            raise ReplayError("the run was written under another deterministic window")
        self._slots.extend(slots)
        self._attached.extend(list(numbers) for numbers in attached)
        self._phase = SchedulePhase[phase]

    @property
    def answer_filter(self) -> AnswerFilter:
        """That of the search."""
        return self._search.answer_filter

    def start(self) -> SearchStep:
        """Propose the seeds."""
        return self._search.start()

    def ask(self, elapsed_seconds: float = 0.0) -> SearchStep:
        """Whatever is due by now."""
        self._elapsed_seconds = elapsed_seconds
        return self._advance()

    def answer(self, number: int, answer: Answer) -> SearchStep:
        """Keep an answer until its proposal's turn."""
        self._answers.setdefault(number, []).append(answer)
        return SearchStep()

    def complete(self, number: int, completed: CompletedReply) -> SearchStep:
        """Keep the end of a completion until its turn; whatever becomes due follows."""
        self._ends[number] = completed
        return self._advance()

    def fail(self, number: int, reason: str, cut: CompletedReply | None = None) -> SearchStep:
        """Keep the failure of a proposal until its turn; whatever becomes due follows."""
        self._ends[number] = _Failure(reason, cut)
        return self._advance()

    def tell(self, candidate: str, evaluation: Evaluation) -> SearchStep:
        """Keep an evaluation until its turn; whatever becomes due follows."""
        self._evaluations[candidate] = evaluation
        return self._advance()

    def extend(self, key: str, value: object, by: str = "") -> SearchStep:
        """Give a key of the budget another value; whatever was due under the budget of before comes first.

        Raises:
            ConfigurationError: there is no such key, or it cannot have this value.
        """
        self._search.extended(key, value)
        due = self._advance()
        return joined([due, self._search.extend(key, value, by)])

    def change(self, change: RequestedChange) -> SearchStep:
        """Make a change that a person asked for; whatever was due before comes first.

        Raises:
            ConfigurationError: it cannot be made.
        """
        self._search.check_change(change)
        due = self._advance()
        try:
            made = self._search.change(change)
        except ConfigurationError as error:  # what was due has made it impossible, and is logged all the same
            made = self._search.refuse(change, str(error))
        self._attach(made.events)
        return joined([due, made])

    def refuse(self, change: RequestedChange, reason: str) -> SearchStep:
        """Log that a change cannot be made; whatever was due before comes first."""
        due = self._advance()
        return joined([due, self._search.refuse(change, reason)])

    def ended(self, elapsed_seconds: float = 0.0) -> str | None:
        """Why the run is over, or None."""
        return self._search.ended(elapsed_seconds)

    def explain(self, reason: str, denied: str = "") -> str:
        """One sentence on an end that is a failure, with the cure; else empty. See `Search.explain`."""
        return self._search.explain(reason, denied)

    def close(
        self, cut: Mapping[int, CompletedReply] = NOTHING_CUT, insights: Iterable[InsightsWritten] = ()
    ) -> SearchStep:
        """Let go of everything in flight, with what of it was cut off and with what waits for its turn."""
        kept = {number: end.cut if isinstance(end, _Failure) else end for number, end in self._ends.items()}
        last_words = {number: last for number, last in kept.items() if last is not None}
        return self._search.close({**last_words, **cut}, insights)

    def replay(
        self,
        events: Iterable[Event],
        individuals: Callable[[Sequence[str]], Iterable[Individual]],
        candidates: Callable[[Sequence[str]], Iterable[Candidate]],
        *,
        on_demand: bool = False,
    ) -> ResumedWork:
        """Fold the events of an earlier run and take up the schedule where it stopped; see `Search.replay`.

        Raises:
            ReplayError: the events were not written under this schedule.
        """
        return self._search.replay(self._follow(events), individuals, candidates, on_demand=on_demand)

    def _advance(self) -> SearchStep:
        steps: list[SearchStep] = []
        if not self._seed(steps):
            return joined(steps)
        moves = {
            SchedulePhase.ASK: self._ask,
            SchedulePhase.ANSWERS: self._take_answers,
            SchedulePhase.EVALUATIONS: self._take_evaluations,
        }
        while not self._held and moves[self._phase](steps):
            pass
        return joined(steps)

    @property
    def _held(self) -> bool:
        """Whether no phase may end: the run has ended, or its insights or an update of its policy come first."""
        return self._search.ended(self._elapsed_seconds) is not None or self._change_due

    @property
    def _change_due(self) -> bool:
        """Whether the run itself is to change something that the next proposal depends on."""
        state = self.state
        update = state.changes.learning.next(state.asked, state.open, state.pending)
        return update is not None or state.changes.insights.due(state.account.evaluations)

    def _seed(self, steps: list[SearchStep]) -> bool:
        return self.state.started and self._release(0, steps)

    def _ask(self, steps: list[SearchStep]) -> bool:
        step = self._search.ask(self._elapsed_seconds)
        if not step.proposals and not self._busy:
            return False
        steps.append(step)
        self._push(step.proposals[0].number if step.proposals else None)
        return True

    def _take_answers(self, steps: list[SearchStep]) -> bool:
        number = self._answering
        if number is not None:
            if number not in self.state.open:  # closed when the run ended before it was continued
                self._phase = SchedulePhase.EVALUATIONS
                return True
            end = self._ends.pop(number, None)
            if end is None:
                return False
            answers = sorted(self._answers.pop(number, []), key=lambda answer: (answer.chain, answer.index))
            steps += [self._search.answer(number, answer) for answer in answers]
            steps.append(self._end(number, end))
        self._phase = SchedulePhase.EVALUATIONS
        return True

    def _end(self, number: int, end: CompletedReply | _Failure) -> SearchStep:
        if isinstance(end, _Failure):
            return self._search.fail(number, end.reason, end.cut)
        return self._search.complete(number, end)

    def _take_evaluations(self, steps: list[SearchStep]) -> bool:
        if not all(self._release(number, steps) for number in self._due):
            return False
        self._phase = SchedulePhase.ASK
        return True

    def _release(self, number: int, steps: list[SearchStep]) -> bool:
        """Tell all evaluations of a proposal, in the order of its answers, once they are there."""
        waiting = sorted(self._waiting(number), key=lambda candidate: candidate.position)
        if any(candidate.id not in self._evaluations for candidate in waiting):
            return False
        steps += [
            self._search.tell(candidate.id, self._evaluations.pop(candidate.id))
            for candidate in waiting
            if self._search.ended(self._elapsed_seconds) is None
        ]
        # A run that ends in the midst of them may go on with a larger budget: then the rest are told first.
        return not self._waiting(number)

    def _waiting(self, number: int) -> list[Candidate]:
        return [candidate for candidate in self.state.pending.values() if candidate.proposal_number == number]

    @property
    def _answering(self) -> int | None:
        return self._slots[-1 - self._lag]

    @property
    def _due(self) -> list[int]:
        """The proposals whose evaluations the current tick takes."""
        return [number for number in (self._slots[0], *self._attached[0]) if number is not None]

    @property
    def _busy(self) -> bool:
        """Whether a tick to come has something to take."""
        return any(self._slots) or any(self._attached)

    def _attach(self, events: Iterable[Event]) -> None:
        """Have the evaluation of a program that a person inserts taken with those of the latest tick."""
        for event in events:
            if isinstance(event.data, ProposalCreated):
                self._attached[-1].append(event.data.proposal_number)

    def _push(self, number: int | None) -> None:
        self._slots.append(number)
        self._attached.append([])
        self._phase = SchedulePhase.ANSWERS

    def _follow(self, events: Iterable[Event]) -> Iterator[Event]:
        for event in self._rewound(events):
            self._observe(event)
            yield event

    def _rewound(self, events: Iterable[Event]) -> Iterator[Event]:
        """The same, with the budget as it was when the first of them extended it.

        The configuration that is stored may have what later ones gave to any key already.
        """
        coming = iter(events)
        for event in coming:
            if event.kind is not EventKind.BUDGET_EXTENDED:
                yield event
                continue
            rest = [event, *coming]
            for later in reversed(rest):
                if later.kind is EventKind.BUDGET_EXTENDED and isinstance(later.data, BudgetExtended):
                    self.state.budget = extended(self.state.budget, later.data.key, later.data.from_)
            yield from rest

    def _observe(self, event: Event) -> None:
        """Move the schedule to where this event was written; the state is that before it. `close` keeps no order."""
        match event.data:
            case ProposalCreated(change=change) if change:
                self._attach([event])
            case ProposalAnswered(proposal_number=number) if self.state.open[number].created.change:
                return
            case ProposalCreated(proposal_number=number):
                self._skip_until(lambda: self._phase is SchedulePhase.ASK)
                self._push(number)
            case ProposalFailed(reason=reason) if reason == ENDED:
                return
            case ProposalAnswered(proposal_number=number) | ProposalFailed(proposal_number=number):
                self._skip_until(lambda: self._phase is SchedulePhase.ANSWERS and self._answering == number)
                self._phase = SchedulePhase.EVALUATIONS
            case CandidateEvaluated(candidate_id=candidate_id, outcome=outcome) if outcome != Outcome.CANCELLED:
                self._follow_evaluation(candidate_id)
            case BudgetExtended() | ChangeData():
                while self._search.ended() is None and not self._change_due and self._skip():
                    pass

    def _follow_evaluation(self, candidate_id: str) -> None:
        waiting = self.state.pending.get(candidate_id)
        if waiting and waiting.proposal_number:
            number = waiting.proposal_number
            self._skip_until(lambda: self._phase is SchedulePhase.EVALUATIONS and number in self._due)

    def _skip_until(self, there: Callable[[], bool]) -> None:
        for _ in range(3 * len(self._slots) + 3):
            if there():
                return
            self._skip()
        raise ReplayError("the run was written under another deterministic window")

    def _skip(self) -> bool:
        """Pass a phase that left no event; whether it could be passed."""
        if self._phase is SchedulePhase.ASK and self._busy:
            self._push(None)
        elif self._phase is SchedulePhase.ANSWERS and self._answering not in self.state.open:
            self._phase = SchedulePhase.EVALUATIONS
        elif self._phase is SchedulePhase.EVALUATIONS and not any(map(self._waiting, self._due)):
            self._phase = SchedulePhase.ASK
        else:
            return False
        return True


def open_search(
    run_id: str,
    problem: Problem,
    config: RunConfig,
    *policy_requests: PolicyRequest,
    extensions: Extensions | None = None,
) -> Search | DeterministicSchedule:
    """The search of a run, ordered when its configuration is deterministic."""
    search = Search(run_id, problem, config, *policy_requests, extensions=extensions)
    return DeterministicSchedule(search, config.deterministic.window) if config.deterministic.window else search


def joined(steps: Iterable[SearchStep]) -> SearchStep:
    """Several steps as one."""
    steps = list(steps)
    return SearchStep(
        events=tuple(event for step in steps for event in step.events),
        candidates=tuple(candidate for step in steps for candidate in step.candidates),
        proposals=tuple(proposal for step in steps for proposal in step.proposals),
    )
