"""A toy world for searches: programs are `x = NUMBER`, the best x is 3, and things come back in any order."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from zlib import crc32

import numpy as np

from evolve.configuration import RunConfig
from evolve.evaluation import Evaluation, Outcome, read_result
from evolve.events import Event
from evolve.problem import EvaluatorSpec, Limits, Measure, Objective, Problem
from evolve.program import Program
from evolve.proposal import Answer, Candidate, CompletedReply, Individual, Proposal, RejectedText, Usage
from evolve.search.deterministic_schedule import DeterministicSchedule, open_search
from evolve.search.ensemble import PolicyRequest
from evolve.search.members_on_demand import show
from evolve.search.search import Search, SearchStep
from evolve.search.state import SearchState
from evolve.search.unloaded import unloaded_in

BUSY = 6
ASKING = PolicyRequest(policy="toy", answers=3, samples=2)
TEAM = (ASKING, PolicyRequest(policy="rare", answers=2, samples=1, weight=0.5))
TUNED = (ASKING, PolicyRequest(policy="tuner", answers=4, tunes=True))


def program(x: float) -> Program:
    return Program.of({"x.py": f"x = {x!r}\n"})


def toy_problem(*, several: bool = False, seeds: Sequence[float] = (0.0,), target: float | None = None) -> Problem:
    closeness = Objective(name="closeness", low=-100.0, high=0.0, target=target)
    smallness = Objective(name="smallness", low=0.0, high=1.0)
    return Problem(
        name="toy",
        seeds=tuple(program(x) for x in seeds),
        evaluator=EvaluatorSpec(entry="x"),
        limits=Limits(),
        objectives=(closeness, smallness) if several else (closeness,),
        measures=(Measure(name="magnitude", bins=8),),
    )


def value_of(program: Program) -> float:
    found = re.search(r"x = (\S+)", program.text)
    assert found
    return float(found[1])


def score(problem: Problem, program: Program) -> Evaluation:
    x = value_of(program)
    if round(abs(x) * 100) % 7 == 3:
        return Evaluation(outcome=Outcome.ERROR, reason=f"ValueError: {x} is unlucky")
    raw = {"closeness": -((x - 3) ** 2), "smallness": 1 / (1 + abs(x)), "magnitude": abs(x)}
    cases = {f"near {place}": max(0.0, 1 - abs(x - place) / 4) for place in range(6)}
    return read_result({**raw, "cases": cases}, problem)


def answers(proposal: Proposal) -> list[Answer]:
    """What the toy policy answers: a pure function of the proposal, some answers broken, some repeated."""
    # A tuner answers by what came of its answers.
    learned = [crc32(repr(proposal.tuning.generations).encode())] if proposal.tuning else []
    rng = np.random.default_rng([proposal.seed, *learned])
    parent = value_of(proposal.parent.program)
    replies = []
    for chain in range(proposal.samples):
        for index in range(proposal.answers):
            if chain * proposal.answers + index >= proposal.limit:
                break
            step = round(float(rng.normal()), 2 if rng.random() < 0.8 else 0)
            text = "x = (\n" if rng.random() < 0.1 else f"x = {round(parent + step, 2)!r}\n"
            replies.append(Answer(chain=chain, index=index, text=text))
    return replies


@dataclass
class World:
    """Policy and evaluator at once: what is sent comes back in an order that `choose` decides.

    Attributes:
        evaluated: ids of the candidates that were scored, in order.
        log: every event the search gave.
        faulty: whether proposals are refused, dropped and answered by their parent too, by their seeds.
        boundaries: lengths of the log at which a commit may have been the last: steps are committed whole.
        earlier: individuals of a run that was resumed on demand, for the proposals that show them.
    """

    problem: Problem
    choose: Callable[[int], int] = lambda _: 0
    faulty: bool = False
    log: list[Event] = field(default_factory=list)
    boundaries: list[int] = field(default_factory=lambda: [0])
    evaluated: list[str] = field(default_factory=list)
    individuals: dict[str, Individual] = field(default_factory=dict)
    candidates: dict[str, Candidate] = field(default_factory=dict)
    earlier: Mapping[str, Individual] = field(default_factory=dict)
    _arrivals: list[Callable[[], SearchStep]] = field(default_factory=list)

    def play(self, search: Search | DeterministicSchedule, begin: SearchStep) -> str | None:
        """Drive a search to its end; why it ended."""
        self._send(search, begin)
        while (reason := search.ended()) is None:
            busy = isinstance(search, Search) and len(self._arrivals) >= BUSY
            step = SearchStep() if busy else search.ask()
            self._send(search, step)
            if step.proposals:
                continue
            if not self._arrivals:
                raise AssertionError("the search waits for nothing")
            self._send(search, self._arrivals.pop(self.choose(len(self._arrivals)))())
        self._send(search, search.close())
        return reason

    def _send(self, search: Search | DeterministicSchedule, step: SearchStep) -> None:
        self.log += step.events
        self.boundaries.append(len(self.log))
        for event in step.events:
            if isinstance(event.subject, Individual):
                self.individuals[event.subject.candidate_id] = event.subject
            if isinstance(event.subject, Candidate):
                self.candidates[event.subject.id] = event.subject
        for candidate in step.candidates:
            self._arrivals.append(lambda candidate=candidate: self._score(search, candidate))  # type: ignore[misc]
        for proposal in step.proposals:
            self._arrivals.append(lambda proposal=proposal: self._reply(search, proposal))  # type: ignore[misc]

    def _score(self, search: Search | DeterministicSchedule, candidate: Candidate) -> SearchStep:
        self.evaluated.append(candidate.id)
        return search.tell(candidate.id, score(self.problem, candidate.program))

    def _reply(self, search: Search | DeterministicSchedule, proposal: Proposal) -> SearchStep:
        proposal = brought(search.state, proposal, self.earlier)
        fault = proposal.seed % 8 if self.faulty else 0
        if fault == 1:
            return search.fail(proposal.number, f"refused {proposal.seed % 16}")
        replies = [] if fault == 2 else answers(proposal)
        if fault == 3:
            replies = [replace(reply, text=proposal.parent.program.text) for reply in replies]
        steps = [search.answer(proposal.number, answer) for answer in replies]
        completed = CompletedReply(
            completions=("toy",) * proposal.samples,
            usage=Usage(input=10, output=5),
            dropped=(RejectedText(chain=0, reason=f"{proposal.seed} answers without text"),) if fault == 2 else (),
        )
        steps.append(search.complete(proposal.number, completed))
        return SearchStep(
            events=tuple(event for step in steps for event in step.events),
            candidates=tuple(candidate for step in steps for candidate in step.candidates),
            proposals=tuple(proposal for step in steps for proposal in step.proposals),
        )


def new_search(
    problem: Problem, config: RunConfig, askings: Sequence[PolicyRequest] = (ASKING,)
) -> Search | DeterministicSchedule:
    return open_search("run_toy", problem, config, *askings)


def brought(state: SearchState, proposal: Proposal, earlier: Mapping[str, Individual]) -> Proposal:
    """A proposal with the programs that it shows, as a dispatcher brings them before it asks a policy."""
    unloaded = unloaded_in(proposal)
    return show(state, proposal, {one: earlier[one] for one in unloaded}) if unloaded else proposal


def resume(
    world: World, search: Search | DeterministicSchedule, events: Sequence[Event], *, on_demand: bool = False
) -> SearchStep:
    """Replay events into a fresh search, as a restart would; the step it owes."""
    bare = [Event.stored(event.kind, payload=event.payload) for event in events]
    resumed = search.replay(
        bare,
        lambda ids: [world.individuals[i] for i in ids],
        lambda ids: [world.candidates[i] for i in ids],
        on_demand=on_demand,
    )
    if not events:
        return search.start()
    return SearchStep(candidates=resumed.candidates, proposals=resumed.proposals)
