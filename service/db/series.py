"""A run over time: its events, and its evaluated candidates in the order in which they were scored."""

from collections.abc import Iterator, Sequence

from sqlalchemy import Connection, RowMapping, Select, select, union_all

from evolve.events import Event, Kind
from service.db.engine import Database
from service.db.filters import SEED
from service.db.models import CandidateRow, EvaluationRow, EventRow, ProposalRow
from service.db.rebuild import AnySelect
from service.ports import LoggedEvent, Scored

_CHUNK = 1000
_LINES = 500
_SCORED = str(Kind.CANDIDATE_EVALUATED)
_LINE: AnySelect = (
    select(
        CandidateRow.id,
        CandidateRow.number,
        CandidateRow.position,
        CandidateRow.island,
        CandidateRow.fitness,
        CandidateRow.rewards,
        ProposalRow.operator,
        ProposalRow.policy,
        EvaluationRow.outcome,
        EvaluationRow.descriptor,
        EvaluationRow.seconds,
    )
    .join(
        EvaluationRow,
        (EvaluationRow.candidate_id == CandidateRow.id) & (EvaluationRow.attempt == CandidateRow.attempt),
    )
    .outerjoin(ProposalRow, (ProposalRow.run_id == CandidateRow.run_id) & (ProposalRow.number == CandidateRow.number))
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


def scored(database: Database, run_id: str, after: int = 0) -> Iterator[Scored]:
    """Evaluated candidates in the order of the events that first scored them, from the one after `after`.

    That order never changes: a candidate that is evaluated again keeps its place and shows its latest result.
    """
    with database.read() as connection:
        sequence = _place(connection, run_id, after)
    while sequence is not None:
        with database.read() as connection:
            chunk = _events(connection, run_id, sequence, _LINES, (_SCORED,))
            firsts = [logged for logged in chunk if _is_first(logged)]
            lines = _lines(connection, firsts)
        for order, logged in enumerate(firsts, start=after + 1):
            yield _scored(order, logged, lines[logged.event.payload["candidate_id"]])
        after += len(firsts)
        sequence = chunk[-1].sequence if len(chunk) == _LINES else None


def _events(connection: Connection, run_id: str, after: int, limit: int, kinds: Sequence[str]) -> list[LoggedEvent]:
    query = select(EventRow.sequence, EventRow.kind, EventRow.at, EventRow.payload).where(EventRow.run_id == run_id)
    if kinds:
        query = query.where(EventRow.sequence.in_(_sequences(run_id, after, limit, kinds)))
    else:
        query = query.where(EventRow.sequence > after)
    return [
        LoggedEvent(run_id=run_id, sequence=sequence, at=at, event=Event(kind=Kind(kind), payload=payload))
        for sequence, kind, at, payload in connection.execute(query.order_by(EventRow.sequence).limit(limit))
    ]


def _sequences(run_id: str, after: int, limit: int, kinds: Sequence[str]) -> Select[tuple[int]]:
    """The first sequences of each kind: a rare one is found in its index, however many others lie between."""
    firsts = [
        select(EventRow.sequence)
        .where(EventRow.run_id == run_id, EventRow.kind == kind, EventRow.sequence > after)
        .order_by(EventRow.sequence)
        .limit(limit)
        .subquery()
        for kind in dict.fromkeys(kinds)
    ]
    merged = union_all(*(select(first.c.sequence) for first in firsts)).subquery()
    return select(merged.c.sequence)


def _place(connection: Connection, run_id: str, after: int) -> int | None:
    """The sequence of the event that scored a candidate as the one of this order; None: there is none."""
    if after <= 0:
        return 0
    again = select(CandidateRow.id).where(CandidateRow.run_id == run_id, CandidateRow.attempt > 1).limit(1)
    if connection.execute(again).scalar() is None:
        scores = select(EventRow.sequence).where(EventRow.run_id == run_id, EventRow.kind == _SCORED)
        return connection.execute(scores.order_by(EventRow.sequence).offset(after - 1).limit(1)).scalar()
    sequence = 0
    while chunk := _events(connection, run_id, sequence, _CHUNK, (_SCORED,)):
        for logged in chunk:
            after -= _is_first(logged)
            if after == 0:
                return logged.sequence
        sequence = chunk[-1].sequence
    return None


def _is_first(logged: LoggedEvent) -> bool:
    return bool(logged.event.payload.get("attempt", 1) == 1)


def _lines(connection: Connection, firsts: Sequence[LoggedEvent]) -> dict[str, RowMapping]:
    ids = [logged.event.payload["candidate_id"] for logged in firsts]
    rows = connection.execute(_LINE.where(CandidateRow.id.in_(ids))).mappings()
    return {row["id"]: row for row in rows}


def _scored(order: int, logged: LoggedEvent, line: RowMapping) -> Scored:
    return Scored(
        order=order,
        candidate_id=line["id"],
        number=line["number"],
        position=line["position"],
        island=line["island"],
        operator=line["operator"] or SEED,
        policy=line["policy"] or "",
        outcome=line["outcome"],
        fitness=line["fitness"],
        rewards=line["rewards"],
        descriptor=line["descriptor"],
        seconds=line["seconds"],
        at=logged.at,
    )
