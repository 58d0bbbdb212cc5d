"""Small runs on a real database, driven by the real search with answers and scores written here."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from evolve.configuration import BudgetConfig, InspirationsConfig, RunConfig, SelectionOptions
from evolve.evaluation import Evaluation, Outcome
from evolve.event_types import RunFinished, RunStarted
from evolve.events import Event
from evolve.money import Money
from evolve.problem import Direction, EvaluatorSpec, Objective, Problem
from evolve.program import Program
from evolve.proposal import Answer, CompletedReply, Message, Prompt, Usage
from evolve.search.ensemble import PolicyRequest
from evolve.search.search import Search
from service.db.engine import open_database
from service.db.log import SqlRunLog
from service.ports import Bundle, LoggedEvent, NewRun
from tests.databases import sqlite_file

RUN = "run_01970000-aaaa-7bbb-8ccc-000000000001"
BEGUN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SEED = "def pack():\n    return 1\n"


class FrozenClock:
    """Time that stands still."""

    def now(self) -> datetime:
        return BEGUN

    def monotonic(self) -> float:
        return 0.0


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What a policy answers to one proposal, and what comes of it.

    Attributes:
        scores: of the answer; none: its evaluation fails, with `reason`.
        answer: what the program answers, where it can be compared.
    """

    text: str
    scores: Mapping[str, float] | None = None
    reason: str = ""
    answer: str | None = None


def packing_problem() -> Problem:
    """One objective with a known best."""
    return Problem(
        name="packing",
        seeds=(Program.of({"main.py": SEED}),),
        evaluator=EvaluatorSpec(entry="pack"),
        objectives=(Objective(name="radii"),),
        known_best=4.0,
    )


def shrinking_problem() -> Problem:
    """One objective, and less of it is better."""
    return replace(packing_problem(), objectives=(Objective(name="waste", direction=Direction.MINIMIZE),), known_best=0)


def trade_problem() -> Problem:
    """Two objectives that pull apart."""
    return Problem(
        name="trade",
        seeds=(Program.of({"main.py": SEED}),),
        evaluator=EvaluatorSpec(entry="pack"),
        objectives=(
            Objective(name="accuracy", low=0, high=1),
            Objective(name="delay", direction=Direction.MINIMIZE, low=0, high=10),
        ),
    )


PACKING_REPLIES = (
    Reply(text="def pack():\n    return 2\n", scores={"radii": 2.0}),
    Reply(text="def pack():\n    raise ValueError\n", reason="the program raised ValueError"),
    Reply(text="def pack():\n    return 2\n"),
    Reply(text="def pack():\n    x = 3\n    return x\n", scores={"radii": 3.0}),
)


def record_run(
    url: str,
    problem: Problem,
    replies: Sequence[Reply] = PACKING_REPLIES,
    *,
    seed_scores: Mapping[str, float] | None,
    run_id: str = RUN,
    kind: str = "syntax",
    reason: str = "evaluations",
    cost: Money | None = None,
) -> list[LoggedEvent]:
    """Drive a run with prepared answers and store it; its events."""
    config = RunConfig(
        islands=1,
        budget=BudgetConfig(evaluations=len(replies) + 1),
        inspirations=InspirationsConfig(top=0, diverse=0),
        selection={"power_law": 1.0},
        selection_options=SelectionOptions(power_law_exponent=50.0),
    )
    database = open_database(sqlite_file(Path(url.removeprefix("sqlite:///"))))
    log = SqlRunLog(database, FrozenClock())
    log.create(_new_run(run_id, problem, config, kind))
    fence = log.take(run_id, "test", 60.0)
    script = _Script(run_id)
    script.add(Event(RunStarted(by="default")))
    search = Search(run_id, problem, config, PolicyRequest(policy=kind))
    start = search.start()
    script.add(*start.events)
    script.add(*search.tell(start.candidates[0].id, _evaluation(seed_scores, "")).events)
    for reply in replies:
        _turn(search, script, reply, cost)
    script.add(Event(RunFinished(reason=reason, candidate_id=None, fitness=None)))
    log.append(run_id, fence, script.events)
    log.release(run_id, fence)
    database.close()
    return script.events


class _Script:
    """Events with their sequence numbers, a second apart."""

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.events: list[LoggedEvent] = []

    def add(self, *events: Event) -> None:
        for event in events:
            sequence = len(self.events) + 2
            at = BEGUN + timedelta(seconds=sequence)
            self.events.append(LoggedEvent(run_id=self.run_id, sequence=sequence, at=at, event=event))


def _turn(search: Search, script: _Script, reply: Reply, cost: Money | None) -> None:
    asked = search.ask()
    script.add(*asked.events)
    (proposal,) = asked.proposals
    answered = search.answer(proposal.number, Answer(chain=0, index=0, text=reply.text))
    script.add(*answered.events)
    prompt = Prompt(messages=(Message(role="system", parts=("Improve it.",)), Message(role="user", parts=("Go.",))))
    usage = Usage(input=100, cached=40, output=20)
    completed = CompletedReply(completions=(reply.text,), prompt=prompt, usage=usage, cost=cost)
    script.add(*search.complete(proposal.number, completed).events)
    for candidate in answered.candidates:
        script.add(*search.tell(candidate.id, _evaluation(reply.scores, reply.reason, reply.answer)).events)


def _evaluation(scores: Mapping[str, float] | None, reason: str, answer: str | None = None) -> Evaluation:
    if scores is None:
        return Evaluation(outcome=Outcome.ERROR, reason=reason, seconds=0.01, isolation="strong/separate")
    return Evaluation(
        outcome=Outcome.OK,
        scores=scores,
        seconds=0.01,
        isolation="strong/separate",
        feedback="well done",
        answer=answer,
    )


def _new_run(run_id: str, problem: Problem, config: RunConfig, kind: str) -> NewRun:
    return NewRun(
        id=run_id,
        problem_name=problem.name,
        bundle=Bundle(hash="0" * 64, content=b"folder"),
        config=asdict(config),
        policies=[{"name": kind, "kind": kind}],
        seed=config.seed,
        integrity=str(problem.evaluator.integrity),
        isolation="strong",
        objectives=[asdict(objective) for objective in problem.objectives],
        known_best=problem.known_best,
        source="examples/packing",
        created_at=BEGUN,
    )


def sqlite_url(path: Path) -> str:
    return f"sqlite:///{path}"
