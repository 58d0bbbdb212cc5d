"""What the front doors read of runs, candidates and proposals."""

from collections.abc import Sequence

from sqlalchemy import Connection, Integer, and_, func, literal, or_, select, tuple_
from sqlalchemy.orm import aliased

from evolve.program import Program
from service.db import rebuild, records
from service.db.engine import Database
from service.db.identifiers import resolve
from service.db.models import CandidateRow, ParentRow, ProgramRow, RunRow
from service.errors import NotFoundError
from service.ports import CandidateRecord, ProposalRecord, RunRecord

_RUN_HINT = "'evolve runs' lists them"
_CANDIDATE_HINT = "'evolve programs RUN' lists those of a run"


class SqlRunReader:
    """The port RunReader on SQLite or PostgreSQL."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def runs(self, limit: int = 50, before: str | None = None) -> list[RunRecord]:
        """Runs, newest first."""
        with self._database.read() as connection:
            query = records.RUNS.order_by(RunRow.created_at.desc(), RunRow.id.desc()).limit(limit)
            if before is not None:
                last = select(RunRow.created_at, RunRow.id).where(RunRow.id == _run_id(connection, before))
                created_at, run_id = connection.execute(last).one()
                earlier = and_(RunRow.created_at == created_at, RunRow.id < run_id)
                query = query.where(or_(RunRow.created_at < created_at, earlier))
            return records.runs(connection, query)

    def run(self, run_id: str) -> RunRecord:
        """One run.

        Raises:
            NotFoundError: no such run.
            UsageError: several ids begin so.
        """
        with self._database.read() as connection:
            return records.runs(connection, records.RUNS.where(RunRow.id == _run_id(connection, run_id)))[0]

    def candidate(self, candidate_id: str) -> CandidateRecord:
        """One candidate.

        Raises:
            NotFoundError: no such candidate.
            UsageError: several ids begin so.
        """
        with self._database.read() as connection:
            return records.candidates_of(connection, [_candidate_id(connection, candidate_id)])[0]

    def candidates(self, run_id: str, after: tuple[int, int] = (-1, -1), limit: int = 50) -> list[CandidateRecord]:
        """Candidates of a run in order of (proposal number, position), from the one after `after`."""
        with self._database.read() as connection:
            place = tuple_(CandidateRow.number, CandidateRow.position)
            query = (
                _of_run(connection, run_id)
                .where(place > tuple_(*(literal(part, Integer) for part in after)))
                .order_by(CandidateRow.number, CandidateRow.position)
                .limit(limit)
            )
            return records.candidates(connection, query)

    def best(self, run_id: str, limit: int = 10) -> list[CandidateRecord]:
        """Evaluated candidates of the highest fitness, best first; ties by age."""
        with self._database.read() as connection:
            query = (
                _of_run(connection, run_id)
                .where(CandidateRow.fitness.is_not(None))
                .order_by(CandidateRow.fitness.desc(), CandidateRow.number, CandidateRow.position)
                .limit(limit)
            )
            return records.candidates(connection, query)

    def front(self, run_id: str) -> list[CandidateRecord]:
        """Evaluated candidates whose reward vectors no other dominates, by fitness; ties by age."""
        with self._database.read() as connection:
            query = (
                select(CandidateRow.id, CandidateRow.rewards)
                .where(CandidateRow.run_id == _run_id(connection, run_id), CandidateRow.fitness.is_not(None))
                .order_by(CandidateRow.fitness.desc(), CandidateRow.number, CandidateRow.position)
            )
            rows = connection.execute(query).all()
            return records.candidates_of(connection, _undominated([(row[0], row[1] or []) for row in rows]))

    def ancestors(self, candidate_id: str) -> list[CandidateRecord]:
        """The line of first parents, from the candidate itself to its seed."""
        with self._database.read() as connection:
            line = _line(_candidate_id(connection, candidate_id))
            return records.candidates_of(connection, list(connection.execute(line).scalars()))

    def children(self, candidate_id: str) -> list[CandidateRecord]:
        """Candidates with this one as parent, in crossover too, in order of age; inspirations are no parents."""
        with self._database.read() as connection:
            edges = select(ParentRow.candidate_id).where(
                ParentRow.parent_id == _candidate_id(connection, candidate_id), ParentRow.role != "inspiration"
            )
            query = records.CANDIDATES.where(CandidateRow.id.in_(edges))
            return records.candidates(connection, query.order_by(CandidateRow.number, CandidateRow.position))

    def program(self, candidate_id: str) -> Program:
        """Source of a candidate.

        Raises:
            NotFoundError: no such candidate, or it was rejected before it became a program.
            UsageError: several ids begin so.
        """
        with self._database.read() as connection:
            found = _candidate_id(connection, candidate_id)
            query = (
                select(ProgramRow.files)
                .join(CandidateRow, CandidateRow.program_id == ProgramRow.id)
                .where(CandidateRow.id == found)
            )
            files = connection.execute(query).scalar()
        if files is None:
            raise NotFoundError(f"candidate {found} has no program: it was rejected, 'evolve show {found}' says why")
        return rebuild.program(files)

    def programs(self, candidate_ids: Sequence[str]) -> dict[str, Program]:
        """Sources of many candidates, by whole id; those that never became a program are left out."""
        query = select(CandidateRow.id, ProgramRow.files).join(ProgramRow, CandidateRow.program_id == ProgramRow.id)
        with self._database.read() as connection:
            rows = [
                row
                for chunk in rebuild.chunks(candidate_ids)
                for row in connection.execute(query.where(CandidateRow.id.in_(chunk)))
            ]
        return {candidate_id: rebuild.program(files) for candidate_id, files in rows}

    def proposal(self, run_id: str, number: int) -> ProposalRecord:
        """One proposal with its prompt and completions.

        Raises:
            NotFoundError: no such proposal.
        """
        with self._database.read() as connection:
            found = _run_id(connection, run_id)
            proposal = records.proposal(connection, found, number)
        if proposal is None:
            raise NotFoundError(f"run {found} has no proposal {number}")
        return proposal


def _run_id(connection: Connection, beginning: str) -> str:
    return resolve(connection, RunRow.id, "run", beginning, _RUN_HINT)


def _candidate_id(connection: Connection, beginning: str) -> str:
    return resolve(connection, CandidateRow.id, "candidate", beginning, _CANDIDATE_HINT)


def _of_run(connection: Connection, run_id: str) -> rebuild.AnySelect:
    return records.CANDIDATES.where(CandidateRow.run_id == _run_id(connection, run_id))


def _line(candidate_id: str) -> rebuild.AnySelect:
    """Ids along the first parents, the candidate's own first."""
    start = select(CandidateRow.id, literal(0).label("depth")).where(CandidateRow.id == candidate_id)
    steps = start.cte("line", recursive=True)
    edge, other = aliased(ParentRow), aliased(ParentRow)
    first = (
        select(func.min(other.place))
        .where(other.candidate_id == steps.c.id, other.role == "parent")
        .correlate(steps)
        .scalar_subquery()
    )
    above = select(edge.parent_id, steps.c.depth + 1).join(
        steps, and_(edge.candidate_id == steps.c.id, edge.place == first)
    )
    line = steps.union_all(above)
    return select(line.c.id).order_by(line.c.depth)


def _undominated(rows: Sequence[tuple[str, Sequence[float]]]) -> list[str]:
    import numpy as np

    from evolve.pareto import front

    if not rows:
        return []
    # Equal vectors stand or fall together, and there may be very many of them.
    distinct, which = np.unique(np.array([rewards for _, rewards in rows], dtype=float), axis=0, return_inverse=True)
    kept = front(distinct)[which.reshape(-1)]
    return [candidate_id for (candidate_id, _), keep in zip(rows, kept, strict=True) if keep]
