"""Programs on a database: what differs little from its parent is stored as the difference.

A program then has a base, and its bytes are deflated with the base's text as their dictionary. A base may have a base
itself, up to a depth. What a program is packed against stands in the database when the transaction ends.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, TypeVar

from sqlalchemy import Connection, bindparam, select, update

from evolve.errors import ProgramError
from evolve.program import Program
from service.db.driver_errors import DamagedRowError
from service.db.identifiers import chunks
from service.db.models import CandidateRow, ProgramRow
from service.db.packed import MAX_BYTES, as_json, pack, pack_against, read_json, unpack
from service.db.row_batches import insert_rows

Row = dict[str, Any]
StoredFiles = tuple[str | None, bytes]  # the base, and the bytes that are packed against it
_Value = TypeVar("_Value")
# A difference of more than this part of the text is hardly shorter than the program in full.
_MAX_PART = 1 / 6
_MAX_DEPTH = 4
_KEPT_CANDIDATES, _KEPT_PROGRAMS = 16_384, 1024
_KEPT_BYTES = 16 * 1024  # of a program; a longer one is read again
_PORTION = 50  # programs of a statement: for many more, PostgreSQL would read the whole table
_CHAIN = (
    select(ProgramRow.id, ProgramRow.base)
    .where(ProgramRow.id.in_(bindparam("of_ids", expanding=True)))
    .cte("chain", recursive=True)
)
_BASES = select(ProgramRow.id, ProgramRow.base).join(_CHAIN, ProgramRow.id == _CHAIN.c.base)
_WITH_BASES = select(ProgramRow.id, ProgramRow.base, ProgramRow.files).where(
    ProgramRow.id.in_(select(_CHAIN.union(_BASES).c.id))  # each once: damaged rows may go round in a circle
)
_IN_FULL = update(ProgramRow).where(ProgramRow.id == bindparam("of_id")).values(base=None, files=bindparam("in_full"))


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseProgram:
    """A program that others may be stored against: its id, its files as JSON, and the bases below it."""

    id: str
    text: bytes
    depth: int


class KnownPrograms:
    """The programs of the candidates that this process stored last, for their children to be stored against.

    Nothing that is stored depends on it: a program that is missing here is read.
    """

    def __init__(self) -> None:
        self._ids: OrderedDict[str, str] = OrderedDict()
        self._programs: OrderedDict[str, BaseProgram] = OrderedDict()
        self._lock = Lock()

    def get(self, candidate_id: str) -> BaseProgram | None:
        """The program of a candidate."""
        with self._lock:
            return self._programs.get(self._ids.get(candidate_id, ""))

    def holds(self, program_id: str) -> bool:
        """Whether a program is here."""
        with self._lock:
            return program_id in self._programs

    def note(self, candidate_id: str, program: BaseProgram) -> None:
        """Remember the program of a candidate."""
        if len(program.text) <= _KEPT_BYTES:
            with self._lock:
                _keep(self._ids, candidate_id, program.id, _KEPT_CANDIDATES)
                _keep(self._programs, program.id, program, _KEPT_PROGRAMS)


def _keep(kept: OrderedDict[str, _Value], key: str, value: _Value, maximum: int) -> None:
    kept[key] = value
    kept.move_to_end(key)
    if len(kept) > maximum:
        kept.popitem(last=False)


_KNOWN = KnownPrograms()


def store(
    connection: Connection,
    candidates: Iterable[Row],
    parents: Mapping[tuple[str, int], Row],
    programs: Mapping[str, Row],
) -> dict[str, BaseProgram]:
    """Store the programs of new candidates, and tell them by candidate.

    Args:
        connection: in the transaction that stores the candidates.
        candidates: new ones, in the order of their creation.
        parents: edges by candidate and place.
        programs: the files of each program, by id.
    """
    created = [row for row in candidates if row["program_id"] is not None]
    of_parents = {row["id"]: _first_parent(parents, row["id"]) for row in created}
    known = _of_candidates(connection, of_parents.values(), {row["id"] for row in created})
    rows, bases = dict[str, Row](), dict[str, BaseProgram]()
    for row in created:
        program_id, base = row["program_id"], known.get(of_parents[row["id"]])
        if program_id not in bases:
            bases[program_id], rows[program_id] = _packed(program_id, programs[program_id]["files"], base)
            if base is not None and rows[program_id]["base"] is not None:
                bases.setdefault(base.id, base)
        known[row["id"]] = bases[program_id]
    if rows:
        unknown = [program_id for program_id in rows if not _KNOWN.holds(program_id)]
        there = len(rows) - insert_rows(connection, ProgramRow, list(rows.values()))
        if there > len(rows) - len(unknown):
            bases |= _as_stored(connection, bases, unknown)
    _keep_bases(connection, bases, rows)
    for row in created:
        _KNOWN.note(row["id"], bases[row["program_id"]])
    return {row["id"]: bases[row["program_id"]] for row in created}


def remembered(candidate_id: str) -> BaseProgram | None:
    """The program of a candidate that this process stored; where another took its run over, perhaps not the run's."""
    return _KNOWN.get(candidate_id)


def load(connection: Connection, program_ids: Sequence[str | None]) -> dict[str, Program]:
    """Programs by id; those that are not there are left out.

    Raises:
        DamagedRowError: what is stored of one is damaged.
    """
    wanted = list(dict.fromkeys(program_id for program_id in program_ids if program_id is not None))
    rows, texts = _rows(connection, wanted), dict[str, bytes]()
    return {program_id: _program(rows, program_id, texts) for program_id in wanted if program_id in rows}


def store_in_full(connection: Connection, program_ids: Sequence[str]) -> int:
    """Store programs in full that are packed against others; how many. Damaged ones stay as they are."""
    rows, found, texts = _rows(connection, program_ids), list[Row](), dict[str, bytes]()
    for program_id in program_ids:
        with suppress(DamagedRowError):
            _program(rows, program_id, texts)  # it is this one and no other
            found.append({"of_id": program_id, "in_full": pack(texts[program_id])})
    if found:
        connection.execute(_IN_FULL, found)
    return len(found)


def texts(connection: Connection, program_ids: Sequence[str]) -> dict[str, bytes]:
    """The files of programs as JSON, by id; those that are not there are left out.

    Raises:
        DamagedRowError: what is stored of one is damaged.
    """
    rows, found = _rows(connection, program_ids), dict[str, bytes]()
    for program_id in dict.fromkeys(program_ids):
        if program_id in rows:
            _program(rows, program_id, found)  # it is this one and no other
    return found


def _packed(program_id: str, files: object, base: BaseProgram | None) -> tuple[BaseProgram, Row]:
    """A program and its row, packed against a base where that is much shorter."""
    text = as_json(files).encode()
    if base is not None and base.id != program_id and base.depth < _MAX_DEPTH and len(text) < MAX_BYTES:
        packed = pack_against(text, base.text)
        if len(packed) <= _MAX_PART * len(text):
            row = {"id": program_id, "base": base.id, "files": packed}
            return BaseProgram(id=program_id, text=text, depth=base.depth + 1), row
    return BaseProgram(id=program_id, text=text, depth=0), {"id": program_id, "base": None, "files": pack(text)}


def _as_stored(
    connection: Connection, programs: Mapping[str, BaseProgram], program_ids: Sequence[str]
) -> dict[str, BaseProgram]:
    """Programs with the bases that they have in the database, where others may have stored them before."""
    rows = _rows(connection, program_ids)
    found = dict[str, BaseProgram]()
    for program_id in program_ids:
        with suppress(DamagedRowError):
            found[program_id] = replace(programs[program_id], depth=_depth(rows, program_id))
    return found


def _keep_bases(connection: Connection, bases: Mapping[str, BaseProgram], rows: Mapping[str, Row]) -> None:
    """Store bases of earlier transactions again that are not there any more.

    New rows are there already: until the transaction ends nobody removes programs.
    """
    earlier = list(dict.fromkeys(row["base"] for row in rows.values() if row["base"] not in (None, *rows)))
    there = set[str]()
    for chunk in chunks(earlier):
        there.update(connection.execute(select(ProgramRow.id).where(ProgramRow.id.in_(chunk))).scalars())
    gone = [{"id": base, "base": None, "files": pack(bases[base].text)} for base in earlier if base not in there]
    if gone:
        insert_rows(connection, ProgramRow, gone)


def _first_parent(parents: Mapping[tuple[str, int], Row], candidate_id: str) -> str:
    edge = parents.get((candidate_id, 0))
    return "" if edge is None else str(edge["parent_id"])


def _of_candidates(connection: Connection, candidates: Iterable[str], created: set[str]) -> dict[str, BaseProgram]:
    """The programs of candidates of earlier transactions, by candidate."""
    found, unknown = dict[str, BaseProgram](), list[str]()
    for candidate_id in dict.fromkeys(candidates):
        if (program := _KNOWN.get(candidate_id)) is not None:
            found[candidate_id] = program
        elif candidate_id and candidate_id not in created:
            unknown.append(candidate_id)
    stored: dict[str, str] = {}
    query = select(CandidateRow.id, CandidateRow.program_id).where(CandidateRow.program_id.is_not(None))
    for chunk in chunks(unknown):
        stored |= {row.id: row.program_id for row in connection.execute(query.where(CandidateRow.id.in_(chunk)))}
    rows, texts = _rows(connection, list(stored.values())), dict[str, bytes]()
    for candidate_id, program_id in stored.items():
        with suppress(DamagedRowError):  # its child is stored in full
            program = BaseProgram(id=program_id, text=_text(rows, program_id, texts), depth=_depth(rows, program_id))
            found[candidate_id] = program
            _KNOWN.note(candidate_id, program)
    return found


def _rows(connection: Connection, program_ids: Sequence[str]) -> dict[str, StoredFiles]:
    """What is stored of programs and of all that they are packed against.

    A statement for all of a program's bases: reads from a PostgreSQL are statements by themselves, and between two of
    them a base may be removed, after what was packed against it was stored in full or removed.
    """
    rows: dict[str, StoredFiles] = {}
    distinct = list(dict.fromkeys(program_ids))
    for start in range(0, len(distinct), _PORTION):
        found = connection.execute(_WITH_BASES, {"of_ids": distinct[start : start + _PORTION]})
        rows |= {row.id: (row.base, row.files) for row in found}
    return rows


def _program(rows: Mapping[str, StoredFiles], program_id: str, texts: dict[str, bytes]) -> Program:
    files = read_json(_text(rows, program_id, texts))
    try:
        found = Program(files=tuple((path, content) for path, content in files))
    except (ProgramError, TypeError, ValueError, AttributeError) as error:
        raise DamagedRowError(f"the files of program {program_id} are none") from error
    # Deflated bytes have no checksum: against another base they would become another text.
    if rows[program_id][0] is not None and found.id != program_id:
        raise DamagedRowError(f"the files of program {program_id} are those of another")
    return found


def _text(rows: Mapping[str, StoredFiles], program_id: str, texts: dict[str, bytes]) -> bytes:
    """The files of a program as JSON.

    Args:
        rows: what is stored of it and of all below it.
        program_id: of the program.
        texts: those that were unpacked before; what is unpacked joins them.

    Raises:
        DamagedRowError: what is stored is damaged, or missing.
    """
    for link in reversed(_chain(rows, program_id)):
        if link not in texts:
            base, stored = rows[link]
            texts[link] = unpack(stored, None if base is None else texts[base])
    return texts[program_id]


def _depth(rows: Mapping[str, StoredFiles], program_id: str) -> int:
    return len(_chain(rows, program_id)) - 1


def _chain(rows: Mapping[str, StoredFiles], program_id: str) -> list[str]:
    """A program, its base, the base of that, and so on."""
    chain, base = dict[str, None](), program_id
    while base in rows and base not in chain:
        chain[base] = None
        if (below := rows[base][0]) is None:
            return list(chain)
        base = below
    raise DamagedRowError(f"what program {program_id} is packed against is missing")
