"""The rows that a batch of events projects, gathered so that each table is written once."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from evolve.change_events import CHANGE_KINDS, ChangeData
from evolve.event_codec import write_charge
from evolve.event_types import (
    BudgetExtended,
    CandidateCreated,
    CandidateDuplicate,
    CandidateEvaluated,
    CandidateReevaluated,
    CandidateRejected,
    EventData,
    IndividualInserted,
    IndividualsRemoved,
    IslandReset,
    ProposalAnswered,
    ProposalFailed,
)
from evolve.events import EventKind
from evolve.identity import digest
from evolve.proposal import Candidate, Charge, CompletedReply, Individual, Prompt, Proposal, Usage
from service.ports import LoggedEvent

Row = dict[str, Any]
_Subject = TypeVar("_Subject", Proposal, CompletedReply, Candidate, Individual)
_Data = TypeVar("_Data", bound=EventData)
_KEPT_OUT = {"dominated", "full", "duplicate"}


class Projection:
    """Rows to add and to change, by table; what a batch both adds and changes is folded into one row to add.

    Attributes:
        answers: changes to proposals that were asked in an earlier batch, by number.
        results: changes to candidates that were created in an earlier batch, by id.
        ends: memberships of earlier batches that end, as (candidate, island) and the sequence of the event.
        budget: keys of the budget that were extended, with their new values.
        changes: ids of the changes of people that were made.
    """

    def __init__(self, run_id: str) -> None:
        self.run_id = run_id
        self.events: list[Row] = []
        self.texts: dict[str, Row] = {}
        self.proposals: dict[int, Row] = {}
        self.answers: dict[int, Row] = {}
        self.programs: dict[str, Row] = {}
        self.candidates: dict[str, Row] = {}
        self.results: dict[str, Row] = {}
        self.parents: dict[tuple[str, int], Row] = {}
        self.evaluations: dict[tuple[str, int], Row] = {}
        self.views: dict[tuple[str, int], Row] = {}
        self.memberships: list[Row] = []
        self.ends: dict[tuple[str, int], int] = {}
        self.budget: Row = {}
        self.changes: list[str] = []
        self._members: dict[tuple[str, int], Row] = {}

    @classmethod
    def of(cls, run_id: str, events: Iterable[LoggedEvent]) -> "Projection":
        """Gather what events project."""
        projection = cls(run_id)
        for logged in events:
            projection.add(logged)
        return projection

    def add(self, logged: LoggedEvent) -> None:
        """Gather what one event projects."""
        event = logged.event
        self.events.append(
            {
                "run_id": self.run_id,
                "sequence": logged.sequence,
                "kind": str(event.kind),
                "at": logged.at,
                "payload": event.payload,
            }
        )
        step = _STEPS.get(event.kind)
        if step is not None:
            step(self, logged)

    def enter(self, candidate_id: str, island: int, since: int) -> None:
        """A candidate becomes a member of an island's archive."""
        row = {
            "candidate_id": candidate_id,
            "island": island,
            "since": since,
            "until": None,
            "run_id": self.run_id,
        }
        self._members[candidate_id, island] = row
        self.memberships.append(row)

    def leave(self, candidate_id: str, island: int, until: int) -> None:
        """A candidate leaves an island's archive."""
        row = self._members.pop((candidate_id, island), None)
        if row is None:
            self.ends[candidate_id, island] = until
        else:
            row["until"] = until

    def descend(self, candidate_id: str, parents: Iterable[Iterable[str]]) -> None:
        """A candidate has parents, in order."""
        for place, (parent_id, role) in enumerate(parents):
            row = {"candidate_id": candidate_id, "place": place, "parent_id": parent_id, "role": role}
            self.parents[candidate_id, place] = row

    def evaluate(self, individual: Individual, attempt: int, logged: LoggedEvent) -> None:
        """A candidate was evaluated, and perhaps drawn."""
        key = individual.candidate_id, attempt
        self.evaluations[key] = _evaluation(individual, attempt, logged)
        if (view := individual.evaluation.view) is not None:
            row = {"media_type": view.media_type, "reason": view.reason, "content": view.content}
            self.views[key] = {"candidate_id": key[0], "attempt": attempt, **row}

    def text(self, body: str) -> str:
        """The hash under which a text is stored."""
        key = digest(body)
        self.texts[key] = {"hash": key, "body": body}
        return key


def _subject(logged: LoggedEvent, kind: type[_Subject]) -> _Subject:
    subject = logged.event.subject
    if not isinstance(subject, kind):
        raise TypeError(f"event {logged.sequence}, {logged.event.kind}, came without its {kind.__name__}")
    return subject


def _data(logged: LoggedEvent, kind: type[_Data]) -> _Data:
    data = logged.event.data
    assert isinstance(data, kind), "the table of steps names its kind"
    return data


def _propose(projection: Projection, logged: LoggedEvent) -> None:
    proposal = _subject(logged, Proposal)
    projection.proposals[proposal.number] = {
        "run_id": projection.run_id,
        "number": proposal.number,
        "id": proposal.id,
        "island": proposal.island,
        "operator": proposal.operator,
        "probability": proposal.probability,
        "selection": proposal.selection,
        "policy": proposal.policy,
        "weights": list(proposal.weights),
        "rationale": dict(proposal.rationale),
        "form": None if proposal.form is None else proposal.form.as_json(),
        "created_at": logged.at,
        **_unanswered(),
    }


def _unanswered() -> Row:
    return {
        "state": "asked",
        "reason": "",
        "tokens_input": 0,
        "tokens_cached": 0,
        "tokens_output": 0,
        "cost": None,
        "seconds": None,
        "attempts": 0,
        "answered_at": None,
        "prompt": [],
        "finish_reasons": [],
        "dropped": [],
        **_charged(()),
        "completions": [],
        "reasoning": [],
    }


def _answer(projection: Projection, logged: LoggedEvent) -> None:
    end = {"state": "answered", "reason": "", "answered_at": logged.at}
    answered = _data(logged, ProposalAnswered)
    _settle(projection, answered.proposal_number, _written(projection, _subject(logged, CompletedReply)) | end)


def _written(projection: Projection, completed: CompletedReply) -> Row:
    usage, cost = completed.usage, completed.cost
    return {
        "tokens_input": usage.input,
        "tokens_cached": usage.cached,
        "tokens_output": usage.output,
        "cost": None if cost is None else str(cost),
        "seconds": completed.seconds,
        "attempts": completed.attempts,
        "prompt": _prompt(projection, completed.prompt),
        "finish_reasons": list(completed.finish_reasons),
        "dropped": [{"chain": dropped.chain, "reason": dropped.reason} for dropped in completed.dropped],
        **_charged(completed.charges),
        "completions": list(completed.completions),
        "reasoning": list(completed.reasoning),
    }


def _charged(charges: Sequence[Charge]) -> Row:
    total = sum((charge.usage for charge in charges), Usage())
    return {
        "charges": [write_charge(charge) for charge in charges],
        "charged_input": total.input,
        "charged_cached": total.cached,
        "charged_output": total.output,
    }


def _prompt(projection: Projection, prompt: Prompt | None) -> list[Row]:
    messages = prompt.messages if prompt is not None else ()
    return [{"role": m.role, "parts": [projection.text(part) for part in m.parts]} for m in messages]


def _give_up(projection: Projection, logged: LoggedEvent) -> None:
    failed, cut = _data(logged, ProposalFailed), logged.event.subject
    outcome = {"state": "failed", "reason": failed.reason, "answered_at": logged.at}
    written = _written(projection, cut) if isinstance(cut, CompletedReply) else {}
    _settle(projection, failed.proposal_number, _unanswered() | written | outcome)


def _settle(projection: Projection, number: int, change: Row) -> None:
    asked = projection.proposals.get(number)
    if asked is None:
        projection.answers[number] = change
    else:
        asked.update(change)


def _create(projection: Projection, logged: LoggedEvent) -> None:
    created, candidate = _data(logged, CandidateCreated), _subject(logged, Candidate)
    program = candidate.program
    projection.programs[program.id] = {"id": program.id, "files": program.files}
    projection.candidates[candidate.id] = _candidate(projection, logged, created, "pending") | {
        "program_id": program.id,
        "fingerprint": candidate.fingerprint,
        "changed": candidate.changed,
    }
    projection.descend(candidate.id, candidate.parents)


def _reject(projection: Projection, logged: LoggedEvent) -> None:
    rejected = _data(logged, CandidateRejected)
    row = _candidate(projection, logged, rejected, "rejected") | {"reason": rejected.reason}
    projection.candidates[rejected.candidate_id] = row
    projection.descend(rejected.candidate_id, rejected.parents)


def _candidate(
    projection: Projection, logged: LoggedEvent, made: CandidateCreated | CandidateRejected, status: str
) -> Row:
    return {
        "run_id": projection.run_id,
        "proposal_number": made.proposal_number,
        "position": made.position,
        "id": made.candidate_id,
        "island": made.island,
        "program_id": None,
        "fingerprint": None,
        "changed": "",
        "created_at": logged.at,
        **_result(status),
    }


def _result(status: str, **known: object) -> Row:
    unknown = {"reason": "", "duplicate_of": None, "attempt": None, "fitness": None, "rewards": None}
    return {"status": status, **unknown, "evaluated_at": None, **known}


def _repeat(projection: Projection, logged: LoggedEvent) -> None:
    duplicate = _data(logged, CandidateDuplicate)
    _tell(projection, duplicate.candidate_id, _result("duplicate", duplicate_of=duplicate.of))


def _evaluate(projection: Projection, logged: LoggedEvent) -> None:
    individual = _subject(logged, Individual)
    attempt = _data(logged, CandidateEvaluated).attempt
    rewards = list(individual.rewards) if individual.evaluation.ok else None
    result = _result("evaluated", attempt=attempt, fitness=individual.fitness, rewards=rewards, evaluated_at=logged.at)
    _tell(projection, individual.candidate_id, result)
    projection.evaluate(individual, attempt, logged)


def _evaluate_again(projection: Projection, logged: LoggedEvent) -> None:
    # A further row beside the first: what a candidate is worth never changes after the fact.
    individual = _subject(logged, Individual)
    attempt = _data(logged, CandidateReevaluated).attempt
    projection.evaluate(individual, attempt, logged)


def _evaluation(individual: Individual, attempt: int, logged: LoggedEvent) -> Row:
    evaluation = individual.evaluation
    return {
        "candidate_id": individual.candidate_id,
        "attempt": attempt,
        "outcome": str(evaluation.outcome),
        "reason": evaluation.reason,
        "seconds": evaluation.seconds,
        "worker": evaluation.worker,
        "isolation": evaluation.isolation,
        "at": logged.at,
        "scores": dict(evaluation.scores),
        "measures": dict(evaluation.measures),
        "grid_measures": dict(individual.measures),
        "cases": dict(evaluation.cases),
        "spread": dict(evaluation.spread),
        "repeats": evaluation.repeats,
        "feedback": evaluation.feedback,
        "answer": evaluation.answer,
    }


def _tell(projection: Projection, candidate_id: str, result: Row) -> None:
    created = projection.candidates.get(candidate_id)
    if created is None:
        projection.results[candidate_id] = result
    else:
        created.update(result)


def _insert(projection: Projection, logged: LoggedEvent) -> None:
    inserted = _data(logged, IndividualInserted)
    # A grid that is binned anew may lose members although it does not take this one.
    _displace(projection, logged, inserted)
    if inserted.status not in _KEPT_OUT:
        projection.enter(inserted.candidate_id, inserted.island, logged.sequence)


def _remove(projection: Projection, logged: LoggedEvent) -> None:
    removed = _data(logged, IndividualsRemoved)
    for candidate_id in removed.candidate_ids:
        projection.leave(candidate_id, removed.island, logged.sequence)


def _reset(projection: Projection, logged: LoggedEvent) -> None:
    _displace(projection, logged, _data(logged, IslandReset))


def _displace(projection: Projection, logged: LoggedEvent, data: IndividualInserted | IslandReset) -> None:
    for candidate_id in data.displaced:
        projection.leave(candidate_id, data.island, logged.sequence)


def _extend(projection: Projection, logged: LoggedEvent) -> None:
    change = _data(logged, BudgetExtended)
    projection.budget[change.key] = change.to


def _change(projection: Projection, logged: LoggedEvent) -> None:
    projection.changes.append(_data(logged, ChangeData).change_id)


_STEPS: dict[EventKind, Callable[[Projection, LoggedEvent], None]] = {
    **dict.fromkeys(CHANGE_KINDS, _change),
    EventKind.BUDGET_EXTENDED: _extend,
    EventKind.PROPOSAL_CREATED: _propose,
    EventKind.PROPOSAL_ANSWERED: _answer,
    EventKind.PROPOSAL_FAILED: _give_up,
    EventKind.CANDIDATE_CREATED: _create,
    EventKind.CANDIDATE_REJECTED: _reject,
    EventKind.CANDIDATE_DUPLICATE: _repeat,
    EventKind.CANDIDATE_EVALUATED: _evaluate,
    EventKind.CANDIDATE_REEVALUATED: _evaluate_again,
    EventKind.INDIVIDUAL_INSERTED: _insert,
    EventKind.INDIVIDUALS_REMOVED: _remove,
    EventKind.ISLAND_RESET: _reset,
}
