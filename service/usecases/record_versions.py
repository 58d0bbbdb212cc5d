"""The versions of another loop as a run with lineage; nothing of them is run."""

import math
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from evolve.errors import ProgramError
from evolve.evaluation import Evaluation, Outcome
from evolve.event_types import BestImproved, EventData, IndividualInserted, RunFinished, RunStarted
from evolve.events import Event, Subject
from evolve.identity import candidate_id, digest, proposal_id
from evolve.payloads import describe_candidate, describe_completion, describe_outcome, describe_proposal
from evolve.problem import Objective
from evolve.program import Program
from evolve.proposal import Candidate, CompletedReply, Individual, Prompt, Proposal, Usage
from evolve.similarity.changed_parts import changed_parts
from service.errors import UsageError
from service.identifiers import new_id
from service.ports import LoggedEvent, Storage
from service.problems.init import write_problem
from service.problems.load import load_problem
from service.problems.observed_versions import ObservedVersion
from service.problems.toml_writer import toml_text
from service.process.identity import this_process
from service.projections.continuation import RECORDED
from service.usecases.plan import RunOrder, plan_loaded, record_of

LEASE_SECONDS = 86_400.0
ISOLATION = "none"
AUTHOR, OPERATOR = "observed", "mutate"
SEEDS, EVALUATOR = "program", "evaluator.py"
_EVALUATOR = '''\
"""Stands for the loop that this run was recorded from."""


def score(outputs, program):
    return {"error": "this run was recorded from another loop: start a run of your own from its programs"}
'''


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordOrder:
    """How versions are recorded.

    Attributes:
        name: of the problem.
        objective: the score that decides.
        source: where the versions come from, for people.
    """

    name: str
    objective: Objective
    source: str
    labels: dict[str, str] = field(default_factory=dict)


def record_versions(storage: Storage, order: RecordOrder, versions: Iterable[ObservedVersion]) -> str:
    """Record versions as they come, and return the id of their run.

    A version without a known parent is a seed. The run ends with the last version, or with an interruption.

    Raises:
        UsageError: there is no version, or none has the score.
    """
    coming = iter(versions)
    first = next(coming, None)
    if first is None:
        raise UsageError(
            "there is no version to record: a folder needs files, and a commit needs a line such as loss: 1.5 in its"
            " message, or an entry in --scores. --path names files that the commits have"
        )
    recording = _Recording(storage, order, first)
    try:
        recording.add(first)
        for version in coming:
            recording.add(version)
    finally:
        recording.finish()
    return recording.run_id


def _program_of(version: ObservedVersion) -> Program:
    try:
        return Program.of(dict(version.files))
    except ProgramError as error:
        raise UsageError(
            f"the version {version.name[:60]} is not a program: {error}: name the files of your program with --path"
        ) from error


class _Recording:
    """A run that is being recorded: its log, and the candidates so far by the names of their versions."""

    def __init__(self, storage: Storage, order: RecordOrder, first: ObservedVersion) -> None:
        self._storage, self._order = storage, order
        now = storage.clock.now()
        self.run_id = new_id("run", now)
        self._sequence, self._proposals, self._roots = 1, 0, 0
        self._known: dict[str, Individual] = {}
        self._best: float | None = None
        self._best_id: str | None = None
        with tempfile.TemporaryDirectory(prefix="evolve-") as scratch:
            folder = Path(scratch) / "problem"
            write_problem(folder, _problem_files(order, _program_of(first)))
            plan = plan_loaded(RunOrder(problem=folder, labels=order.labels), load_problem(folder), self.run_id)
        new = replace(
            record_of(plan, ISOLATION, now),
            owner=this_process(),
            policies=[{"name": AUTHOR, "kind": "function"}],
            source=order.source,
        )
        storage.log.create(new)
        self._fence = storage.log.take(self.run_id, new.owner, LEASE_SECONDS)
        self._append([(RunStarted(by=AUTHOR), None)], now)

    def add(self, version: ObservedVersion) -> None:
        """Record one version."""
        program = _program_of(version)
        parents = [self._known[name] for name in version.parents if name in self._known]
        number, position = (self._proposals + 1, 0) if parents else (0, self._roots)
        identity = candidate_id(self.run_id, number, position)
        individual = self._individual(version, program, identity)
        events: list[tuple[EventData, Subject | None]] = []
        if parents:
            self._proposals += 1
            proposal = self._proposal(number, version, parents)
            events.append((describe_proposal(proposal), proposal))
        else:
            self._roots += 1
        roles = [(one.candidate_id, "parent" if index == 0 else "crossover") for index, one in enumerate(parents)]
        candidate = Candidate(
            id=identity,
            proposal_number=number,
            position=position,
            island=0,
            program=program,
            fingerprint=digest(program.id),
            parents=tuple(roles),
            changed=changed_parts(parents[0].program, program) if parents else "",
        )
        events.append((describe_candidate(candidate), candidate))
        if parents:
            reply = CompletedReply(
                completions=(), finish_reasons=(), prompt=Prompt(messages=(), tokens=0), dropped=(), usage=Usage()
            )
            events.append((describe_completion(number, 1, reply, {}), reply))
        events.append((describe_outcome(individual), individual))
        events += self._placed(individual)
        self._known[version.name] = individual
        self._append(events, version.at or self._storage.clock.now())

    def finish(self) -> None:
        """End the run, and give its lease back."""
        ended = RunFinished(reason=RECORDED, candidate_id=self._best_id, fitness=self._best)
        self._append([(ended, None)], self._storage.clock.now())
        self._storage.log.release(self.run_id, self._fence)

    def _individual(self, version: ObservedVersion, program: Program, identity: str) -> Individual:
        name = self._order.objective.name
        scores = {word or name: value for word, value in version.scores.items() if math.isfinite(value)}
        value = scores.get(name)
        fitness = None if value is None else self._order.objective.sign * value
        reason = "" if fitness is not None else version.reason or f"it has no score {name}"
        evaluation = Evaluation(
            outcome=Outcome.ERROR if fitness is None else Outcome.OK,
            reason=reason,
            scores=scores if fitness is not None else {},
            isolation=ISOLATION,
            worker=AUTHOR,
        )
        vector = () if fitness is None else (fitness,)
        return Individual(
            candidate_id=identity,
            program=program,
            evaluation=evaluation,
            fitness=fitness,
            rewards=vector,
            signed_scores=vector,
            measures={},
        )

    def _proposal(self, number: int, version: ObservedVersion, parents: list[Individual]) -> Proposal:
        return Proposal(
            id=proposal_id(self.run_id, number),
            number=number,
            island=0,
            operator="crossover" if len(parents) > 1 else OPERATOR,
            parent=parents[0],
            second_parent=parents[1] if len(parents) > 1 else None,
            policy=version.author or AUTHOR,
        )

    def _placed(self, individual: Individual) -> list[tuple[EventData, Subject | None]]:
        if individual.fitness is None:
            return []
        events: list[tuple[EventData, Subject | None]] = [
            (
                IndividualInserted(candidate_id=individual.candidate_id, island=0, status="added", displaced=()),
                None,
            )
        ]
        if self._best is None or individual.fitness > self._best:
            self._best, self._best_id = individual.fitness, individual.candidate_id
            improved = BestImproved(candidate_id=individual.candidate_id, fitness=individual.fitness, objective=None)
            events.append((improved, None))
        return events

    def _append(self, events: list[tuple[EventData, Subject | None]], at: datetime) -> None:
        logged = []
        for data, subject in events:
            self._sequence += 1
            logged.append(LoggedEvent(run_id=self.run_id, sequence=self._sequence, at=at, event=Event(data, subject)))
        self._storage.log.append(self.run_id, self._fence, logged)


def _problem_files(order: RecordOrder, seed: Program) -> dict[str, str]:
    main = seed.files[0][0]
    document = {
        "schema": 1,
        "name": order.name,
        "description": f"Versions of another loop, recorded from {order.source}.",
        "seeds": [main if seed.single else SEEDS],
        **({} if seed.single else {"main": main}),
    }
    objective = {"name": order.objective.name, "direction": str(order.objective.direction)}
    text = f"{toml_text(document)}\n[evaluator]\n{toml_text({'file': EVALUATOR, 'text': True})}"
    text += f"\n[[objectives]]\n{toml_text(objective)}"
    files = {path if seed.single else f"{SEEDS}/{path}": content for path, content in seed.files}
    return {"problem.toml": text, EVALUATOR: _EVALUATOR, **files}
