"""A run told in events, for suites of storage: seeds, proposals, answers, evaluations."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection

from evolve.evaluation import Evaluation, Outcome
from evolve.event_codec import encode, write_charge
from evolve.events import Event, EventKind, Subject
from evolve.identity import candidate_id, proposal_id
from evolve.money import Money
from evolve.payloads import describe_reevaluation
from evolve.program import Program
from evolve.proposal import (
    Candidate,
    Charge,
    CompletedReply,
    Individual,
    Message,
    Prompt,
    Proposal,
    RejectedText,
    Usage,
)
from evolve.reply_form import ReplyForm
from service.ports import Bundle, Clock, LoggedEvent, NewRun
from service.problems.description import objectives_as_json
from tests.fakes.world import toy_problem

START = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
RUN = "run_0190aaaa000000000000000000000001"
# What decided: of the parent, then of the other choices that there were.
WHY: Mapping[str, Any] = {
    "rank": 2,
    "cases": ["small", "large"],
    "island": {"visits": 9, "gain": 0.125, "bonus": 0.5},
    "second_parent": {"selection": "dirichlet", "weights": [0.5, 0.5], "crowding": None},
}


class FixedClock:
    """A clock that stands until it is moved."""

    def __init__(self, now: datetime = START) -> None:
        self.time = now

    def now(self) -> datetime:
        return self.time

    def monotonic(self) -> float:
        return self.time.timestamp()

    def advance(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


def by_clock(_: Connection, clock: Clock) -> datetime:
    """The time of leases where a test moves it, in place of the database's."""
    return clock.now()


def new_run(run_id: str = RUN, **changes: Any) -> NewRun:
    fields: dict[str, Any] = {
        "id": run_id,
        "problem_name": "packing",
        "bundle": Bundle(hash="b" * 64, content=b"\x1f\x8b\x00folder"),
        "config": {"strategy": "islands", "budget": {"evaluations": 200, "tokens": None}},
        "policies": [{"name": "syntax", "kind": "syntax"}],
        "seed": 7,
        "integrity": "separate",
        "isolation": "strong",
        "objectives": [{"name": "sum_radii", "direction": "maximize"}],
        "known_best": 2.6359830849,
        "source": "examples/packing",
        "created_at": START,
    }
    return NewRun(**(fields | changes))


def new_toy_run(run_id: str = RUN, *, several: bool = False, **changes: Any) -> NewRun:
    """A run of the toy problem: its objectives are those that the toy problem's evaluations have scores of."""
    return new_run(run_id, objectives=objectives_as_json(toy_problem(several=several)), **changes)


class Story:
    """Tells events one after the other, a second apart; each call returns what it told."""

    def __init__(self, run_id: str = RUN, sequence: int = 1, at: datetime = START) -> None:
        self.run_id = run_id
        self.sequence = sequence
        self.at = at
        self.programs: dict[str, Program] = {}

    def tell(self, kind: EventKind, subject: Subject | None = None, **payload: Any) -> LoggedEvent:
        self.sequence += 1
        self.at += timedelta(seconds=1)
        event = Event.stored(kind, payload=payload, subject=subject)
        return LoggedEvent(run_id=self.run_id, sequence=self.sequence, at=self.at, event=event)

    def id(self, number: int, position: int = 0) -> str:
        return candidate_id(self.run_id, number, position)

    def create(
        self,
        number: int,
        position: int = 0,
        *,
        parents: Sequence[tuple[str, str]] = (),
        program: Program | None = None,
        island: int = 0,
    ) -> LoggedEvent:
        program = program or Program.of({"program.py": f"x = {number}\ny = {position}\n"})
        candidate = Candidate(
            id=self.id(number, position),
            proposal_number=number,
            position=position,
            island=island,
            program=program,
            fingerprint=f"f{number}-{position}",
            parents=tuple(parents),
        )
        self.programs[candidate.id] = program
        return self.tell(
            EventKind.CANDIDATE_CREATED,
            candidate,
            candidate_id=candidate.id,
            proposal_number=number,
            position=position,
            island=island,
            program_id=program.id,
            fingerprint=candidate.fingerprint,
        )

    def evaluate(self, candidate: str, fitness: float | None = 1.0, **changes: Any) -> LoggedEvent:
        individual = self.individual(candidate, fitness, **changes)
        return self.tell(
            EventKind.CANDIDATE_EVALUATED,
            individual,
            candidate_id=candidate,
            outcome=str(individual.evaluation.outcome),
            fitness=fitness,
            scores=dict(individual.evaluation.scores),
            measures=dict(individual.measures),
            seconds=individual.evaluation.seconds,
            attempt=1,
        )

    def reevaluate(self, individual: Individual, attempt: int) -> LoggedEvent:
        data = describe_reevaluation(individual, attempt)
        return self.tell(data.kind, individual, **encode(data))

    def individual(self, candidate: str, fitness: float | None = 1.0, **changes: Any) -> Individual:
        ok = fitness is not None
        rewards = changes.pop("rewards", (fitness,) if ok else ())
        signed_scores = changes.pop("signed_scores", (fitness,) if ok else ())
        fields: dict[str, Any] = {
            "outcome": Outcome.OK if ok else Outcome.TIMEOUT,
            "reason": "" if ok else "it ran longer than 20 seconds",
            "scores": {"sum_radii": fitness} if ok else {},
            "measures": {"depth": 3.0} if ok else {},
            "cases": {"a": 0.5, "b": 1.0} if ok else {},
            "feedback": "two circles overlap",
            "seconds": 0.25,
            "spread": {"sum_radii": 0.125} if ok else {},
            "worker": "worker-1",
            "isolation": "strong/separate",
        }
        return Individual(
            candidate_id=candidate,
            program=self.programs[candidate],
            evaluation=Evaluation(**(fields | changes)),
            fitness=fitness,
            rewards=rewards,
            signed_scores=signed_scores,
            measures={"depth": 3.0, "complexity": 12.0} if ok else {},
        )

    def propose(
        self,
        number: int,
        parent: str,
        *,
        island: int = 0,
        rationale: Mapping[str, Any] = WHY,
        form: ReplyForm | None = None,
    ) -> LoggedEvent:
        proposal = Proposal(
            id=proposal_id(self.run_id, number),
            number=number,
            island=island,
            operator="mutate",
            probability=0.7,
            parent=self.individual(parent),
            selection="dirichlet",
            weights=(0.25, 0.75),
            rationale=rationale,
            policy="syntax",
            seed=11,
            answers=4,
            form=form,
        )
        return self.tell(
            EventKind.PROPOSAL_CREATED,
            proposal,
            proposal_number=number,
            proposal_id=proposal.id,
            island=island,
            operator="mutate",
            probability=0.7,
            selection="dirichlet",
            weights=[0.25, 0.75],
            rationale=rationale,
            parents=[[parent, "parent"]],
            policy="syntax",
        )

    def answer(
        self,
        number: int,
        *,
        parts: Sequence[str] = ("shared\n", "varying"),
        text: str = "ok",
        usage: Usage = Usage(input=100, cached=60, output=40),  # noqa: B008 -- a frozen value
        cost: str | None = "0.015 USD",
        charges: Sequence[Charge] = (),
        reasoning: Sequence[str] = (),
    ) -> LoggedEvent:
        completed = CompletedReply(
            completions=(text,),
            finish_reasons=("stop",),
            prompt=Prompt(messages=(Message(role="user", parts=tuple(parts)),), tokens=9),
            dropped=(RejectedText(chain=0, reason="the last answer was cut off"),),
            usage=usage,
            cost=None if cost is None else Money.read(cost),
            seconds=1.5,
            charges=tuple(charges),
            reasoning=tuple(reasoning),
        )
        return self.tell(
            EventKind.PROPOSAL_ANSWERED,
            completed,
            proposal_number=number,
            answers=4,
            dropped=1,
            tokens={"input": usage.input, "cached": usage.cached, "output": usage.output},
            cost=cost,
            seconds=1.5,
            **({"charges": [write_charge(one) for one in charges]} if charges else {}),
        )

    def insert(
        self, candidate: str, island: int = 0, status: str = "added", displaced: Sequence[str] = ()
    ) -> LoggedEvent:
        return self.tell(
            EventKind.INDIVIDUAL_INSERTED,
            candidate_id=candidate,
            island=island,
            status=status,
            displaced=list(displaced),
        )

    def improve(self, candidate: str, fitness: float) -> LoggedEvent:
        return self.tell(EventKind.BEST_IMPROVED, candidate_id=candidate, fitness=fitness, objective=None)

    def seed(self, fitness: float = 1.0) -> list[LoggedEvent]:
        """The run starts and its seed is evaluated and kept."""
        seed = self.id(0)
        return [
            self.tell(EventKind.RUN_STARTED, by="test"),
            self.create(0),
            self.evaluate(seed, fitness),
            self.insert(seed),
            self.improve(seed, fitness),
        ]

    def child(self, number: int, parent: str, fitness: float | None = 2.0, **changes: Any) -> list[LoggedEvent]:
        """A proposal with one child that is evaluated."""
        return [
            self.propose(number, parent),
            self.create(number, parents=[(parent, "parent")]),
            self.answer(number),
            self.evaluate(self.id(number), fitness, **changes),
        ]
