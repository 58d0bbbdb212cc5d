"""Results of runs that lie with a service, as the port ResultReader gives them."""

import base64
from collections.abc import Iterator
from datetime import datetime
from typing import Literal

from evolve.program import Program
from evolve.views.candidate_view import ON_DEMAND, PNG, CandidateView
from service.client import calls
from service.client.client import Client
from service.errors import UsageError
from service.ports import (
    ALL_RUNS,
    CandidateRecord,
    Counters,
    ParentEdge,
    ProposalRecord,
    RunFilter,
    RunRecord,
)
from service.ports.shared_fields import for_record
from service.schemas import candidates
from service.schemas.export_form import ExportForm
from service.schemas.runs import Run

PAGE = 200
Place = tuple[int, int]


class RemoteRunReader:
    """The port ResultReader over a client."""

    def __init__(self, client: Client) -> None:
        self._client = client
        # Where the pages read so far ended, for those who go on behind them.
        self._cursors: dict[tuple[str, Place], str] = {}
        self._programs: dict[str, Program] = {}

    def runs(self, limit: int = 50, *, only: RunFilter = ALL_RUNS) -> list[RunRecord]:
        """Runs, newest first.

        Raises:
            UsageError: a label holds a comma, which separates labels in the query.
        """
        if any("," in value for value in only.labels.values()):
            raise UsageError("a service cannot look for a label with a comma in its value: leave that label out")
        about = calls.list_runs(
            states=only.states,
            problem=only.problem,
            batch_id=only.batch_id,
            created_by=only.created_by,
            labels=only.labels,
            limit=min(limit, PAGE),
        )
        found: list[RunRecord] = []
        for page in self._client.pages(about):
            found += map(run_record, page.items)
            if len(found) >= limit:
                break
        return found[:limit]

    def run(self, run_id: str) -> RunRecord:
        """One run."""
        return run_record(self._client.send(calls.get_run(run_id)))

    def candidate(self, candidate_id: str) -> CandidateRecord:
        """One candidate."""
        return candidate_record(self._client.send(calls.get_candidate(candidate_id)))

    def candidates(self, run_id: str, after: Place = (-1, -1), limit: int = 50) -> list[CandidateRecord]:
        """Candidates of a run in order of (proposal number, position), some at least until there are no more."""
        size = min(limit, PAGE)
        call, cursor = calls.list_candidates(run_id, limit=size), self._cursors.get((run_id, after))
        found: list[CandidateRecord] = []
        for page in self._client.pages(call.at(cursor) if cursor else call):
            found += [record for record in map(candidate_record, page.items) if _place(record) > after]
            if found and page.next_cursor:
                self._cursors[run_id, _place(found[-1])] = page.next_cursor
            if len(found) + size > limit:
                break
        return found

    def best(self, run_id: str, limit: int = 10) -> list[CandidateRecord]:
        """Evaluated candidates of the highest fitness, best first; ties by age."""
        found: list[CandidateRecord] = []
        for page in self._client.pages(calls.list_candidates(run_id, order="fitness", limit=min(limit, PAGE))):
            found += map(candidate_record, page.items)
            if len(found) >= limit:
                break
        return found[:limit]

    def search(self, run_id: str, text: str, *, ranked: bool) -> Iterator[CandidateRecord]:
        """Candidates with a text in their sources, the fittest first, or all in order of age."""
        order: Literal["fitness", "age"] = "fitness" if ranked else "age"
        for page in self._client.pages(calls.list_candidates(run_id, order=order, text=text, limit=PAGE)):
            yield from map(candidate_record, page.items)

    def ancestors(self, candidate_id: str) -> list[CandidateRecord]:
        """The line of first parents, from the candidate itself to its seed."""
        line = self._client.send(calls.get_lineage(candidate_id))
        found = list(line.items)
        while line.truncated:
            line = self._client.send(calls.get_lineage(found[-1].id))
            found += line.items[1:]
        return [candidate_record(item) for item in found]

    def program(self, candidate_id: str) -> Program:
        """Source of a candidate."""
        known = self._programs.get(candidate_id)
        if known is None:
            source = self._client.send(calls.get_candidate_source(candidate_id))
            known = self._programs[candidate_id] = Program.of({file.path: file.text for file in source.files})
        return known

    def view(self, candidate_id: str) -> CandidateView | None:
        """What a candidate looks like; None: its evaluator drew nothing."""
        candidate = self.candidate(candidate_id)
        if candidate.view_on_demand:
            return ON_DEMAND
        if not candidate.view_type:
            return None if candidate.view_type is None else CandidateView(reason=candidate.view_reason)
        data = self._client.send(calls.get_candidate_view(candidate.id))
        content = base64.b64encode(data).decode() if candidate.view_type == PNG else data.decode()
        return CandidateView(media_type=candidate.view_type, content=content)

    def proposal(self, run_id: str, number: int) -> ProposalRecord:
        """One proposal with its prompt and completions."""
        return _proposal_record(self._client.send(calls.get_proposal(run_id, number)))

    def proposal_named(self, proposal_id: str) -> ProposalRecord:
        """One proposal by its id, with its prompt and completions."""
        return _proposal_record(self._client.send(calls.get_proposal_by_id(proposal_id)))

    def export(self, run_id: str, form: ExportForm = "jsonl") -> Iterator[str]:
        """A run line by line, in a form, as the service writes it."""
        return self._client.lines(calls.export_run(run_id, form))


def run_record(run: Run) -> RunRecord:
    """A run of the wire as it is stored, as far as the wire tells: not how often its row was changed."""
    waiting = run.waiting.model_dump() if run.waiting else None
    if run.error is not None:
        waiting = {"detail": run.error.detail}
    return RunRecord(
        **for_record(
            run,
            RunRecord,
            tenant="",
            problem_name=run.problem,
            waiting=waiting,
            counters=_counters(run),
            active_seconds=run.usage.active_seconds,
            finished_at=_finished(run),
            batch_id=run.batch_id or "",
            fork_of=run.fork_of or "",
            revision=1,  # the wire tells it in a tag alone; what a service drives, front doors want
        )
    )


def candidate_record(candidate: candidates.Candidate) -> CandidateRecord:
    """A candidate of the wire as it is stored."""
    parents = [ParentEdge(candidate_id=edge.candidate_id, role=edge.role) for edge in candidate.parents]
    return CandidateRecord(
        **for_record(
            candidate,
            CandidateRecord,
            parents=parents,
            feedback=candidate.feedback or "",
            view_reason=candidate.view_reason or "",
        )
    )


def _proposal_record(proposal: candidates.ProposalDetail) -> ProposalRecord:
    prompt = [{"role": message.role, "content": message.content} for message in proposal.prompt]
    charges = [charge.model_dump(mode="json") for charge in proposal.charges]
    return ProposalRecord(**for_record(proposal, ProposalRecord, prompt=prompt, charges=charges))


def _counters(run: Run) -> Counters:
    return Counters(
        proposals=run.progress.proposed,
        answers=run.stats.answers,
        evaluations=run.progress.evaluated,
        valid=run.stats.valid,
        failed=run.stats.failed,
        duplicates=run.stats.duplicates,
        rejected=run.stats.rejected,
        tokens_input=run.usage.tokens_input,
        tokens_cached=run.usage.tokens_cached,
        tokens_output=run.usage.tokens_output,
        cost=run.usage.cost,
    )


def _finished(run: Run) -> datetime | None:
    return run.succeeded_at or run.failed_at or run.cancelled_at


def _place(record: CandidateRecord) -> Place:
    return record.proposal_number, record.position
