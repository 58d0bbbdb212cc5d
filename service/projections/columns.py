"""A run in columns: what its evaluations gave, one by one, and what came beside them; caught up with as it goes on."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from evolve.evaluation import Outcome
from evolve.events import Kind
from service.ports import LoggedEvent, RunReader, Scored

BESIDE = (str(Kind.CANDIDATE_DUPLICATE), str(Kind.CANDIDATE_REJECTED), str(Kind.PROPOSAL_ANSWERED))


@dataclass(slots=True)
class Tally:
    """What became of the candidates of one kind; `fitness` is the sum over the valid ones."""

    evaluations: int = 0
    valid: int = 0
    improvements: int = 0
    fitness: float = 0.0


@dataclass(slots=True)
class Columns:
    """A run in columns.

    Attributes:
        fitness, valid, at, rewards: by evaluation, in order; NaN and None where it was not valid.
        duplicates, rejected, answered: when candidates came that were not evaluated, and when policies had answered, in
            seconds since 1970.
        tokens_input, tokens_output: of each of these answers.
        tallies: by operator, policy and position of the answer: (which of the three, name).
        sequence: everything up to this event is in them.
    """

    fitness: list[float] = field(default_factory=list)
    valid: list[bool] = field(default_factory=list)
    at: list[datetime] = field(default_factory=list)
    rewards: list[Sequence[float] | None] = field(default_factory=list)
    duplicates: list[float] = field(default_factory=list)
    rejected: list[float] = field(default_factory=list)
    answered: list[float] = field(default_factory=list)
    tokens_input: list[int] = field(default_factory=list)
    tokens_output: list[int] = field(default_factory=list)
    tallies: dict[tuple[str, str], Tally] = field(default_factory=dict)
    sequence: int = 0
    _best: float = -math.inf
    _beside: int = 0

    def catch_up(self, reader: RunReader, run_id: str) -> None:
        """Take in what has happened since the last time. What a candidate was worth never changes after the fact."""
        self.sequence, _ = reader.sequences([run_id]).get(run_id, (self.sequence, ""))
        for scored in reader.scored(run_id, len(self.at)):
            self._score(scored)
        for logged in reader.events(run_id, self._beside, kinds=BESIDE):
            self._mark(logged)

    def _score(self, scored: Scored) -> None:
        valid = scored.outcome == Outcome.OK and scored.fitness is not None
        fitness = scored.fitness if valid and scored.fitness is not None else math.nan
        improved = fitness > self._best
        self._best = fitness if improved else self._best
        self.fitness.append(fitness)
        self.valid.append(valid)
        self.at.append(scored.at)
        self.rewards.append(tuple(scored.rewards) if valid and scored.rewards is not None else None)
        kinds = [("operator", scored.operator)]
        if scored.number > 0:
            kinds += [("policy", scored.policy), ("position", str(scored.position))]
        for kind in kinds:
            tally = self.tallies.setdefault(kind, Tally())
            tally.evaluations += 1
            tally.improvements += improved
            tally.valid += valid
            tally.fitness += fitness if valid else 0.0

    def _mark(self, logged: LoggedEvent) -> None:
        self._beside = logged.sequence
        at, kind = logged.at.timestamp(), logged.event.kind
        if kind is Kind.CANDIDATE_DUPLICATE:
            self.duplicates.append(at)
        elif kind is Kind.CANDIDATE_REJECTED:
            self.rejected.append(at)
        else:
            self.answered.append(at)
            self.tokens_input.append(logged.event.payload["tokens"]["input"])
            self.tokens_output.append(logged.event.payload["tokens"]["output"])
