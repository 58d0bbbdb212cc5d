"""Content that nothing refers to any more: programs, texts, versions of problems, their folders, batches.

Writers store content once and then refer to it, in one transaction. So what is removed is looked at again under a lock
that no such transaction is inside of: content that a run has just begun to refer to stays.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import (
    JSON,
    ColumnElement,
    Connection,
    Executable,
    Exists,
    String,
    and_,
    cast,
    delete,
    exists,
    func,
    literal,
    or_,
    select,
    text,
)
from sqlalchemy.orm import InstrumentedAttribute, aliased

from service.db import programs
from service.db.account_models import BatchRow
from service.db.columns import Base
from service.db.compact_ids import encode_id
from service.db.engine import Database
from service.db.models import BundleRow, CandidateRow, ProblemRow, ProgramRow, ProposalRow, RunRow, Tenant, TextRow
from service.db.policy_models import PolicyVersionRow

CHUNK = 500
_CHILD = aliased(ProgramRow)  # a program that is packed against another
_PARTS = {
    "sqlite": "json_each(proposals.prompt) AS message, json_each(message.value, '$.parts') AS part",
    "postgresql": "json_array_elements(proposals.prompt) AS message,"
    " json_array_elements_text(message.value -> 'parts') AS part(value)",
}
_RUN = {"sqlite": "lower(hex(proposals.run_id))", "postgresql": "encode(proposals.run_id, 'hex')"}
_LISTED = {"sqlite": "json_each(:gone)", "postgresql": "json_array_elements_text(CAST(:gone AS json))"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentKind:
    """A kind of content: its rows, and which of them nothing refers to."""

    model: type[Base]
    key: InstrumentedAttribute[str]
    condition: ColumnElement[bool]

    @property
    def name(self) -> str:
        """That of its table."""
        return str(self.model.__tablename__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mark:
    """How far a run was: what it refers to later stands in proposals that were not answered yet, or not there."""

    sequence: int
    last: int
    asked: frozenset[int]


def count(database: Database, before: datetime, runs: Sequence[str]) -> dict[str, int]:
    """How much of each kind would be left over without these runs."""
    with database.read() as connection:
        found = {"texts": len(_unread_texts(connection, runs))}
        problems: Sequence[str] = ()
        for kind in _kinds(connection, before, runs, ()):
            ids = list(connection.execute(select(kind.key).where(kind.condition)).scalars())
            problems = ids if kind.name == "problems" else problems
            found[kind.name] = len(ids)
        bundles = next(kind for kind in _kinds(connection, before, runs, problems) if kind.name == "bundles")
        found["bundles"] = len(connection.execute(select(bundles.key).where(bundles.condition)).all())
    return found


def remove(database: Database, before: datetime) -> dict[str, int]:
    """Remove what nothing refers to, in short transactions; how much of each kind."""
    removed = {"texts": _remove_texts(database), "programs": _remove_programs(database)}
    with database.read() as connection:
        kinds = [kind for kind in _kinds(connection, before, (), ()) if kind.name != "programs"]
    return removed | {kind.name: _remove_all(database, kind) for kind in kinds}


def _kinds(
    connection: Connection, before: datetime, runs: Sequence[str], problems: Sequence[str]
) -> Iterator[ContentKind]:
    """The kinds, those that refer before those that they refer to; `runs` and `problems` count as gone.

    The newest version of a problem stays: it is what its name stands for, and the next version is numbered after it.
    """
    newer, gone = aliased(ProblemRow), _listed(connection, [encode_id(run_id).hex() for run_id in runs])
    kept_candidate = _hex(connection, CandidateRow.run_id).not_in(gone)
    yield ContentKind(model=ProgramRow, key=ProgramRow.id, condition=~_used(ProgramRow.id).where(kept_candidate))
    followed = exists().where(
        newer.tenant == ProblemRow.tenant, newer.name == ProblemRow.name, newer.version > ProblemRow.version
    )
    kept = _hex(connection, RunRow.id).not_in(gone)
    searched = exists().where(RunRow.problem_id == ProblemRow.id, kept)
    yield ContentKind(
        model=ProblemRow, key=ProblemRow.id, condition=and_(ProblemRow.created_at < before, followed, ~searched)
    )
    held = exists().where(ProblemRow.bundle_hash == BundleRow.hash, ProblemRow.id.not_in(_listed(connection, problems)))
    model = exists().where(PolicyVersionRow.bundle_hash == BundleRow.hash)
    yield ContentKind(model=BundleRow, key=BundleRow.hash, condition=and_(~held, ~model))
    filled = exists().where(RunRow.batch_id == BatchRow.id, kept)
    yield ContentKind(model=BatchRow, key=BatchRow.id, condition=and_(BatchRow.created_at < before, ~filled))


def _remove_programs(database: Database) -> int:
    """Remove programs of no candidate. What is packed against one of them and is kept is stored in full before."""
    based = exists().where(_CHILD.base == ProgramRow.id)
    loose = ContentKind(model=ProgramRow, key=ProgramRow.id, condition=and_(~_used(ProgramRow.id), ~based))
    removed = 0
    while True:
        while some := _remove_all(database, loose):  # then what those were packed against
            removed += some
        if not _store_in_full(database):
            return removed


def _store_in_full(database: Database) -> int:
    """Store programs in full that are packed against those of no candidate; how many."""
    query = (
        select(_CHILD.id).join(ProgramRow, ProgramRow.id == _CHILD.base).where(_used(_CHILD.id), ~_used(ProgramRow.id))
    )
    with database.read() as connection:
        found = list(connection.execute(query).scalars())
    stored = 0
    for chunk in _chunks(found):
        with database.write() as connection:
            _shut(connection, ProgramRow)
            there = list(connection.execute(query.where(_CHILD.id.in_(chunk))).scalars())
            stored += programs.store_in_full(connection, there)
    return stored


def _used(program_id: InstrumentedAttribute[str]) -> Exists:
    """Whether a program is of a candidate."""
    return exists().where(CandidateRow.program_id == program_id)


def _hex(connection: Connection, column: InstrumentedAttribute[str]) -> ColumnElement[str]:
    """The bytes of an id in hex digits, as a list in JSON has them."""
    if connection.dialect.name == "postgresql":
        return func.encode(column, "hex", type_=String)
    return func.lower(func.hex(column), type_=String)


def _listed(connection: Connection, ids: Sequence[str]) -> Any:
    """Ids as a subquery of one parameter, however many there are."""
    given = literal(json.dumps(list(ids)))
    if connection.dialect.name == "postgresql":
        return select(func.json_array_elements_text(cast(given, JSON(none_as_null=True))).table_valued("value").c.value)
    return select(func.json_each(given).table_valued("value").c.value)


def _remove_all(database: Database, kind: ContentKind) -> int:
    with database.read() as connection:
        found = list(connection.execute(select(kind.key).where(kind.condition)).scalars())
    return sum(_remove(database, kind, chunk) for chunk in _chunks(found))


def _remove(database: Database, kind: ContentKind, ids: Sequence[str]) -> int:
    with database.write() as connection:
        _shut(connection, kind.model)
        return connection.execute(delete(kind.model).where(kind.key.in_(ids), kind.condition)).rowcount


def _shut(connection: Connection, model: type[Base]) -> None:
    """Wait until no transaction is between storing such content and referring to it, and let none begin to.

    On SQLite a transaction that writes is alone. Problems are looked up under the lock of their tenant.
    """
    if connection.dialect.name != "postgresql":
        return
    if model is ProblemRow:
        connection.execute(select(Tenant.id).order_by(Tenant.id).with_for_update())
    else:
        connection.execute(text(f"LOCK TABLE {model.__tablename__} IN SHARE ROW EXCLUSIVE MODE"))


def _remove_texts(database: Database) -> int:
    with database.read() as connection:
        marks = _marks(connection)  # before the texts are looked at: what changes in between counts as later
        found = _unread_texts(connection, ())
    removed = 0
    for chunk in _chunks(found):
        with database.write() as connection:
            _shut(connection, TextRow)
            kept = _read_since(connection, marks)
            unread = [text_hash for text_hash in chunk if text_hash not in kept]
            removed += connection.execute(delete(TextRow).where(TextRow.hash.in_(unread))).rowcount
    return removed


def _unread_texts(connection: Connection, runs: Sequence[str]) -> list[str]:
    dialect = connection.dialect.name
    query = text(
        f"SELECT hash FROM texts EXCEPT SELECT part.value FROM proposals, {_PARTS[dialect]}"  # noqa: S608 - constants
        f" WHERE {_RUN[dialect]} NOT IN (SELECT value FROM {_LISTED[dialect]})"
    )
    return list(connection.execute(query, {"gone": json.dumps([encode_id(run_id).hex() for run_id in runs])}).scalars())


def _marks(connection: Connection) -> dict[str, _Mark]:
    sequences = _pairs(connection, select(RunRow.id, RunRow.sequence))
    lasts = _pairs(connection, select(ProposalRow.run_id, func.max(ProposalRow.number)).group_by(ProposalRow.run_id))
    asked: dict[str, set[int]] = {}
    for run_id, number in connection.execute(
        select(ProposalRow.run_id, ProposalRow.number).where(ProposalRow.state == "asked")
    ):
        asked.setdefault(run_id, set()).add(number)
    return {
        run_id: _Mark(sequence=sequence, last=lasts.get(run_id, -1), asked=frozenset(asked.get(run_id, ())))
        for run_id, sequence in sequences.items()
    }


def _read_since(connection: Connection, marks: dict[str, _Mark]) -> set[str]:
    """Hashes of the texts that proposals refer to since the marks were made."""
    fresh: set[str] = set()
    for run_id, sequence in _pairs(connection, select(RunRow.id, RunRow.sequence)).items():
        mark = marks.get(run_id, _Mark(sequence=0, last=-1, asked=frozenset()))
        if mark.sequence != sequence:
            later = or_(ProposalRow.number > mark.last, ProposalRow.number.in_(mark.asked))
            prompts = connection.execute(select(ProposalRow.prompt).where(ProposalRow.run_id == run_id, later))
            fresh |= {part for prompt in prompts.scalars() for message in prompt for part in message["parts"]}
    return fresh


def _pairs(connection: Connection, query: Executable) -> dict[str, int]:
    return {row[0]: row[1] for row in connection.execute(query)}


def _chunks(ids: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(ids), CHUNK):
        yield ids[start : start + CHUNK]
