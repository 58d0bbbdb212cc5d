"""What the front doors read of runs, candidates and proposals."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import func, select

from evolve.program import Program
from evolve.statistics.voting import VoteTable
from evolve.views.candidate_view import CandidateView
from service.db import (
    filters,
    lineage,
    list_statements,
    orders,
    outcomes,
    programs,
    proposals,
    records,
    row_mappers,
    search,
    series,
    votes,
)
from service.db.engine import Database
from service.db.identifiers import chunks, wellformed
from service.db.models import CandidateRow, ProblemRow, RunRow
from service.db.scope import TenantScope
from service.errors import NotFoundError
from service.ports import (
    ALL_CANDIDATES,
    ALL_RUNS,
    CandidateFilter,
    CandidateKey,
    CandidateRecord,
    EvaluationRecord,
    FrontMember,
    LoggedEvent,
    MembershipRecord,
    OutcomeCount,
    PolicyHealth,
    ProposalRecord,
    RunFilter,
    RunKey,
    RunRecord,
    ScoredCandidate,
    SearchResult,
)

# Named, not "none that ended": an index finds what stands in it.
LIVE = ("queued", "running", "pausing", "paused", "cancelling")


class SqlRunReader:
    """The port RunReader on SQLite or PostgreSQL.

    Args:
        tenant: the runs of others, and all that is under them, are not there; None: everybody's are.
        run_id: of the tenant's runs the only one that is there; empty: all are.
    """

    def __init__(self, database: Database, tenant: str | None = None, run_id: str = "") -> None:
        self._database = database
        self._scope = TenantScope(tenant=tenant, run=run_id)

    def runs(
        self, limit: int = 50, after: RunKey | None = None, only: RunFilter = ALL_RUNS, *, oldest_first: bool = False
    ) -> list[RunRecord]:
        """Runs by the time of their creation, newest first or oldest first, from the one behind `after`."""
        with self._database.read() as connection:
            query = list_statements.runs(
                self._scope, replace(only, labels={}), oldest_first=oldest_first, continued=after is not None
            )
            place = list_statements.run_place(after, limit)
            if only.labels:
                found = filters.labelled(connection, query.params(place), only.labels, limit)
                query = query.where(RunRow.id.in_(found))
            return records.runs(connection, query, place)

    def count_runs(self, only: RunFilter = ALL_RUNS) -> int:
        """How many there are."""
        query: row_mappers.AnySelect = select(func.count()).join_from(
            RunRow, ProblemRow, ProblemRow.id == RunRow.problem_id
        )
        query = query.where(self._scope.runs(), *filters.of_runs(only))
        with self._database.read() as connection:
            if only.labels:
                return len(filters.labelled(connection, query, only.labels, None))
            return int(connection.execute(query).scalar_one())

    def run(self, run_id: str) -> RunRecord:
        """One run.

        Raises:
            NotFoundError: no such run.
            UsageError: several ids begin so.
        """
        with self._database.read() as connection:
            for whole in wellformed([run_id]):
                if found := records.run(connection, whole, self._scope):
                    return found
            run_id = self._scope.run_id(connection, run_id)
            return records.runs(connection, records.RUNS.where(RunRow.id == run_id))[0]

    def candidate(self, candidate_id: str) -> CandidateRecord:
        """One candidate.

        Raises:
            NotFoundError: no such candidate.
            UsageError: several ids begin so.
        """
        with self._database.read() as connection:
            if found := records.candidates_of(connection, wellformed([candidate_id]), self._scope):
                return found[0]
            candidate_id = self._scope.candidate_id(connection, candidate_id)
            return records.candidates_of(connection, [candidate_id], self._scope)[0]

    def candidates(
        self,
        run_id: str,
        after: tuple[int, int] = (-1, -1),
        limit: int = 50,
        only: CandidateFilter = ALL_CANDIDATES,
    ) -> list[CandidateRecord]:
        """Candidates of a run in order of (proposal number, position), from the one after `after`."""
        with self._database.read() as connection:
            place = {"run": self._scope.run_id(connection, run_id), "limit": limit, **orders.place(after)}
            return records.candidates(connection, list_statements.by_age(only), self._scope, place)

    def count_candidates(self, run_id: str, only: CandidateFilter = ALL_CANDIDATES) -> int:
        """How many there are."""
        with self._database.read() as connection:
            query = filters.counted(self._scope.run_id(connection, run_id), only)
            return int(connection.execute(query).scalar_one())

    def best(
        self,
        run_id: str,
        limit: int = 10,
        after: tuple[float, int, int] | None = None,
        only: CandidateFilter = ALL_CANDIDATES,
    ) -> list[CandidateRecord]:
        """Evaluated candidates of the highest fitness, best first; ties by age.

        Args:
            run_id: the run.
            limit: how many at most.
            after: (fitness, proposal number, position) of the last one seen.
            only: which.
        """
        with self._database.read() as connection:
            found: list[CandidateRecord] = []
            place = {"run": self._scope.run_id(connection, run_id), **orders.place(after)}
            for portion in list_statements.ranked(only, continued=after is not None):
                if len(found) < limit:
                    rest = {**place, "limit": limit - len(found)}
                    found += records.candidates(connection, portion, self._scope, rest)
            return found

    def search(
        self,
        run_id: str,
        text: str,
        limit: int = 50,
        after: CandidateKey | None = None,
        only: CandidateFilter = ALL_CANDIDATES,
        *,
        ranked: bool = False,
    ) -> SearchResult:
        """Candidates of a run with a text in their sources, letters of either case; by age, or ranked as `best` is.

        Args:
            run_id: the run.
            text: as it stands in a file.
            limit: how many at most.
            after: what the call before reached.
            only: among which.
            ranked: whether those that have a fitness are searched, the fittest first.
        """
        with self._database.read() as connection:
            keys = (CandidateRow.fitness, CandidateRow.proposal_number, CandidateRow.position)
            run = self._scope.run_id(connection, run_id)
            every = filters.narrow(run, only, CandidateRow.id, CandidateRow.program_id, *keys)
            portions = orders.ranked(every, after) if ranked else [orders.by_age(every, after)]
            ids, last = search.search(connection, portions, text, limit)
            candidates = records.candidates_of(connection, ids, self._scope)
        return SearchResult(candidates=candidates, reached=None if last is None else tuple(last[2 if ranked else 3 :]))

    def named(self, candidate_ids: Sequence[str]) -> list[CandidateRecord]:
        """Candidates by their whole ids, in that order; those that are not there are left out."""
        with self._database.read() as connection:
            return records.candidates_of(connection, wellformed(candidate_ids), self._scope)

    def front(self, run_id: str) -> list[FrontMember]:
        """Evaluated candidates whose scores no other dominates, by fitness; ties by age."""
        with self._database.read() as connection:
            return records.undominated(connection, self._scope.run_id(connection, run_id))

    def poll(self, run_id: str) -> VoteTable:
        """What the candidates of a run answer, counted."""
        with self._database.read() as connection:
            return votes.poll(connection, self._scope.run_id(connection, run_id))

    def outcomes(self, run_id: str) -> list[OutcomeCount]:
        """How the answers of a run ended, counted by outcome and reason."""
        with self._database.read() as connection:
            return outcomes.outcomes(connection, self._scope.run_id(connection, run_id))

    def ancestors(self, candidate_id: str) -> list[CandidateRecord]:
        """The line of first parents, from the candidate itself to its seed."""
        with self._database.read() as connection:
            found = lineage.line(connection, self._scope.candidate_id(connection, candidate_id))
            return records.candidates_of(connection, found, self._scope)

    def children(
        self, candidate_id: str, after: tuple[int, int] = (-1, -1), limit: int | None = None
    ) -> list[CandidateRecord]:
        """Candidates with this one as parent, in crossover too, in order of age; inspirations are no parents."""
        with self._database.read() as connection:
            ids = lineage.children(self._scope.candidate_id(connection, candidate_id))
            query = records.CANDIDATES.where(CandidateRow.id.in_(ids), self._scope.under(CandidateRow.run_id))
            return records.candidates(connection, orders.by_age(query, after).limit(limit), self._scope)

    def descendants(self, candidate_id: str, limit: int = 1000) -> list[CandidateRecord]:
        """Candidates that descend from this one over parents and crossover, itself left out, in order of age."""
        with self._database.read() as connection:
            root = self._scope.candidate_id(connection, candidate_id)
            found = lineage.descendants(connection, root, limit, self._scope)
            return records.candidates_of(connection, found, self._scope)

    def path(self, ancestor_id: str, candidate_id: str) -> list[CandidateRecord]:
        """A shortest line over parents and crossover from one candidate down to another; empty: there is none."""
        with self._database.read() as connection:
            top = self._scope.candidate_id(connection, ancestor_id)
            bottom = self._scope.candidate_id(connection, candidate_id)
            found = lineage.path(connection, top, bottom, self._scope)
            return records.candidates_of(connection, found, self._scope)

    def program(self, candidate_id: str) -> Program:
        """Source of a candidate.

        Raises:
            NotFoundError: no such candidate, or it was rejected before it became a program.
            UsageError: several ids begin so.
        """
        with self._database.read() as connection:
            found = self._scope.candidate_id(connection, candidate_id)
            query = select(CandidateRow.program_id).where(CandidateRow.id == found)
            texts = programs.load(connection, list(connection.execute(query).scalars()))
        if not texts:
            raise NotFoundError(f"candidate {found} has no program: it was rejected, 'evolve show {found}' says why")
        return next(iter(texts.values()))

    def view(self, candidate_id: str) -> CandidateView | None:
        """What a candidate looks like, as its evaluator drew it; None: it drew nothing.

        Raises:
            NotFoundError: no such candidate.
            UsageError: several ids begin so.
        """
        with self._database.read() as connection:
            return records.view(connection, self._scope.candidate_id(connection, candidate_id))

    def programs(self, candidate_ids: Sequence[str]) -> dict[str, Program]:
        """Sources of many candidates, by whole id; those that never became a program are left out."""
        query = select(CandidateRow.id, CandidateRow.program_id).where(
            CandidateRow.program_id.is_not(None), self._scope.under(CandidateRow.run_id)
        )
        with self._database.read() as connection:
            rows = [
                row
                for chunk in chunks(wellformed(candidate_ids))
                for row in connection.execute(query.where(CandidateRow.id.in_(chunk)))
            ]
            texts = programs.load(connection, [program_id for _, program_id in rows])
        return {candidate_id: texts[program_id] for candidate_id, program_id in rows if program_id in texts}

    def proposal(self, run_id: str, number: int) -> ProposalRecord:
        """One proposal with its prompt and completions.

        Raises:
            NotFoundError: no such proposal.
        """
        with self._database.read() as connection:
            found = self._scope.run_id(connection, run_id)
            proposal = proposals.proposal(connection, found, number)
        if proposal is None:
            raise NotFoundError(f"run {found} has no proposal {number}")
        return proposal

    def proposal_named(self, proposal_id: str) -> ProposalRecord:
        """One proposal by its id, with its prompt and completions.

        Raises:
            NotFoundError: no such proposal.
            UsageError: several ids begin so.
        """
        with self._database.read() as connection:
            return proposals.named(connection, self._scope.proposal_id(connection, proposal_id))

    def proposals(
        self, run_id: str, after: int = -1, limit: int = 50, state: str = "", *, texts: bool = False
    ) -> list[ProposalRecord]:
        """Proposals of a run in order of their numbers; prompts and completions only where texts are wanted."""
        with self._database.read() as connection:
            found = self._scope.run_id(connection, run_id)
            return proposals.proposals(connection, found, after, limit, state, texts)

    def finish_reasons(self, run_id: str, after: int = -1, limit: int = 50) -> list[tuple[int, Sequence[str]]]:
        """Why the completions of each proposal of a run ended, with its number, in order of the numbers."""
        with self._database.read() as connection:
            return proposals.finish_reasons(connection, self._scope.run_id(connection, run_id), after, limit)

    def proposal_numbers(self, candidate_ids: Sequence[str]) -> dict[str, int]:
        """The number of the proposal of each candidate, by whole id; those that are not there are left out."""
        with self._database.read() as connection:
            return proposals.numbers(connection, wellformed(candidate_ids), self._scope)

    def evaluations(self, candidate_id: str) -> list[EvaluationRecord]:
        """All attempts at scoring a candidate, the first one first."""
        with self._database.read() as connection:
            return records.evaluations(connection, self._scope.candidate_id(connection, candidate_id))

    def memberships(self, run_id: str, island: int | None = None) -> list[MembershipRecord]:
        """Who is in the archives of a run now, by island, the fittest first."""
        with self._database.read() as connection:
            return records.memberships(connection, self._scope.run_id(connection, run_id), island)

    def scored(self, run_id: str, after: int = 0) -> Iterator[ScoredCandidate]:
        """Evaluated candidates in order of their first evaluation, behind an event; read as they are taken.

        Raises:
            NotFoundError: no such run; at once, not with the first candidate.
        """
        with self._database.read() as connection:
            found = self._scope.run_id(connection, run_id)
        return series.scored(self._database, found, after)

    def events(
        self, run_id: str, after: int = 0, limit: int | None = None, kinds: Sequence[str] = ()
    ) -> Iterator[LoggedEvent]:
        """Events of a run in order, from the one after `after`; `kinds` empty: of every kind. Read as they are taken.

        Raises:
            NotFoundError: no such run; at once, not with the first event.
        """
        with self._database.read() as connection:
            found = self._scope.run_id(connection, run_id)
        return series.events(self._database, found, after, limit, kinds)

    def sequences(self, run_ids: Sequence[str]) -> dict[str, tuple[int, str]]:
        """The last sequence and the state of each run, by whole id; deleted runs are missing."""
        query = select(RunRow.id, RunRow.sequence, RunRow.state).where(self._scope.named())
        with self._database.read() as connection:
            return {
                row.id: (row.sequence, row.state)
                for chunk in chunks(wellformed(run_ids))
                for row in connection.execute(query.where(RunRow.id.in_(chunk)))
            }

    def policy_health(self) -> list[PolicyHealth]:
        """How the servers of policies of running runs fare, as their runners saw them last."""
        query = select(RunRow.id, RunRow.policy_health).where(
            RunRow.state == "running", RunRow.policy_health.is_not(None), self._scope.named()
        )
        with self._database.read() as connection:
            rows = connection.execute(query.order_by(RunRow.id)).all()
        return [told for row in rows for told in records.health(*row)]

    def active(self) -> Mapping[str, int]:
        """Runs that have not ended, by whole id, with their last sequences."""
        query = select(RunRow.id, RunRow.sequence).where(RunRow.state.in_(LIVE), self._scope.named())
        with self._database.read() as connection:
            return {row.id: row.sequence for row in connection.execute(query)}

    def queued(self) -> int:
        """Runs that no runner has taken up yet."""
        query = select(func.count()).select_from(RunRow).where(RunRow.state == "queued", self._scope.named())
        with self._database.read() as connection:
            return int(connection.execute(query).scalar_one())
