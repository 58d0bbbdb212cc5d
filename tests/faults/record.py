"""What the record must hold when the storm is over: each rule gives a line for everything that breaks it."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from sqlalchemy import Connection, select

from evolve.budget import Account
from evolve.events import EventKind
from evolve.search.deterministic_schedule import DeterministicSchedule, open_search
from evolve.search.ensemble import PolicyRequest
from evolve.search.search import Search
from service.db.models import CandidateRow, EvaluationRow, MembershipRow, ProposalRow, RunRow
from service.db.storage import SqlStorage
from service.ports import CANCELLED, ENDED, Counters, LoggedEvent, RunRecord
from service.projections import count, entered
from service.usecases.plan import plan_stored
from tests.faults.clients import LABEL, Told
from tests.faults.problems import DETERMINISTIC

CLOCK_SECONDS = 1.0
# What a runner takes to hear of a budget whose connection lost its host. It hears of a cancellation with it.
HEARD_SECONDS = 30.0
_RUN_KINDS = {EventKind.RUN_STARTED, EventKind.RUN_RESUMED}
_LAST = {EventKind.RUN_FINISHED, EventKind.RUN_CANCELLED}
Complaints = Iterator[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """All that is stored of a run, and what its clients know of it."""

    told: Told
    record: RunRecord
    fence: int
    events: Sequence[LoggedEvent]
    candidates: Mapping[str, Mapping[str, Any]]
    evaluations: Counter[str]
    lost: int
    proposals: Mapping[int, str]
    members: Sequence[tuple[int, str]]
    search: Search | DeterministicSchedule

    def of(self, *kinds: EventKind) -> list[Mapping[str, Any]]:
        """Payloads of its events of some kinds."""
        return [entry.event.payload for entry in self.events if entry.event.kind in kinds]


def read(storage: SqlStorage, told: Told) -> Run:
    """Read a run, and replay it through a search of its own."""
    record, run_id = storage.reader.run(told.run_id), told.run_id
    events = list(storage.log.events(run_id))
    with storage.database.read() as connection:
        candidates = _candidates(connection, run_id)
        scored = _rows(connection, EvaluationRow, EvaluationRow.candidate_id.in_(list(candidates)))
        proposals = {
            row["number"]: row["state"] for row in _rows(connection, ProposalRow, ProposalRow.run_id == run_id)
        }
        members = select(MembershipRow.island, MembershipRow.candidate_id).where(
            MembershipRow.candidate_id.in_(list(candidates)), MembershipRow.until.is_(None)
        )
        return Run(
            told=told,
            record=record,
            fence=connection.execute(select(RunRow.fence).where(RunRow.id == run_id)).scalar_one(),
            events=events,
            candidates=candidates,
            evaluations=Counter(row["candidate_id"] for row in scored),
            lost=sum(row["outcome"] == "lost" for row in scored),
            proposals=proposals,
            members=sorted((island, candidate) for island, candidate in connection.execute(members)),
            search=_replayed(storage, record, events),
        )


def _candidates(connection: Connection, run_id: str) -> dict[str, Mapping[str, Any]]:
    return {row["id"]: row for row in _rows(connection, CandidateRow, CandidateRow.run_id == run_id)}


def _rows(connection: Connection, table: Any, where: Any) -> list[dict[str, Any]]:
    return [dict(row) for row in connection.execute(select(*table.__table__.c).where(where)).mappings()]


def _replayed(storage: SqlStorage, record: RunRecord, events: Sequence[LoggedEvent]) -> Search | DeterministicSchedule:
    plan = plan_stored(record, storage.log)
    search = open_search(record.id, plan.problem, plan.config, PolicyRequest(policy=plan.policies[0].name))
    search.replay(
        (entry.event for entry in events),
        lambda ids: storage.log.individuals(record.id, ids),
        lambda ids: storage.log.candidates(record.id, ids),
    )
    return search


def sequences(run: Run) -> Complaints:
    """Sequence numbers are dense from 1, times go on, and nothing but a continuation follows an end."""
    numbers = [entry.sequence for entry in run.events]
    if numbers != list(range(1, len(numbers) + 1)) or run.record.sequence != len(numbers):
        yield f"its sequence is not dense: {len(numbers)} events, the last is {numbers[-1]} and {run.record.sequence}"
    for earlier, later in pairwise(run.events):
        if (earlier.at - later.at).total_seconds() > CLOCK_SECONDS:
            yield f"event {later.sequence} is of {later.at}, and the one before it of {earlier.at}"
    following = [entry.event.kind for entry in run.events[1:]] + [None]
    ends = zip(run.events, following, strict=True)
    lasts = [end.sequence for end, after in ends if end.event.kind in _LAST and after is not EventKind.RUN_CONTINUED]
    if lasts != [numbers[-1]]:
        yield f"it ends at {lasts}, and its last event is {numbers[-1]}"


def streams(run: Run) -> Complaints:
    """Who followed it saw every event that is stored, once, as it is stored, and its end."""
    stored = [json.loads(json.dumps(entry.as_json())) for entry in run.events]
    if run.told.seen != stored:
        wrong = next((n for n, pair in enumerate(zip(run.told.seen, stored, strict=False)) if pair[0] != pair[1]), -1)
        yield f"its stream told {len(run.told.seen)} events of {len(stored)}, the first other one is number {wrong + 1}"
    if run.told.end != run.record.state:
        yield f"its stream ended with {run.told.end!r}, and it is {run.record.state}"


def candidates(run: Run) -> Complaints:
    """Each candidate is evaluated once, or is a duplicate, or was rejected; each proposal is answered or has failed."""
    created = Counter(
        payload["candidate_id"] for payload in run.of(EventKind.CANDIDATE_CREATED, EventKind.CANDIDATE_REJECTED)
    )
    settled = {
        "evaluated": Counter(payload["candidate_id"] for payload in run.of(EventKind.CANDIDATE_EVALUATED)),
        "duplicate": Counter(payload["candidate_id"] for payload in run.of(EventKind.CANDIDATE_DUPLICATE)),
        "rejected": Counter(payload["candidate_id"] for payload in run.of(EventKind.CANDIDATE_REJECTED)),
    }
    if set(created) != set(run.candidates) or set(created.values()) > {1}:
        yield f"{len(created)} candidates were proposed, {created.total()} times, and {len(run.candidates)} are stored"
    if sum(settled.values(), Counter()) != created:
        ends = {name: counts.total() for name, counts in settled.items()}
        yield f"of {len(created)} candidates became {ends}, and not each of them one thing once"
    for candidate_id, row in run.candidates.items():
        once = settled.get(row["status"], Counter())[candidate_id] == 1
        if not once or run.evaluations[candidate_id] != (row["status"] == "evaluated"):
            yield f"candidate {candidate_id} is {row['status']}, with {run.evaluations[candidate_id]} evaluations"
    asked = Counter(payload["proposal_number"] for payload in run.of(EventKind.PROPOSAL_CREATED))
    closed = Counter(
        payload["proposal_number"] for payload in run.of(EventKind.PROPOSAL_ANSWERED, EventKind.PROPOSAL_FAILED)
    )
    if asked != closed or list(asked) != list(range(1, len(asked) + 1)) or set(run.proposals) != set(asked):
        yield f"{asked.total()} proposals were asked, and {closed.total()} closed"
    if left := {number: state for number, state in run.proposals.items() if state not in ("answered", "failed")}:
        yield f"proposals are left: {left}"


def archives(run: Run) -> Complaints:
    """Archives, the best and what was used are those that a replay of the events finds."""
    state = run.search.state
    members = sorted((island.number, one.candidate_id) for island in state.islands for one in island.archive.members)
    if members != list(run.members):
        yield f"its archives hold {len(run.members)}, and a replay {len(members)}: {set(members) ^ set(run.members)}"
    best = (state.best.candidate_id, state.best.fitness) if state.best else (None, None)
    if best != (run.record.best_candidate_id, run.record.best_fitness):
        yield f"its best is {run.record.best_candidate_id}, and a replay finds {best[0]}"
    if state.pending or state.open:
        yield f"a replay leaves {len(state.pending)} candidates and {len(state.open)} proposals under way"
    if _used(state.account) != (run.record.counters.evaluations, run.record.counters.answers):
        yield f"it has used {run.record.counters}, and a replay finds {state.account}"


def _used(account: Account) -> tuple[int, int]:
    return account.evaluations, account.answers


def totals(run: Run) -> Complaints:
    """Its state and its counters are the fold of its events."""
    counters, state = Counters(), "queued"
    for entry in run.events:
        counters = count(counters, entry.event)
        state = entered(entry.event) or state
    if (state, counters) != (run.record.state, run.record.counters):
        yield f"it is {run.record.state} with {run.record.counters}, and its events come to {state} with {counters}"
    evaluated = sum(payload["outcome"] != "cancelled" for payload in run.of(EventKind.CANDIDATE_EVALUATED))
    if evaluated != run.record.counters.evaluations:
        yield f"it counts {run.record.counters.evaluations} evaluations, and has {evaluated}"


def budgets(run: Run) -> Complaints:
    """A run that its budget ended has used just that, and what the API accepted it was given."""
    budget, evaluations = run.record.config["budget"]["evaluations"], run.record.counters.evaluations
    if run.record.reason == "evaluations" and evaluations != budget:
        yield f"it ended by its budget of {budget} with {evaluations} evaluations"
    if run.record.reason not in ("evaluations", "exhausted", "") or evaluations > budget:
        yield f"it ended by {run.record.reason!r} with {evaluations} evaluations of {budget}"
    given = [payload["to"] for payload in run.of(EventKind.BUDGET_EXTENDED)]
    ended = run.events[-1].at.timestamp()
    heard = HEARD_SECONDS if run.told.cancelled else 0.0
    wanted = [value for value, at in run.told.extended if at + heard < ended]
    if wanted and (not given or given[-1] < wanted[-1]):
        yield f"it was to have {wanted[-1]} evaluations, and was given {given}"
    if given and given[-1] != budget:
        yield f"it was given {given[-1]} evaluations, and its budget is {budget}"


def intents(run: Run) -> Complaints:
    """A run that was cancelled is, unless it had ended by itself; one that was not is not."""
    if run.record.state not in ENDED or run.record.state == "failed":
        last = [f"{entry.event.kind} {dict(entry.event.payload)}" for entry in run.events[-3:]]
        yield f"it is {run.record.state}, waiting: {run.record.waiting}, its last events: {last}"
    if run.record.state == CANCELLED and not run.told.cancelled:
        yield "it is cancelled, and nobody wanted that"
    if run.told.cancelled and run.record.state != CANCELLED and run.record.reason != "evaluations":
        yield f"it was cancelled, and is {run.record.state}"


def writers(run: Run) -> Complaints:
    """Nobody takes a run up without a fence of its own."""
    taken = len(run.of(*_RUN_KINDS))
    if run.fence < taken:
        yield f"it was taken up {taken} times under {run.fence} fences"


RULES: tuple[Callable[[Run], Complaints], ...] = (
    sequences, streams, candidates, archives, totals, budgets, intents, writers,
)  # fmt: skip


def takeovers(run: Run) -> int:
    """How often another process than the last one took it up."""
    by = [payload["by"] for payload in run.of(*_RUN_KINDS)]
    return sum(earlier != later for earlier, later in pairwise(by))


def submissions(records: Sequence[RunRecord], told: Mapping[str, Told]) -> Complaints:
    """Each key made one run, and there is no run that nobody submitted."""
    keys = Counter(record.labels.get(LABEL, "") for record in records)
    if keys != Counter(one.key for one in told.values()):
        twice = [key for key, number in keys.items() if number > 1]
        yield f"{len(told)} runs were submitted, and {len(records)} are there; made twice: {twice}"


def repeats(runs: Sequence[Run]) -> Complaints:
    """Deterministic runs of one seed are one and the same, whatever befell them; none is spared that lost nothing."""
    alike = [run for run in runs if run.told.shape.name == DETERMINISTIC and not run.lost and not run.told.cancelled]
    for other in alike[1:]:
        if _essence(other) != _essence(alike[0]):
            yield f"the deterministic runs {alike[0].record.id} and {other.record.id} differ"


def _essence(run: Run) -> list[Any]:
    """Its candidates without what holds the run's name and times."""
    kept = ("proposal_number", "position", "island", "status", "program_id", "fitness", "rewards")
    rows = sorted(run.candidates.values(), key=lambda row: (row["proposal_number"], row["position"]))
    return [[row[name] for name in kept] for row in rows]
