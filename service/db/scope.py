"""Whose runs are there for a reader: those of one tenant, or everybody's."""

from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import ColumnElement, Connection, Select, and_, bindparam, exists, func, select
from sqlalchemy.orm import InstrumentedAttribute, aliased

from service.db.compact_ids import is_whole
from service.db.identifiers import resolve
from service.db.models import CandidateRow, ProposalRow, RunRow
from service.db.presence import there
from service.errors import NotFoundError
from service.identifiers import CandidatePlace, candidate_place

_RUN_HINT = "'evolve runs' lists them"
_CANDIDATE_HINT = "'evolve candidates RUN' lists those of a run"
_PROPOSAL_HINT = "'evolve show CANDIDATE' names the proposal that a candidate came of"
# Made once: it costs as much as a statement.
_OWNER = aliased(CandidateRow)


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantScope:
    """What a reader may see. All statements about runs and candidates pass through here.

    Attributes:
        tenant: whose runs; None: everybody's.
        run: the only run of theirs that is there; empty: all are.
    """

    tenant: str | None = None
    run: str = ""

    def runs(self) -> ColumnElement[bool]:
        """Whether a run is there; for statements over all runs of a tenant."""
        if self.tenant is None:
            return there
        mine = and_(RunRow.tenant == self.tenant, there)
        return and_(mine, RunRow.id == self.run) if self.run else mine

    def named(self) -> ColumnElement[bool]:
        """Whether a run is there; for statements that look runs up by id or state, not in the index of tenants."""
        if self.tenant is None:
            return there
        mine = and_(func.coalesce(RunRow.tenant, "") == self.tenant, there)
        return and_(mine, RunRow.id == self.run) if self.run else mine

    def under(self, run_id: InstrumentedAttribute[str]) -> ColumnElement[bool]:
        """Whether the run that a column names is there."""
        return exists().where(RunRow.id == run_id, self.runs())

    def holds(self, candidate_id: InstrumentedAttribute[str]) -> ColumnElement[bool]:
        """Whether the candidate that a column names is there."""
        return exists().where(_OWNER.id == candidate_id, RunRow.id == _OWNER.run_id, self.runs())

    def run_id(self, connection: Connection, beginning: str) -> str:
        """The one run whose id begins so.

        Raises:
            NotFoundError: no such run.
            UsageError: several ids begin so.
        """
        ids, whole = _runs_named(self)
        if is_whole(beginning) and connection.execute(whole, {"run": beginning}).scalar():
            return beginning
        return resolve(connection, ids, "run", beginning, _RUN_HINT)

    def candidate_id(self, connection: Connection, beginning: str) -> str:
        """The one candidate whose id begins so, or that `RUN.28.0` names.

        Raises:
            NotFoundError: no such candidate.
            UsageError: several ids begin so.
        """
        if (place := candidate_place(beginning)) and place.run:
            return self._at(connection, place)
        ids = select(CandidateRow.id).where(self.under(CandidateRow.run_id))
        return resolve(connection, ids, "candidate", beginning, _CANDIDATE_HINT)

    def _at(self, connection: Connection, place: CandidatePlace) -> str:
        run_id, number = self.run_id(connection, place.run), place.proposal_number
        answers = select(CandidateRow.id, CandidateRow.position).where(
            CandidateRow.run_id == run_id, CandidateRow.proposal_number == number
        )
        positions = {position: identity for identity, position in connection.execute(answers)}
        if place.position not in positions:
            there_are = f": those of proposal {number} are {number}.0 to {number}.{max(positions)}" if positions else ""
            raise NotFoundError(f"run {run_id} has no candidate {number}.{place.position}{there_are}")
        return positions[place.position]

    def proposal_id(self, connection: Connection, beginning: str) -> str:
        """The one proposal whose id begins so.

        Raises:
            NotFoundError: no such proposal.
            UsageError: several ids begin so.
        """
        ids = select(ProposalRow.id).where(self.under(ProposalRow.run_id))
        return resolve(connection, ids, "proposal", beginning, _PROPOSAL_HINT)


@lru_cache(maxsize=256)
def _runs_named(scope: TenantScope) -> tuple[Select[str], Select[str]]:
    """All runs of a scope, and the one with the id `run`; built once, which takes longer than to run them."""
    every = select(RunRow.id).where(scope.named())
    return every, every.where(RunRow.id == bindparam("run"))


EVERYBODY = TenantScope()
