"""What a run is created from, what is stored of it, and the events of its log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from evolve.events import Event, EventKind
from evolve.version import SCHEMA
from service.timestamps import rfc3339

DEFAULT_TENANT = "default"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bundle:
    """A problem's folder as one value: a reproducible tar.gz, and the SHA-256 over the sorted paths and contents."""

    hash: str
    content: bytes = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRun:
    """What a run is created from.

    Attributes:
        config: the run configuration as JSON, complete.
        document: what the problem's files say, for a version of the problem that is not stored yet.
        fork_of: candidate of another run whose program is the seed.
        owner: who drives it from the beginning and will take its lease at once; empty: whoever finds it.
        policies: name, kind, address and model of each policy; never a key.
        created_by: name of the key that it was submitted with; empty: of none.
        source: where the problem's folder lay, for people.
        limits: each limit of the budget, with `limit` and `from`: where it was set.
    """

    id: str
    problem_name: str
    bundle: Bundle
    config: Mapping[str, Any]
    policies: Sequence[Mapping[str, Any]]
    seed: int
    integrity: str
    isolation: str
    objectives: Sequence[Mapping[str, Any]]
    known_best: float | None
    source: str
    created_at: datetime
    tenant: str = DEFAULT_TENANT
    measures: Sequence[Mapping[str, Any]] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    batch_id: str = ""
    fork_of: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)
    owner: str = ""
    created_by: str = ""
    limits: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoggedEvent:
    """An event in the log of a run: sequence numbers are dense from 1."""

    run_id: str
    sequence: int
    at: datetime
    event: Event

    def as_json(self) -> dict[str, Any]:
        """The event as it is shown, streamed and exported, without texts that quote programs."""
        payload = self.event.payload
        if self.event.kind is EventKind.INSIGHTS_WRITTEN:
            payload = {key: value for key, value in payload.items() if key != "text"}
        return {
            "schema": SCHEMA,
            "run_id": self.run_id,
            "sequence": self.sequence,
            "kind": str(self.event.kind),
            "at": rfc3339(self.at),
            **payload,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Counters:
    """Running totals of a run, a fold of its events.

    Attributes:
        cost: of the policies' tokens, an exact decimal with its currency; None: some of it is not known.
    """

    proposals: int = 0
    answers: int = 0
    evaluations: int = 0
    valid: int = 0
    failed: int = 0
    duplicates: int = 0
    rejected: int = 0
    tokens_input: int = 0
    tokens_cached: int = 0
    tokens_output: int = 0
    cost: str | None = "0"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run as stored. `sequence` is that of its last event.

    Attributes:
        revision: how often front doors wrote to it.
        fork_of: candidate of another run whose program is the seed; empty: it is no fork.
        desired_budget: keys of the budget whose wanted values no runner has taken up yet.
        failure: of a run that failed, one sentence with the cause and the cure; empty: the reason says it all.
    """

    id: str
    tenant: str
    problem_name: str
    bundle_hash: str
    state: str
    desired_state: str
    waiting: Mapping[str, Any] | None
    reason: str
    config: Mapping[str, Any]
    policies: Sequence[Mapping[str, Any]]
    seed: int
    integrity: str
    isolation: str
    objectives: Sequence[Mapping[str, Any]]
    known_best: float | None
    source: str
    best_candidate_id: str | None
    best_fitness: float | None
    seed_fitness: float | None
    counters: Counters
    sequence: int
    active_seconds: float
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    paused_at: datetime | None = None
    problem_id: str = ""
    measures: Sequence[Mapping[str, Any]] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    batch_id: str = ""
    fork_of: str = ""
    revision: int = 0
    desired_budget: Mapping[str, Any] = field(default_factory=dict)
    created_by: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyHealth:
    """How the server of a run's policy fares, as the run's runner saw it last.

    Attributes:
        at: when it was told.
        breaker: closed, open or half_open: whether calls go out.
        retry_seconds: how long none goes out, from then.
        reachable: whether it answered when it was asked for its queue; None: it was not asked.
        running, waiting: requests there, everybody's; None: it does not say.
        calls, in_flight: calls at once that suit it, and those that the run has there.
    """

    run_id: str
    policy: str
    at: datetime
    breaker: str
    retry_seconds: float
    reachable: bool | None
    running: float | None
    waiting: float | None
    calls: int
    in_flight: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ParentEdge:
    """One edge of the lineage. Role: parent, crossover or inspiration."""

    candidate_id: str
    role: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateRecord:
    """A candidate as stored, without its source text.

    Attributes:
        status: pending, evaluating, evaluated, duplicate or rejected.
        islands: islands whose archive holds it now.
        duplicate_of: the candidate of the same program that came first; None: it is none of these.
        rewards: reward vector, larger is better; None: it has none.
        repeats: how often it was scored; 0: not at all, or not known.
        answer: what it answers, equal texts for equal answers; None: nothing that can be compared.
        changed: `constants`, `structure` or `both` of its parent; empty: a seed, or not known.
        view_type: media type of its view; empty: it cannot be shown; None: it has none, or none yet.
        view_on_demand: whether its view is not drawn yet, and can be requested.
        view_reason: why it cannot be shown, in one sentence.
    """

    id: str
    run_id: str
    proposal_number: int
    position: int
    island: int
    operator: str
    policy: str
    status: str
    reason: str
    program_id: str | None
    parents: Sequence[ParentEdge]
    outcome: str | None
    fitness: float | None
    scores: Mapping[str, float]
    measures: Mapping[str, float]
    cases: Mapping[str, float]
    spread: Mapping[str, float]
    feedback: str
    seconds: float | None
    isolation: str
    islands: Sequence[int]
    created_at: datetime
    evaluated_at: datetime | None
    duplicate_of: str | None = None
    rewards: Sequence[float] | None = None
    repeats: int = 0
    answer: str | None = None
    changed: str = ""
    view_type: str | None = None
    view_reason: str = ""
    view_on_demand: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRecord:
    """A proposal as stored: what was asked, what came back, what it cost.

    Attributes:
        charges: as its last event tells them.
        form: how the policy was asked to write, as an event tells it; None: in its own way.
    """

    id: str
    run_id: str
    number: int
    island: int
    operator: str
    probability: float
    selection: str
    weights: Sequence[float]
    rationale: Mapping[str, Any]
    policy: str
    state: str
    reason: str
    prompt: Sequence[Mapping[str, str]]
    completions: Sequence[str]
    finish_reasons: Sequence[str]
    dropped: Sequence[Mapping[str, Any]]
    tokens_input: int
    tokens_cached: int
    tokens_output: int
    cost: str | None
    seconds: float | None
    created_at: datetime
    answered_at: datetime | None
    charges: Sequence[Mapping[str, Any]] = ()
    reasoning: Sequence[str] = ()
    form: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationRecord:
    """One attempt at scoring a candidate, as stored. `repeats`: how often it was scored; 0: not known."""

    candidate_id: str
    attempt: int
    outcome: str
    reason: str
    scores: Mapping[str, float]
    measures: Mapping[str, float]
    cases: Mapping[str, float]
    spread: Mapping[str, float]
    feedback: str
    seconds: float
    worker: str
    isolation: str
    at: datetime
    repeats: int = 0
    answer: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MembershipRecord:
    """A candidate in an island's archive, from the event `since` until the event `until`; None: it is there."""

    candidate_id: str
    island: int
    since: int
    until: int | None
    fitness: float | None


class ScoredCandidate(NamedTuple):
    """What curves, fronts and grids are drawn from: a candidate in one line, without texts.

    A tuple, for there are 100,000 of them in a run.

    Attributes:
        sequence: of the event that first scored it.
        parent_id: its first parent, in crossover too; None: it has none.
        rewards: reward vector, larger is better; None: it has none.
        scores: as the evaluator named them.
        grid_measures: values on the axes of the grid.
        seconds: that the evaluation took.
        at: when it was first evaluated.
    """

    sequence: int
    candidate_id: str
    proposal_number: int
    position: int
    island: int
    parent_id: str | None
    operator: str
    policy: str
    outcome: str
    fitness: float | None
    rewards: Sequence[float] | None
    scores: Mapping[str, float]
    grid_measures: Mapping[str, float]
    seconds: float
    at: datetime


class OutcomeCount(NamedTuple):
    """How often answers of a run came to one end for one reason.

    Attributes:
        outcome: of the evaluation; else `rejected` or `duplicate` (the answer was not evaluated), `unreadable` (no
            answer in a part of a completion), or `unanswered` (a proposal that failed).
        reason: as it was told, its first characters; empty for `ok` and `duplicate`.
        seconds: that the evaluations took together.
    """

    outcome: str
    reason: str
    times: int
    seconds: float


class FrontMember(NamedTuple):
    """A member of a front: a candidate, its fitness and its reward vector, larger is better."""

    candidate_id: str
    proposal_number: int
    position: int
    fitness: float
    rewards: Sequence[float]
