"""An unruly world: policies answer fewer, more, twice or rubbish, evaluators fail, and all of it comes in any order."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evolve.archives import CellArchive, DominatedNoveltyArchive
from evolve.evaluation import Evaluation, Outcome, read_result
from evolve.events import Event
from evolve.identity import digest
from evolve.lineage import Lineage
from evolve.problem import Problem
from evolve.proposal import Answer, Candidate, CompletedReply, Individual, Proposal, Usage
from evolve.search.deterministic_schedule import DeterministicSchedule
from evolve.search.islands import Island
from evolve.search.search import Search, SearchStep
from evolve.search.state import SearchState
from tests.fakes.vectors import look
from tests.fakes.world import brought

FAILURES = (Outcome.ERROR, Outcome.TIMEOUT, Outcome.CRASH, Outcome.LOST, Outcome.STAGE)
EXTREMES = (0.0, -0.0, 1e308, -1e308, 1.7e308, 5e-324, float("inf"), float("nan"), 10**400, True, "high", None)
MAX_CALLS = 20_000

Reply = Answer | CompletedReply | str


@dataclass
class UnrulyWorld:
    """Policy and evaluator at once: answers depend on the proposal alone, scores on the program alone.

    Only the order of arrival is drawn by `order`.

    Attributes:
        temper: seed of all that is answered and scored.
        candour: share of the evaluations that are what they should be.
        log: every event that the search gave.
        evaluated: ids of the candidates that were scored.
        boundaries: lengths of the log after each call.
        earlier: individuals of a run that was resumed on demand, for the proposals that show them.
    """

    problem: Problem
    temper: int
    order: np.random.Generator
    candour: float = 0.7
    log: list[Event] = field(default_factory=list)
    boundaries: list[int] = field(default_factory=list)
    evaluated: list[str] = field(default_factory=list)
    individuals: dict[str, Individual] = field(default_factory=dict)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    earlier: Mapping[str, Individual] = field(default_factory=dict)
    _conversations: list[tuple[int, Iterator[Reply]]] = field(default_factory=list)
    _unscored: list[Candidate] = field(default_factory=list)

    def begin(self, step: SearchStep) -> None:
        """Take what a search starts or goes on with."""
        self._take(step)

    def forget(self) -> None:
        """Lose everything in flight."""
        self._conversations.clear()
        self._unscored.clear()

    def play(self, search: Search | DeterministicSchedule, calls: int = MAX_CALLS) -> str | None:
        """Drive a search until it ends, and close it, or for a number of calls; why it ended."""
        reason = self.go_on(search, calls)
        if reason is not None:
            self.close(search)
        assert reason is not None or calls < MAX_CALLS, "the search goes on for ever"
        return reason

    def go_on(self, search: Search | DeterministicSchedule, calls: int) -> str | None:
        """Drive a search for a number of calls, or until it would end; why it would."""
        for _ in range(calls):
            if (reason := search.ended()) is not None:
                return reason
            self._turn(search)
        return None

    def extend(self, search: Search | DeterministicSchedule, key: str, value: int | None) -> None:
        """Give a key of the budget another value."""
        self._take(search.extend(key, value, "somebody"))

    def close(self, search: Search | DeterministicSchedule) -> None:
        """End a search where it stands."""
        self._take(search.close())

    def _turn(self, search: Search | DeterministicSchedule) -> None:
        busy = isinstance(search, Search) and len(self._conversations) + len(self._unscored) >= 8
        step = SearchStep() if busy else search.ask()
        self._take(step)
        if step.proposals:
            return
        in_flight = len(self._conversations) + len(self._unscored)
        if not in_flight:
            assert search.ended() is not None, "the search waits for nothing"
            return
        place = int(self.order.integers(in_flight))
        if place < len(self._unscored):
            candidate = self._unscored.pop(place)
            self.evaluated.append(candidate.id)
            self._take(search.tell(candidate.id, self.score(candidate)))
        else:
            self._converse(search, place - len(self._unscored))

    def _converse(self, search: Search | DeterministicSchedule, place: int) -> None:
        number, replies = self._conversations[place]
        if (entry := search.state.open.get(number)) and entry.proposal:
            brought(search.state, entry.proposal, self.earlier)
        match next(replies, None):
            case Answer() as answer:
                look(search, number, [answer])
                self._take(search.answer(number, answer))
            case CompletedReply() as completed:
                self._take(search.complete(number, completed))
            case str(reason):
                self._take(search.fail(number, reason))
            case None:
                del self._conversations[place]

    def _take(self, step: SearchStep) -> None:
        self.log += step.events
        self.boundaries.append(len(self.log))
        for event in step.events:
            if isinstance(event.subject, Individual):
                self.individuals[event.subject.candidate_id] = event.subject
            if isinstance(event.subject, Candidate):
                self.candidates[event.subject.id] = event.subject
        self._unscored += step.candidates
        self._conversations += [(proposal.number, iter(self.replies(proposal))) for proposal in step.proposals]

    def score(self, candidate: Candidate) -> Evaluation:
        """What becomes of a program: mostly a score, else any way to fail."""
        rng = self._drawn("score", candidate.program.id)
        if candidate.proposal_number and rng.random() > self.candour:
            return _mishap(rng)
        x = float(rng.integers(-50, 50)) / 10
        raw: dict[str, Any] = {"closeness": -abs(x), "smallness": 1 / (1 + abs(x)), "magnitude": x}
        if candidate.proposal_number and rng.random() > self.candour:
            raw[str(rng.choice(list(raw)))] = EXTREMES[int(rng.integers(len(EXTREMES)))]
        if rng.random() < 0.8:
            raw["cases"] = {name: float(rng.integers(5)) / 4 for name in "abcd"[: int(rng.integers(1, 5))]}
        return read_result(raw, self.problem)

    def replies(self, proposal: Proposal) -> list[Reply]:
        """What the policy says: some answers, rarely as many as were asked for, and an end, or two."""
        rng = self._drawn("reply", proposal.id)
        answers: list[Answer] = []
        for _ in range(int(rng.integers(proposal.limit + 3))):
            chain, index = int(rng.integers(proposal.samples + 1)), int(rng.integers(proposal.answers + 2))
            answers.append(Answer(chain=chain, index=index, text=_text(rng)))
        replies: list[Reply] = [*_interleaved(answers, self.order)]
        if rng.random() < 0.2:
            return [*replies, "the policy refused"]
        completed = CompletedReply(completions=("said",) * proposal.samples, usage=Usage(input=10, output=5))
        return [*replies, completed, completed] if rng.random() < 0.1 else [*replies, completed]

    def _drawn(self, purpose: str, about: str) -> np.random.Generator:
        return np.random.default_rng(int(digest(f"{self.temper} {purpose} {about}")[:15], 16))


def _mishap(rng: np.random.Generator) -> Evaluation:
    outcome = FAILURES[int(rng.integers(len(FAILURES)))]
    return Evaluation(outcome=outcome, reason=f"it ended with {outcome}", scores={"closeness": -1.0})


def _interleaved(answers: Sequence[Answer], order: np.random.Generator) -> Iterator[Answer]:
    """The answers of several chains as they may arrive: in order within a chain, in any order between chains."""
    chains = {answer.chain: iter([other for other in answers if other.chain == answer.chain]) for answer in answers}
    for chain in order.permutation([answer.chain for answer in answers]):
        yield next(chains[int(chain)])


def _text(rng: np.random.Generator) -> str:
    match int(rng.integers(8)):
        case 0:
            return "x = (\n"
        case 1:
            return ""
        case 2:
            return "x = '\ud800'\n"
        case _:
            return f"x = {int(rng.integers(60))}\n"


def bare(events: Sequence[Event]) -> list[Event]:
    """Events as storage gives them back."""
    return [Event.stored(event.kind, payload=event.payload) for event in events]


def known(state: SearchState) -> dict[str, Any]:
    """Everything that decisions of a search depend on, in comparable form."""
    return {
        "account": replace(state.account),
        "budget": state.budget,
        "asked": state.asked,
        "open": [
            (number, entry.created, sorted(entry.taken), entry.fresh, entry.proposal)
            for number, entry in state.open.items()
        ],
        "pending": list(state.pending.values()),
        "seen": state.seen,
        "told": (list(state.seeds), state.latest, state.best, state.reached),
        "trials": (state.trials.open, state.trials.credit.tried, state.trials.credit.won),
        "islands": [_island(island) for island in state.islands],
        "lineage": _lineage(state.lineage),
    }


def _lineage(lineage: Lineage) -> tuple[Any, ...]:
    rows = lineage.rows(list(lineage))
    counts = (lineage.proposals, lineage.observations, lineage.flights)
    standings = [(name, lineage.standing(name)) for name in lineage]
    return counts, standings, lineage.airborne(rows).tolist(), lineage.related(rows).tolist()


def _island(island: Island) -> tuple[Any, ...]:
    members = island.archive.members
    archive = island.archive
    cells: tuple[object, ...] = ()
    if isinstance(archive, CellArchive):
        cells = (archive.cells, [axis.range for axis in archive.partition.axes])
    if isinstance(archive, DominatedNoveltyArchive):
        cells = (archive.novelty.tolist(),)
    return (
        (
            island.evaluated,
            island.best,
            island.since_best,
            (list(island.failures), list(island.repairable)),
            island.arm,
        ),
        (list(members), members.best(len(members)), members.rewards.tolist(), members.fitness.tolist()),
        cells,
    )
