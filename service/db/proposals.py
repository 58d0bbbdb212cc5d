"""Records of proposals: one whole, or many without what was written."""

from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, RowMapping, String, cast, select

from service.db import completions
from service.db.identifiers import chunks
from service.db.models import CandidateRow, ProposalRow, TextRow
from service.db.outcomes import UNREADABLE
from service.db.row_mappers import AnySelect
from service.db.scope import TenantScope
from service.ports import ProposalRecord
from service.ports.shared_fields import for_record

NO_PARTS = ("[]", "null")  # as JSON
_LONG = {"prompt", "completions", "reasoning"}
_WHOLE: AnySelect = select(*ProposalRow.__table__.c)
_SHORT: AnySelect = select(*(column for column in ProposalRow.__table__.c if column.name not in _LONG))


def proposal(connection: Connection, run_id: str, number: int) -> ProposalRecord | None:
    """A proposal with its prompt and completions, None if there is none."""
    query = _WHOLE.where(ProposalRow.run_id == run_id, ProposalRow.number == number)
    found = _whole(connection, query)
    return found[0] if found else None


def named(connection: Connection, proposal_id: str) -> ProposalRecord:
    """The proposal of a whole id that is there, with its prompt and completions."""
    return _whole(connection, _WHOLE.where(ProposalRow.id == proposal_id))[0]


def proposals(
    connection: Connection, run_id: str, after: int, limit: int, state: str, texts: bool
) -> list[ProposalRecord]:
    """Proposals of a run in order of their numbers.

    Args:
        connection: in a transaction.
        run_id: whole.
        after: number of the one before.
        limit: how many at most.
        state: empty: in any; `unreadable`: with parts of completions in which no answer was read.
        texts: with prompts and completions.
    """
    query = _WHOLE if texts else _SHORT
    query = query.where(ProposalRow.run_id == run_id, ProposalRow.number > after)
    query = query.order_by(ProposalRow.number).limit(limit)
    if state == UNREADABLE:
        query = query.where(cast(ProposalRow.dropped, String).notin_(NO_PARTS))
    elif state:
        query = query.where(ProposalRow.state == state)
    if texts:
        return _whole(connection, query)
    return [_proposal(row, [], [], []) for row in connection.execute(query).mappings()]


def finish_reasons(connection: Connection, run_id: str, after: int, limit: int) -> list[tuple[int, Sequence[str]]]:
    """Why the completions of each proposal ended, with its number, in order of the numbers."""
    query = select(ProposalRow.number, ProposalRow.finish_reasons)
    query = query.where(ProposalRow.run_id == run_id, ProposalRow.number > after)
    return [tuple(row) for row in connection.execute(query.order_by(ProposalRow.number).limit(limit))]


def numbers(connection: Connection, candidate_ids: Sequence[str], scope: TenantScope) -> dict[str, int]:
    """The number of the proposal of each candidate, by whole id; those that are not there are left out."""
    query = select(CandidateRow.id, CandidateRow.proposal_number).where(scope.under(CandidateRow.run_id))
    return {
        candidate_id: number
        for chunk in chunks(candidate_ids)
        for candidate_id, number in connection.execute(query.where(CandidateRow.id.in_(chunk)))
    }


def _whole(connection: Connection, query: AnySelect) -> list[ProposalRecord]:
    rows = connection.execute(query).mappings().all()
    texts: dict[str, str] = {}
    for chunk in chunks([part for row in rows for message in row["prompt"] for part in message["parts"]]):
        found = connection.execute(select(TextRow.hash, TextRow.body).where(TextRow.hash.in_(chunk)))
        texts |= {text.hash: text.body for text in found}
    written = completions.load(connection, rows)
    return [
        _proposal(row, _prompt(row, texts), answers, row["reasoning"])
        for row, answers in zip(rows, written, strict=True)
    ]


def _prompt(row: RowMapping, texts: Mapping[str, str]) -> list[dict[str, str]]:
    return [
        {"role": message["role"], "content": "".join(texts[part] for part in message["parts"])}
        for message in row["prompt"]
    ]


def _proposal(
    row: RowMapping, prompt: Sequence[Mapping[str, str]], completions: Sequence[str], reasoning: Sequence[str]
) -> ProposalRecord:
    return ProposalRecord(
        **for_record(row, ProposalRecord, prompt=prompt, completions=completions, reasoning=reasoning)
    )
