"""Statements of the log, built once."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Executable, bindparam, select, update

from service.db import completions, programs
from service.db.columns import Base
from service.db.models import (
    CandidateRow,
    CandidateViewRow,
    EvaluationRow,
    EventRow,
    MembershipRow,
    ParentRow,
    ProposalRow,
    RunRow,
    TextRow,
)
from service.db.projection import Projection, Row
from service.db.row_batches import copy_rows, insert_rows
from service.errors import ConflictError

# Fewer rows are inserted: a COPY is two calls.
MIN_COPIED = 5

_ANSWER = update(ProposalRow).where(
    ProposalRow.run_id == bindparam("of_run"), ProposalRow.number == bindparam("of_number")
)
_RESULT = update(CandidateRow).where(CandidateRow.id == bindparam("of_id"), CandidateRow.run_id == bindparam("of_run"))
_END = (
    update(MembershipRow)
    .where(
        MembershipRow.candidate_id == bindparam("of_id"),
        MembershipRow.island == bindparam("of_island"),
        MembershipRow.until.is_(None),
    )
    .values(until=bindparam("at_sequence"))
)
_RUN = update(RunRow).where(RunRow.id == bindparam("of_run"))
_ANSWERED = ("state", "reason", "tokens_input", "tokens_cached", "tokens_output", "cost", "seconds", "attempts",
             "answered_at", "prompt", "finish_reasons", "dropped", "charges",
             "charged_input", "charged_cached", "charged_output", "completions", "reasoning")  # fmt: skip
_TOLD = ("status", "reason", "duplicate_of", "attempt", "fitness", "rewards", "evaluated_at")


def write(connection: Connection, projection: Projection, *, fresh: bool = False) -> None:
    """Write all rows of a batch, each table once.

    Args:
        connection: in a transaction.
        projection: the rows.
        fresh: none of them is there, except for texts and programs.

    Raises:
        IntegrityError: some are, although they are said to be fresh.
        ConflictError: the batch changes what the run does not have, or repeats an id with another content.
    """
    copied = fresh and connection.dialect.name == "postgresql"
    _put(connection, EventRow, projection.events, copied=copied)
    _put(connection, TextRow, list(projection.texts.values()))
    created = programs.store(connection, projection.candidates.values(), projection.parents, projection.programs)
    _put_proposals(connection, projection, completions.packed(connection, projection, created), copied=copied)
    _put_candidates(connection, projection, copied=copied)
    _put(connection, ParentRow, list(projection.parents.values()), copied=copied)
    _put(connection, EvaluationRow, list(projection.evaluations.values()), copied=copied)
    _put(connection, CandidateViewRow, list(projection.views.values()), copied=copied)
    if projection.ends:
        ends = [{"of_id": c, "of_island": i, "at_sequence": at} for (c, i), at in projection.ends.items()]
        connection.execute(_END, ends)
    _put(connection, MembershipRow, projection.memberships, copied=copied)


def write_totals(connection: Connection, run_id: str, totals: Mapping[str, Any]) -> None:
    """Write the folded columns of a run."""
    connection.execute(_RUN, {"of_run": run_id, **totals})


def _put(connection: Connection, model: type[Base], rows: Sequence[Row], *, copied: bool = False) -> int:
    """Add rows that are not there yet, or copy rows of which none is; how many were added."""
    if not rows:
        return 0
    if not copied or len(rows) < MIN_COPIED:
        return insert_rows(connection, model, rows)
    copy_rows(connection, model, rows)
    return len(rows)


def _put_proposals(
    connection: Connection, projection: Projection, written: Mapping[int, bytes], *, copied: bool
) -> None:
    rows = [row | {"completions": written[number]} for number, row in projection.proposals.items()]
    changes = {number: change | {"completions": written[number]} for number, change in projection.answers.items()}
    if _put(connection, ProposalRow, rows, copied=copied) < len(rows):
        changes |= {row["number"]: {key: row[key] for key in _ANSWERED} for row in rows if row["state"] != "asked"}
    params = [{"of_run": projection.run_id, "of_number": number, **change} for number, change in changes.items()]
    _change(connection, _ANSWER, params, "proposal")


def _put_candidates(connection: Connection, projection: Projection, *, copied: bool) -> None:
    rows = list(projection.candidates.values())
    changes = dict(projection.results)
    if _put(connection, CandidateRow, rows, copied=copied) < len(rows):
        _compare(connection, projection.candidates)
        changes |= {row["id"]: {key: row[key] for key in _TOLD} for row in rows if row["status"] != "pending"}
    params = [{"of_run": projection.run_id, "of_id": key, **change} for key, change in changes.items()]
    _change(connection, _RESULT, params, "candidate")


def _change(connection: Connection, statement: Executable, params: list[Row], noun: str) -> None:
    if params and connection.execute(statement, params).rowcount < len(params):
        raise ConflictError(f"the events tell of a {noun} that the run does not have")


def _compare(connection: Connection, rows: Mapping[str, Row]) -> None:
    query = select(
        CandidateRow.id,
        CandidateRow.run_id,
        CandidateRow.proposal_number,
        CandidateRow.position,
        CandidateRow.program_id,
    ).where(CandidateRow.id.in_(rows))
    stored = {found.id: tuple(found) for found in connection.execute(query)}
    for key, row in rows.items():
        if stored.get(key) != (key, row["run_id"], row["proposal_number"], row["position"], row["program_id"]):
            raise ConflictError(f"candidate {key} is stored with another content")
