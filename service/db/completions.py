"""Completions of proposals on a database: most of what a policy wrote is there already, as programs.

Where that makes them much shorter, they are deflated with the programs of the proposal's candidates as the dictionary.
Stored are then the tag 3, the number of these candidates, the position of each, and the deflated JSON; otherwise the
JSON as `service.db.packed` has it. No candidate changes its program, and both stay as long as the run.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Row, RowMapping, bindparam, select

from service.db import programs
from service.db.driver_errors import DamagedRowError
from service.db.models import CandidateRow
from service.db.packed import as_json, pack_against, pack_json, unpack_json
from service.db.programs import BaseProgram
from service.db.projection import Projection

Programs = dict[int, BaseProgram]  # by position of the candidate
_TAG = 3
_HEAD = 2  # the tag and the number of positions
_MAX_CANDIDATES = 32
# Deflate looks back 32 KB. An answer lies behind its own program by the length of all of them.
_MAX_BYTES = 30_000
_SHORT_PART = 1 / 40  # of the text: it is hardly worth a look how short it is without programs
_MAX_PART = 3 / 4  # of what they take without programs: reading takes longer with them
_NONE = pack_json([])
_MAX_GAP = 8  # between numbers of proposals that one statement asks for
# Of parameters, so that it is the same statement each time: a list of numbers takes five times as long.
_CANDIDATES = select(
    CandidateRow.id, CandidateRow.proposal_number, CandidateRow.position, CandidateRow.program_id
).where(
    CandidateRow.run_id == bindparam("of_run"),
    CandidateRow.proposal_number.between(bindparam("first"), bindparam("last")),
)


def packed(connection: Connection, projection: Projection, created: Mapping[str, BaseProgram]) -> dict[int, bytes]:
    """The completions of a batch's proposals as they are stored, by number.

    Args:
        connection: in the transaction that stores the batch, before its candidates are.
        projection: the rows of the batch.
        created: the programs of its candidates.
    """
    rows = {**projection.answers, **projection.proposals}
    written = {number: row["completions"] for number, row in rows.items()}
    bases = _programs(connection, projection, created, {number for number, texts in written.items() if texts})
    return {number: _packed(texts, bases.get(number, {})) if texts else _NONE for number, texts in written.items()}


def load(connection: Connection, rows: Sequence[RowMapping]) -> list[Any]:
    """The completions of proposals of one run.

    Args:
        connection: in a transaction.
        rows: with run_id, number and completions of each.

    Raises:
        DamagedRowError: what is stored is damaged.
    """
    positions = {row["number"]: _positions(row["completions"]) for row in rows}
    based = sorted(number for number, of_candidates in positions.items() if of_candidates)
    found = {
        (row.proposal_number, row.position): row.program_id
        for row in (_candidates(connection, rows[0]["run_id"], based) if based else ())
        if row.program_id is not None and row.position in positions.get(row.proposal_number, b"")
    }
    texts = programs.texts(connection, list(found.values()))
    return [_unpacked(row, positions[row["number"]], found, texts) for row in rows]


def _programs(
    connection: Connection, projection: Projection, created: Mapping[str, BaseProgram], answered: set[int]
) -> dict[int, Programs]:
    """The programs of the candidates of answered proposals, by number."""
    found: dict[int, Programs] = {number: {} for number in answered}
    for row in projection.candidates.values():
        if row["proposal_number"] in found and row["id"] in created:
            found[row["proposal_number"]][row["position"]] = created[row["id"]]
    # Those of proposals that are in this batch are in it, too.
    for stored in _candidates(connection, projection.run_id, sorted(answered & projection.answers.keys())):
        program = programs.remembered(stored.id) if stored.proposal_number in found else None
        if program is not None and program.id == stored.program_id:
            found[stored.proposal_number][stored.position] = program
    return found


def _candidates(
    connection: Connection, run_id: str, numbers: Sequence[int]
) -> Iterator[Row[str, int, int, str | None]]:
    """The candidates of proposals, whose numbers are in order, and perhaps of some between them."""
    for first, last in _ranges(numbers):
        yield from connection.execute(_CANDIDATES, {"of_run": run_id, "first": first, "last": last})


def _ranges(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """From where to where numbers are close to each other."""
    ranges = list[tuple[int, int]]()
    for number in numbers:
        if ranges and number - ranges[-1][1] <= _MAX_GAP:
            ranges[-1] = ranges[-1][0], number
        else:
            ranges.append((number, number))
    return ranges


def _packed(completions: Sequence[str], of_candidates: Programs) -> bytes:
    chosen = _chosen(of_candidates)
    if not chosen:
        return pack_json(completions)
    text = as_json(completions).encode()
    base = b"".join(of_candidates[position].text for position in chosen)
    against = bytes((_TAG, len(chosen), *chosen)) + pack_against(text, base)
    if len(against) <= _SHORT_PART * len(text):
        return against
    alone = pack_json(completions)
    return against if len(against) <= _MAX_PART * len(alone) else alone


def _chosen(of_candidates: Programs) -> list[int]:
    """The positions of the first candidates, as many as deflate can look back to."""
    chosen, held = list[int](), 0
    for position in sorted(of_candidates)[:_MAX_CANDIDATES]:
        held += len(of_candidates[position].text)
        if held > _MAX_BYTES or position > 255:
            break
        chosen.append(position)
    return chosen


def _positions(stored: object) -> bytes:
    """The positions of the candidates with whose programs completions are packed; none: they are packed without."""
    if not isinstance(stored, bytes) or not stored or stored[0] != _TAG:
        return b""
    count = int.from_bytes(stored[1:_HEAD])
    positions = stored[_HEAD : _HEAD + count]
    if not count or len(positions) < count:
        raise DamagedRowError("packed completions were cut")
    return positions


def _unpacked(
    row: RowMapping, positions: bytes, found: Mapping[tuple[int, int], str], texts: Mapping[str, bytes]
) -> Any:
    stored, number = row["completions"], row["number"]
    if not positions:
        return unpack_json(stored)
    of_candidates = [texts.get(found.get((number, position), "")) for position in positions]
    if None in of_candidates:
        raise DamagedRowError(f"a program that the completions of proposal {number} are packed with is missing")
    return unpack_json(stored[_HEAD + len(positions) :], b"".join(filter(None, of_candidates)))
