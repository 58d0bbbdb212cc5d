"""A run over time: its events, and its evaluated candidates in the order in which they were scored."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, Select, bindparam, select, union_all

from evolve.event_codec import decode
from evolve.event_types import CandidateEvaluated
from evolve.events import Event, EventKind
from service.db.engine import Database
from service.db.filters import SEED
from service.db.identifiers import chunks
from service.db.lineage import INSPIRATION
from service.db.models import FREQUENT_KINDS, RARE, CandidateRow, EvaluationRow, EventRow, ParentRow, ProposalRow
from service.db.row_mappers import AnySelect
from service.ports import LoggedEvent, ScoredCandidate

_CHUNK = 1000
_LINES = 1000
_SCORES = (
    select(EventRow.sequence, EventRow.at, EventRow.payload)
    .where(EventRow.kind == str(EventKind.CANDIDATE_EVALUATED))
    .order_by(EventRow.sequence)
)
_FOLLOWING = (
    select(EventRow.sequence, EventRow.kind, EventRow.at, EventRow.payload)
    .where(EventRow.run_id == bindparam("run"), EventRow.sequence > bindparam("after"))
    .order_by(EventRow.sequence)
    .limit(bindparam("limit"))
)
_FIRST_PARENT = (
    select(ParentRow.parent_id)
    .where(ParentRow.candidate_id == CandidateRow.id, ParentRow.role != INSPIRATION)
    .order_by(ParentRow.place)
    .limit(1)
    .correlate(CandidateRow)
    .scalar_subquery()
)
_LINE: AnySelect = select(
    CandidateRow.id,
    CandidateRow.proposal_number,
    CandidateRow.position,
    CandidateRow.island,
    CandidateRow.attempt,
    CandidateRow.rewards,
    _FIRST_PARENT.label("parent_id"),
    ProposalRow.operator,
    ProposalRow.policy,
).outerjoin(
    ProposalRow, (ProposalRow.run_id == CandidateRow.run_id) & (ProposalRow.number == CandidateRow.proposal_number)
)
_NEWEST_EVENT: AnySelect = select(
    CandidateRow.id,
    CandidateRow.fitness,
    EvaluationRow.outcome,
    EvaluationRow.scores,
    EvaluationRow.grid_measures.label("measures"),
    EvaluationRow.seconds,
).join(
    EvaluationRow,
    (EvaluationRow.candidate_id == CandidateRow.id) & (EvaluationRow.attempt == CandidateRow.attempt),
)


def events(
    database: Database, run_id: str, after: int = 0, limit: int | None = None, kinds: Sequence[str] = ()
) -> Iterator[LoggedEvent]:
    """Events of a run in order, from the one after `after`; `kinds` empty: of every kind."""
    # One short transaction a chunk: a reader that is slow holds up neither the writer nor its checkpoints.
    while limit is None or limit > 0:
        wanted = _CHUNK if limit is None else min(_CHUNK, limit)
        with database.read() as connection:
            chunk = _events(connection, run_id, after, wanted, kinds)
        yield from chunk
        if len(chunk) < wanted:
            return
        after = chunk[-1].sequence
        limit = None if limit is None else limit - len(chunk)


def scored(database: Database, run_id: str, after: int = 0) -> Iterator[ScoredCandidate]:
    """Evaluated candidates in the order of the events that first scored them, behind the event `after`.

    That order never changes: a candidate that is evaluated again keeps its place and shows its latest result.
    """
    while True:
        with database.read() as connection:
            told = connection.execute(
                _SCORES.where(EventRow.run_id == run_id, EventRow.sequence > after).limit(_LINES)
            ).all()
            scores = [(row, _evaluated(row.payload)) for row in told]
            firsts = [(row, score) for row, score in scores if score.attempt == 1]
            lines = _by_id(connection, _LINE, [score.candidate_id for _, score in firsts])
            latest = _by_id(connection, _NEWEST_EVENT, [line["id"] for line in lines.values() if line["attempt"] != 1])
        for row, score in firsts:
            line = lines[score.candidate_id]
            again = latest.get(line["id"])  # a candidate that was evaluated again has its latest result
            yield _scored(row, line, score if again is None else replace(score, **_measured(again)))
        if len(told) < _LINES:
            return
        after = told[-1].sequence


def _events(connection: Connection, run_id: str, after: int, limit: int, kinds: Sequence[str]) -> list[LoggedEvent]:
    query, place = _FOLLOWING, {"run": run_id, "after": after, "limit": limit}
    if kinds:
        # Asked for by themselves: as a part of the query they are planned to be looked for in all that follows.
        wanted = _sequences(connection, run_id, after, limit, kinds)
        if not wanted:
            return []
        query = query.where(EventRow.sequence.between(wanted[0], wanted[-1]), EventRow.sequence.in_(wanted))
    return [
        LoggedEvent(run_id=run_id, sequence=sequence, at=at, event=Event.stored(EventKind(kind), payload))
        for sequence, kind, at, payload in connection.execute(query, place).all()
    ]


def _sequences(connection: Connection, run_id: str, after: int, limit: int, kinds: Sequence[str]) -> list[int]:
    """The first sequences of some kinds: rare ones are found in their index, however many others lie between."""
    rare = [kind for kind in dict.fromkeys(kinds) if kind not in FREQUENT_KINDS]
    frequent = [kind for kind in dict.fromkeys(kinds) if kind in FREQUENT_KINDS]
    found = list(connection.execute(_firsts(run_id, after, limit, rare)).scalars()) if rare else []
    if frequent:
        # No further than the rare ones reach: a later call goes on there.
        end = [EventRow.sequence <= found[-1]] if len(found) == limit else []
        query = select(EventRow.sequence).where(
            EventRow.run_id == run_id, EventRow.sequence > after, *end, EventRow.kind.in_(frequent)
        )
        found += connection.execute(query.order_by(EventRow.sequence).limit(limit)).scalars()
    return sorted(found)[:limit]


def _firsts(run_id: str, after: int, limit: int, kinds: Sequence[str]) -> Select[int]:
    """The first sequences of each rare kind."""
    firsts = [
        select(EventRow.sequence)
        .where(EventRow.run_id == run_id, EventRow.kind == kind, RARE, EventRow.sequence > after)
        .order_by(EventRow.sequence)
        .limit(limit)
        .subquery()
        for kind in kinds
    ]
    merged = union_all(*(select(first.c.sequence) for first in firsts)).subquery()
    return select(merged.c.sequence).order_by(merged.c.sequence).limit(limit)


def _by_id(connection: Connection, query: AnySelect, ids: Sequence[str]) -> dict[str, RowMapping]:
    return {
        row["id"]: row
        for chunk in chunks(ids)
        for row in connection.execute(query.where(CandidateRow.id.in_(chunk))).mappings()
    }


def _evaluated(payload: Mapping[str, Any]) -> CandidateEvaluated:
    data = decode(EventKind.CANDIDATE_EVALUATED, payload)
    assert isinstance(data, CandidateEvaluated), "the class of this kind"
    return data


def _measured(row: RowMapping) -> dict[str, Any]:
    return {name: row[name] for name in ("outcome", "fitness", "scores", "measures", "seconds")}


def _scored(
    told: Row[int, datetime, Mapping[str, Any]], line: RowMapping, score: CandidateEvaluated
) -> ScoredCandidate:
    return ScoredCandidate(
        told.sequence,
        line["id"],
        line["proposal_number"],
        line["position"],
        line["island"],
        line["parent_id"],
        line["operator"] or SEED,
        line["policy"] or "",
        score.outcome,
        score.fitness,
        line["rewards"],
        score.scores,
        score.measures,
        score.seconds,
        told.at,
    )
