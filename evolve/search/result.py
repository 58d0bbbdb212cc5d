"""Results: what became of a run that nothing stored, as values; a fold of its events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from evolve.budget import Account
from evolve.configuration import RunConfig
from evolve.evaluation import Outcome
from evolve.event_types import (
    CandidateCreated,
    CandidateDuplicate,
    CandidateEvaluated,
    CandidateRejected,
    ProposalCreated,
)
from evolve.events import Event
from evolve.identity import candidate_id, proposal_id
from evolve.multiobjective.pareto import front
from evolve.problem import Problem
from evolve.program import Program
from evolve.proposal import Candidate, Individual
from evolve.search.assessment import Assessment, SearchScore, assess
from evolve.statistics.voting import MIN_SHARE, Ballot, VoteResult, count, decide

INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Result:
    """What became of a run.

    Attributes:
        reason: why it ended: a budget key, `target`, `exhausted`, `interrupted`, or a failure (see `Search.ended`).
        detail: of a failure, one sentence with its cause and the cure.
        best: the fittest individual; None when nothing could be scored.
        front: the individuals that no other one dominates, the fittest first.
        history: the best fitness after each evaluation; None while nothing could be scored.
        candidates: every answer that was taken, seeds first, in order of age: lineage, outcome, scores and source as
            JSON values, one record with the same keys for each.
        events: everything that was decided, in order.
        assessment: what came of examining it when it ended, on what was held out and under other seeds; None where
            nothing of that was wanted.
        account: what was used.
        seconds: how long it took.
    """

    run_id: str
    reason: str
    problem: Problem
    config: RunConfig
    best: Individual | None
    front: tuple[Individual, ...]
    history: tuple[float | None, ...]
    candidates: tuple[Mapping[str, Any], ...]
    events: tuple[Event, ...]
    account: Account
    seconds: float
    assessment: Assessment | None = None
    detail: str = ""

    @property
    def source(self) -> str:
        """The text of the best program; empty when nothing could be scored."""
        return self.best.program.text if self.best else ""

    @property
    def scores(self) -> Mapping[str, float]:
        """The scores of the best program, in the objectives' own units."""
        return self.best.evaluation.scores if self.best else {}

    @property
    def fitness(self) -> float | None:
        """The fitness of the best program; more is better."""
        return self.best.fitness if self.best else None

    def vote(self, rule: str = "majority", min_share: float = MIN_SHARE) -> VoteResult:
        """The answer that the candidates agree on, by the rules of `evolve.statistics.voting.decide`.

        Raises:
            KeyError: there is no such rule.
        """
        records = {record["candidate_id"]: record for record in self.candidates}
        cast = [records[record["duplicate_of"] or record["candidate_id"]] for record in self.candidates]
        return decide(count(_ballot(record) for record in cast if record["answer"] is not None), rule, min_share)

    def __repr__(self) -> str:
        """One line, however long the run was."""
        counted = [f"{self.account.evaluations} evaluated"]
        for word in (Outcome.OK, "duplicate", "rejected"):
            count = sum(word in (record["outcome"], record["status"]) for record in self.candidates)
            counted += [f"{count} {word}"] if count else []
        return (
            f"<Result of {self.problem.name}: ended by {self.reason}, best {dict(self.scores)}, {', '.join(counted)},"
            f" {self.seconds:.1f} s>"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundCandidates:
    """What a run found, by the ids of candidates: what a log of it would bring to a replay."""

    scored: Mapping[str, Individual]
    created: Mapping[str, Candidate]

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """All of it, out of the run's events."""
        subjects = [event.subject for event in events]
        return cls(
            scored={one.candidate_id: one for one in subjects if isinstance(one, Individual)},
            created={one.id: one for one in subjects if isinstance(one, Candidate)},
        )

    def individuals(self, ids: Sequence[str]) -> list[Individual]:
        """Those of these candidates that were evaluated."""
        return [self.scored[one] for one in ids if one in self.scored]

    def candidates(self, ids: Sequence[str]) -> list[Candidate]:
        """These candidates."""
        return [self.created[one] for one in ids]


class EventSummary:
    """Keeps what the events of a run say of its candidates.

    Attributes:
        config: of the run.
        best: the fittest so far, the first among equals.
    """

    def __init__(self, run_id: str, problem: Problem, config: RunConfig) -> None:
        self._run_id, self._problem, self.config = run_id, problem, config
        self._events: list[Event] = []
        self._records: dict[str, dict[str, Any]] = {}
        self._scored: dict[str, Individual] = {}
        self._proposals: dict[int, ProposalCreated] = {}
        self._history: list[float | None] = []
        self.best: Individual | None = None

    def take(self, events: Iterable[Event]) -> None:
        """Fold the next events, as the search gave them."""
        for event in events:
            self._events.append(event)
            self._fold(event)

    def result(self, reason: str, account: Account, seconds: float, detail: str = "") -> Result:
        """All of it."""
        return Result(
            run_id=self._run_id,
            reason=reason,
            detail=detail,
            problem=self._problem,
            config=self.config,
            best=self.best,
            front=self._front(),
            history=tuple(self._history),
            candidates=tuple(self._records.values()),
            events=tuple(self._events),
            account=replace(account),
            seconds=seconds,
            assessment=assess(self._events, self._worths(), self._problem.objectives),
        )

    def _worths(self) -> dict[str, SearchScore]:
        scored = self._scored.values()
        return {one.candidate_id: SearchScore(fitness=one.fitness, scores=one.evaluation.scores) for one in scored}

    def _fold(self, event: Event) -> None:
        subject = event.subject
        match event.data:
            case ProposalCreated() as data:
                self._proposals[data.proposal_number] = data
            case CandidateCreated() as data if isinstance(subject, Candidate):
                self._add(data, subject.parents, subject.program)
            case CandidateRejected() as data:
                self._add(data, data.parents, None, status="rejected", reason=data.reason)
            case CandidateDuplicate() as data:
                self._records[data.candidate_id] |= {"status": "duplicate", "duplicate_of": data.of}
            case CandidateEvaluated() if isinstance(subject, Individual):
                self._evaluated(subject)

    def _add(
        self,
        data: CandidateCreated | CandidateRejected,
        parents: Iterable[tuple[str, str]],
        program: Program | None,
        status: str = "pending",
        reason: str = "",
    ) -> None:
        number, position = data.proposal_number, data.position
        proposal = self._proposals.get(number)
        edges = [{"candidate_id": parent, "role": role} for parent, role in parents]
        name = candidate_id(self._run_id, number, position)
        self._records[name] = {
            "candidate_id": name,
            "run_id": self._run_id,
            "proposal_id": proposal_id(self._run_id, number),
            "proposal_number": number,
            "position": position,
            "program_id": program.id if program else None,
            "parent_id": next((edge["candidate_id"] for edge in edges if edge["role"] == "parent"), None),
            "parents": edges,
            "duplicate_of": None,
            "island": data.island,
            "operator": proposal.operator if proposal else "seed",
            "policy": proposal.policy if proposal else "",
            "status": status,
            "outcome": None,
            "reason": reason,
            "fitness": None,
            "scores": {},
            "measures": {},
            "cases": {},
            "feedback": "",
            "spread": {},
            "repeats": 0,
            "answer": None,
            "seconds": None,
            "source": program.text if program else None,
        }

    def _evaluated(self, individual: Individual) -> None:
        evaluation = individual.evaluation
        self._records[individual.candidate_id] |= {
            "status": "evaluated",
            "outcome": str(evaluation.outcome),
            "reason": evaluation.reason,
            "fitness": individual.fitness,
            "scores": dict(evaluation.scores),
            "measures": dict(individual.measures),
            "cases": dict(evaluation.cases),
            "feedback": evaluation.feedback,
            "spread": dict(evaluation.spread),
            "repeats": evaluation.repeats,
            "answer": evaluation.answer,
            "seconds": evaluation.seconds,
        }
        if evaluation.outcome is Outcome.CANCELLED:
            return
        if individual.fitness is not None:
            self._scored[individual.candidate_id] = individual
            if self.best is None or individual.fitness > _value(self.best):
                self.best = individual
        self._history.append(self.best.fitness if self.best else None)

    def _front(self) -> tuple[Individual, ...]:
        scored = list(self._scored.values())
        if not scored:
            return ()
        kept = front(np.array([individual.signed_scores for individual in scored]))
        members = [individual for individual, beats in zip(scored, kept, strict=True) if beats]
        return tuple(sorted(members, key=_value, reverse=True))


def _ballot(record: Mapping[str, Any]) -> Ballot:
    age = record["proposal_number"], record["position"]
    return Ballot(answer=record["answer"], fitness=record["fitness"], candidate_id=record["candidate_id"], age=age)


def _value(individual: Individual) -> float:
    return -np.inf if individual.fitness is None else individual.fitness
