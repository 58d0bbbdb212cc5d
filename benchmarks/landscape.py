"""A made-up run of any length, told to the real log in large batches: what pages are measured on.

Nothing is asked and nothing evaluated, so that 50,000 programs are there in less than a minute. What pages draw is as
in a run that was searched: three objectives that pull against each other, two measures, islands that send migrants and
are reset, children of 3 KB that differ from their parents in a few lines, long lineages, failures, duplicates, and
answers that could not be read. Two runs of equal length and seed are equal in all but their times.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from heapq import nlargest
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import program_text
from evolve.evaluation import Evaluation, Outcome
from evolve.event_types import (
    BestImproved,
    CandidateDuplicate,
    EventData,
    IndividualInserted,
    IslandMigrated,
    IslandReset,
    RunFinished,
    RunStarted,
)
from evolve.events import Event, Subject
from evolve.identity import candidate_id, proposal_id
from evolve.payloads import (
    describe_candidate,
    describe_completion,
    describe_outcome,
    describe_proposal,
    describe_rejection,
)
from evolve.program import Program
from evolve.proposal import Candidate, CompletedReply, Individual, Message, Prompt, Proposal, Usage
from evolve.search.scoring import CandidateScorer
from service.ports import LoggedEvent, RunLog
from service.usecases.plan import RunOrder, new_run, plan_new

PROBLEM = """
schema = 1
name = "landscape"
description = "A function of two numbers that is accurate, fast and short, as far as one can be all of these."
seeds = ["program.py"]

[evaluator]
file = "evaluator.py"
entry = "value"

[[objectives]]
name = "accuracy"
low = 0
high = 1

[[objectives]]
name = "milliseconds"
direction = "minimize"
low = 0
high = 100

[[objectives]]
name = "length"
direction = "minimize"
low = 0
high = 6000

[[measures]]
name = "terms"
bins = 20
low = 0
high = 100

[[measures]]
name = "depth"
bins = 12
low = 0
high = 12
"""
EVALUATOR = "def score(outputs, program):\n    return {}\n"
ISLANDS, ANSWERS, DRAWN = 6, 4, 6
FARTHEST = 1.2  # from where all three objectives are worst
MIGRATION_INTERVAL, MIGRANTS, RESET_INTERVAL = 200, 3, 4_000
BATCH = 5_000
LEASE_SECONDS = 24 * 3600.0
STEP_SECONDS = 0.05
REJECTED, DUPLICATE = 0.03, 0.06
OUTCOMES = {
    Outcome.OK: (0.82, ""),
    Outcome.INVALID: (0.06, "the score accuracy is missing"),
    Outcome.ERROR: (0.07, "ZeroDivisionError: division by zero"),
    Outcome.TIMEOUT: (0.03, "it ran longer than 20 seconds"),
    Outcome.MEMORY: (0.02, "it needed more than 1024 MB"),
}
OPERATORS = {"mutate": 0.7, "crossover": 0.2, "repair": 0.05, "simplify": 0.05}
CHANGED_LINES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """What of an individual its children need: its lines, and where in the landscape it stands."""

    individual: Individual
    lines: tuple[str, ...]
    place: np.ndarray[Any, np.dtype[np.float64]]

    @property
    def id(self) -> str:
        return self.individual.candidate_id

    @property
    def fitness(self) -> float:
        assert self.individual.fitness is not None
        return self.individual.fitness


@dataclass
class Isle:
    """An island: the grid of the fittest of each kind."""

    cells: dict[tuple[int, int], Member] = field(default_factory=dict)
    evaluated: int = 0


@dataclass
class Teller:
    """Gives events their numbers and times, and the log many of them at once."""

    log: RunLog
    run_id: str
    fence: int
    at: datetime
    sequence: int = 1
    told: list[LoggedEvent] = field(default_factory=list)

    def tell(self, data: EventData, subject: Subject | None = None) -> None:
        self.sequence += 1
        self.at += timedelta(seconds=STEP_SECONDS)
        logged = LoggedEvent(run_id=self.run_id, sequence=self.sequence, at=self.at, event=Event(data, subject))
        self.told.append(logged)

    def commit(self) -> None:
        self.log.append(self.run_id, self.fence, self.told)
        self.told = []


def write_run(log: RunLog, folder: Path, programs: int, seed: int = 0) -> str:
    """Write a run with so many candidates that has ended, and return its id.

    Args:
        folder: where the problem's files are put first; empty.
    """
    telling = begin_run(log, folder, programs, seed, datetime.now(UTC) - timedelta(days=1))
    telling.end()
    return telling.teller.run_id


def begin_run(log: RunLog, folder: Path, programs: int, seed: int, began: datetime) -> "Telling":
    """Write a run with so many candidates that is still at work, and that no service takes over.

    Args:
        folder: where the problem's files are put first; empty.
        began: when the run was started.
    """
    for name, text in (("problem.toml", PROBLEM), ("program.py", program_text(0)), ("evaluator.py", EVALUATOR)):
        (folder / name).write_text(text)
    plan = plan_new(RunOrder(problem=folder, flags={"islands": ISLANDS, "seed": seed}), folder, began)
    record = replace(new_run(plan, "strong", began), id=f"run_{seed:08x}{programs:024x}", owner="benchmark")
    log.create(record)
    fence = log.take(record.id, "benchmark", LEASE_SECONDS)
    teller = Teller(log, record.id, fence, began)
    telling = Telling(teller, CandidateScorer(plan.problem, plan.config), np.random.default_rng(seed))
    telling.begin()
    telling.tell_until(programs)
    return telling


class Telling:
    """Makes up a run, proposal by proposal.

    Attributes:
        answered: called after each answer.
    """

    def __init__(self, teller: Teller, scorer: CandidateScorer, rng: np.random.Generator) -> None:
        self.teller, self.scorer, self.rng = teller, scorer, rng
        self.answered: Callable[[], None] = lambda: None
        self.isles = [Isle() for _ in range(ISLANDS)]
        self.best: Member | None = None
        self.created = 0
        self.proposals = 0

    def begin(self) -> None:
        """Tell the start of the run, and its seed on every island."""
        self.teller.tell(RunStarted(by="benchmark"))
        seed = self._seed()
        for isle in range(ISLANDS):
            self._insert(seed, isle)

    def tell_until(self, programs: int) -> None:
        """Tell proposals until the run has so many candidates."""
        while self.created < programs:
            self.proposals += 1
            self._propose(self.proposals, min(ANSWERS, programs - self.created))
            if len(self.teller.told) >= BATCH:
                self.teller.commit()
        self.teller.commit()

    def end(self) -> None:
        """Tell that the run has ended."""
        assert self.best is not None
        self.teller.tell(RunFinished(reason="evaluations", candidate_id=self.best.id, fitness=self.best.fitness))
        self.teller.commit()
        self.teller.log.release(self.teller.run_id, self.teller.fence)

    def _seed(self) -> Member:
        lines = tuple(program_text(0).splitlines())
        candidate = self._candidate(0, 0, 0, lines, ())
        member = self._evaluated(candidate, lines, np.full(3, 0.3), Outcome.OK)
        assert member is not None
        return member

    def _propose(self, number: int, answers: int) -> None:
        island = number % ISLANDS
        operator = str(self.rng.choice(list(OPERATORS), p=list(OPERATORS.values())))
        parent, *others = self._drawn(island, 3 if operator == "crossover" else 2)
        proposal = Proposal(
            id=proposal_id(self.teller.run_id, number),
            number=number,
            island=island,
            operator=operator,
            parent=parent.individual,
            inspirations=tuple(other.individual for other in others if other is not parent),
            selection="dirichlet",
            weights=tuple(float(weight) for weight in self.rng.dirichlet(np.ones(3)).round(6)),
            policy=("vpo", "syntax")[number % 5 == 0],
            seed=number,
            answers=ANSWERS,
            limit=answers,
        )
        self.teller.tell(describe_proposal(proposal), proposal)
        texts = []
        for position in range(answers):
            texts.append(self._answer(proposal, parent, position))
            self.answered()
        self._complete(proposal, parent, texts)

    def _drawn(self, island: int, count: int) -> list[Member]:
        """Members of an island, each the best of a few under weights of its own."""
        there = list(self.isles[island].cells.values())
        weights = self.rng.dirichlet(np.ones(3), count)
        few = self.rng.integers(len(there), size=(count, DRAWN))
        return [
            there[max(row, key=lambda one: float(there[one].place @ under))]
            for row, under in zip(few, weights, strict=True)
        ]

    def _answer(self, proposal: Proposal, parent: Member, position: int) -> str:
        """Tell what became of one answer, and return its text."""
        self.created += 1
        roles = ((parent.id, "parent"), *((other.candidate_id, "inspiration") for other in proposal.inspirations))
        if self.rng.random() < REJECTED:
            reason = "the answer holds no program"
            self.teller.tell(describe_rejection(self.teller.run_id, proposal, position, roles, reason))
            return "I would make the terms fewer."
        lines = self._changed(parent.lines)
        candidate = self._candidate(proposal.number, position, proposal.island, lines, roles)
        if self.rng.random() < DUPLICATE:
            self.teller.tell(CandidateDuplicate(candidate_id=candidate.id, of=parent.id))
            return candidate.program.text
        self._evaluate(candidate, parent, lines)
        return candidate.program.text

    def _changed(self, lines: tuple[str, ...]) -> tuple[str, ...]:
        changed = list(lines)
        for line in self.rng.integers(2, len(lines) - 1, CHANGED_LINES):
            changed[line] = f"    total += {self.rng.random():.6f} * x ** {self.rng.integers(9)} - y / {line + 1}.0"
        return tuple(changed)

    def _candidate(
        self, number: int, position: int, island: int, lines: Sequence[str], parents: tuple[tuple[str, str], ...]
    ) -> Candidate:
        program = Program.of({"program.py": "\n".join(lines) + "\n"})
        candidate = Candidate(
            id=candidate_id(self.teller.run_id, number, position),
            proposal_number=number,
            position=position,
            island=island,
            program=program,
            fingerprint=program.id.removeprefix("pgm_"),
            parents=parents,
        )
        self.teller.tell(describe_candidate(candidate), candidate)
        return candidate

    def _evaluate(self, candidate: Candidate, parent: Member, lines: tuple[str, ...]) -> None:
        outcome = self.rng.choice(list(OUTCOMES), p=[share for share, _ in OUTCOMES.values()])
        # What one objective gains another loses, and the nearer to the best, the smaller the steps.
        way = np.abs(parent.place + self.rng.normal(0.0, 0.05, 3))
        reached = float(np.linalg.norm(parent.place))
        reached += (FARTHEST - reached) * float(self.rng.normal(-0.04, 0.05))
        place = np.clip(way * reached / np.linalg.norm(way), 0.0, 1.0)
        member = self._evaluated(candidate, lines, place, Outcome(outcome))
        isle = self.isles[candidate.island]
        isle.evaluated += 1
        if member is not None:
            self._insert(member, candidate.island)
        self._migrate(candidate.island)
        self._reset(candidate.island)

    def _evaluated(
        self, candidate: Candidate, lines: tuple[str, ...], place: "np.ndarray[Any, Any]", outcome: Outcome
    ) -> Member | None:
        accurate, fast, short = (round(float(value), 6) for value in place)
        scores = {"accuracy": accurate, "milliseconds": 100 * (1 - fast), "length": 6000 * (1 - short)}
        measures = {"terms": round(100 * abs(accurate - short), 3), "depth": round(12 * fast * (1 - 0.5 * short), 3)}
        ok = outcome is Outcome.OK
        evaluation = Evaluation(
            outcome=outcome,
            reason=OUTCOMES[outcome][1],
            scores=scores if ok else {},
            measures=measures if ok else {},
            feedback=f"The largest error is at x = {accurate}, y = {fast}.",
            seconds=round(float(self.rng.gamma(2.0, 0.2)), 4),
            worker=f"worker-{candidate.proposal_number % 4}",
            isolation="strong/separate",
        )
        individual = self.scorer.individual(candidate, evaluation)
        self.teller.tell(describe_outcome(individual), individual)
        if not ok:
            return None
        member = Member(individual=individual, lines=lines, place=place)
        if self.best is None or member.fitness > self.best.fitness:
            self.best = member
            self.teller.tell(BestImproved(candidate_id=member.id, fitness=member.fitness, objective=None))
        return member

    def _insert(self, member: Member, island: int) -> None:
        isle, measures = self.isles[island], member.individual.measures
        cell = int(measures["terms"] / 5), int(measures["depth"])
        held = isle.cells.get(cell)
        status = "new_cell" if held is None else "improved" if member.fitness > held.fitness else "dominated"
        displaced = (held.id,) if held is not None and status == "improved" else ()
        if status != "dominated":
            isle.cells[cell] = member
        self.teller.tell(IndividualInserted(candidate_id=member.id, island=island, status=status, displaced=displaced))

    def _migrate(self, island: int) -> None:
        isle, target = self.isles[island], (island + 1) % ISLANDS
        if isle.evaluated % MIGRATION_INTERVAL:
            return
        there = {member.id for member in self.isles[target].cells.values()}
        fittest = nlargest(MIGRANTS, isle.cells.values(), key=attrgetter("fitness"))
        leaving = [member for member in fittest if member.id not in there]
        if leaving:
            ids = tuple(member.id for member in leaving)
            self.teller.tell(IslandMigrated(from_=island, to=target, candidate_ids=ids))
            for member in leaving:
                self._insert(member, target)

    def _reset(self, island: int) -> None:
        isle = self.isles[island]
        if isle.evaluated % RESET_INTERVAL or self.best is None:
            return
        displaced = tuple(member.id for member in isle.cells.values())
        self.teller.tell(IslandReset(island=island, survivor=self.best.id, displaced=displaced))
        isle.cells = {}
        self._insert(self.best, island)

    def _complete(self, proposal: Proposal, parent: Member, texts: Sequence[str]) -> None:
        parts = ("Make the function better.\n", parent.individual.program.text)
        usage = Usage(input=1_800, cached=900, output=sum(map(len, texts)) // 4)
        completed = CompletedReply(
            completions=("\n".join(f"<answer_{n}>\n{text}</answer_{n}>" for n, text in enumerate(texts, 1)),),
            finish_reasons=("stop",),
            prompt=Prompt(messages=(Message(role="user", parts=parts),), tokens=usage.input),
            usage=usage,
            seconds=round(float(self.rng.gamma(4.0, 1.0)), 3),
        )
        self.teller.tell(describe_completion(proposal.number, len(texts), completed, {}), completed)
