"""Steering runs: of a database, where what nobody drives is settled at once, or of a service."""

import asyncio
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from evolve.change_events import HintGiven, InsightsWritten, RequestedChange
from evolve.search.hints import check_hint
from evolve.search.insights import PERSON, check_insights
from service.errors import ConflictError
from service.identifiers import CHANGE, new_id
from service.ports import (
    AT_WORK,
    CANCELLED,
    ENDED,
    PAUSED,
    RUNNING,
    Intent,
    RunRecord,
    RunRequest,
    Storage,
    Submissions,
)
from service.problems.repository.bases import RepositoryBases
from service.process.identity import this_process
from service.projections.bans import ban_change, lift_change
from service.projections.candidates import island_count
from service.projections.change_decisions import PENDING, ChangeRequest, SearchDecision, find_decision
from service.projections.insertion import InsertedProgram, insertion_change
from service.projections.priorities import lift_priority_change, priority_change
from service.projections.run_settings import settings_change
from service.projections.run_site import POLL_SECONDS, RunSite
from service.runner.undriven_runs import settle

if TYPE_CHECKING:
    from service.schemas.changes import ChangeList
    from service.usecases.run_leftovers import RunLeftovers

COMMAND_LINE = "command line"


class RunControl(Protocol):
    """What people want of runs.

    Every method raises NotFoundError for a run that is not there, ConflictError where its state does not allow it.
    """

    def want(self, run: RunRecord, desired_state: str) -> RunRecord:
        """Want a run running, paused or cancelled."""

    def extend(self, run: RunRecord, budget: Mapping[str, Any]) -> RunRecord:
        """Want keys of the budget to have new values."""

    def hint(self, run: RunRecord, text: str, proposals: int, island: int | None) -> ChangeRequest:
        """Want a text in the prompts of the next proposals, of an island or of all, in place of any other."""

    def edit_insights(self, run: RunRecord, text: str) -> ChangeRequest:
        """Want a text as the next version of the insights."""

    def insert(self, run: RunRecord, insertion: InsertedProgram) -> ChangeRequest:
        """Want a program of a person evaluated as a candidate."""

    def ban(self, run: RunRecord, candidate_id: str, *, descendants: bool) -> ChangeRequest:
        """Want a candidate to be no parent, inspiration or migrant any more."""

    def lift_ban(self, run: RunRecord, candidate_id: str) -> ChangeRequest:
        """Want the ban of a candidate lifted."""

    def prioritize(self, run: RunRecord, candidate_id: str, proposals: int) -> ChangeRequest:
        """Want the next proposals to start from a candidate."""

    def lift_priority(self, run: RunRecord, candidate_id: str) -> ChangeRequest:
        """Want the priority of a candidate lifted."""

    def change_settings(self, run: RunRecord, settings: Mapping[str, Any]) -> ChangeRequest:
        """Want settings to have new values for the proposals to come."""

    def decision(self, request: ChangeRequest, timeout_seconds: float) -> SearchDecision:
        """The decision of the search on a change, as soon as there is one; pending where there is none in time.

        It waits at most a minute.
        """

    def changes(self, run: RunRecord) -> "ChangeList":
        """The newest changes of a run by people, each with its effect."""

    def fork(
        self, run: RunRecord, candidate_id: str, config: Mapping[str, Any], labels: Mapping[str, str]
    ) -> RunRecord:
        """Submit a run that begins with a program of another; it has these labels, and none of the other's."""

    def label(self, run: RunRecord, labels: Mapping[str, str]) -> RunRecord:
        """Replace the labels of a run."""

    def delete(self, run: RunRecord) -> None:
        """Delete an ended or paused run and all its data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunController:
    """A place where runs are, with what steers them there.

    Attributes:
        alone: whether nobody drives runs there on his own: a database without a runner.
    """

    site: RunSite
    control: RunControl
    alone: bool


class StoredControl:
    """Steers the runs of a database, of whichever tenant.

    What is wanted is written down for whoever drives the run. Where nobody does, a run is paused or cancelled here.

    Args:
        storage: where the runs are.
        submissions: makes what forks are submitted to.
        leftovers: makes what removes what runs leave that are cancelled or deleted here. None: they leave nothing.
    """

    def __init__(
        self,
        storage: Storage,
        submissions: Callable[[], Submissions],
        leftovers: "Callable[[], RunLeftovers] | None" = None,
    ) -> None:
        self._storage, self._submissions, self._leftovers = storage, submissions, leftovers

    def want(self, run: RunRecord, desired_state: str) -> RunRecord:
        """Want a run running, paused or cancelled."""
        wanted = self._storage.intents(run.tenant).want(run.id, desired_state, COMMAND_LINE)
        if desired_state != RUNNING and (run.state, desired_state) != (PAUSED, PAUSED):
            self._settle(wanted, desired_state)
        return self._storage.reader.run(run.id)

    def extend(self, run: RunRecord, budget: Mapping[str, Any]) -> RunRecord:
        """Want keys of the budget to have new values."""
        return self._storage.intents(run.tenant).extend(run.id, budget, COMMAND_LINE)

    def hint(self, run: RunRecord, text: str, proposals: int, island: int | None) -> ChangeRequest:
        """Want a text in the prompts of the next proposals, of an island or of all, in place of any other."""
        check_hint(text, proposals, island, island_count(run))
        change_id = new_id(CHANGE, self._storage.clock.now())
        hint = HintGiven(change_id=change_id, text=text, proposals=proposals, island=island, by=COMMAND_LINE)
        return self._request(run, RequestedChange(data=hint))

    def edit_insights(self, run: RunRecord, text: str) -> ChangeRequest:
        """Want a text as the next version of the insights."""
        check_insights(text)
        change_id = new_id(CHANGE, self._storage.clock.now())
        edit = InsightsWritten(change_id=change_id, by=COMMAND_LINE, text=text, source=PERSON, evaluations=0)
        return self._request(run, RequestedChange(data=edit))

    def insert(self, run: RunRecord, insertion: InsertedProgram) -> ChangeRequest:
        """Want a program of a person evaluated as a candidate."""
        language = self._storage.problems.get(run.tenant, run.problem_id).document.get("language", "")
        change_id = new_id(CHANGE, self._storage.clock.now())
        bases = RepositoryBases(self._storage.problems.bundle)
        change = insertion_change(self._storage.reader, run, language, insertion, change_id, COMMAND_LINE, bases)
        return self._request(run, change)

    def ban(self, run: RunRecord, candidate_id: str, *, descendants: bool) -> ChangeRequest:
        """Want a candidate to be no parent, inspiration or migrant any more."""
        change_id = new_id(CHANGE, self._storage.clock.now())
        reader = self._storage.reader
        change = ban_change(reader, run, candidate_id, change_id, COMMAND_LINE, descendants=descendants)
        return self._request(run, change)

    def lift_ban(self, run: RunRecord, candidate_id: str) -> ChangeRequest:
        """Want the ban of a candidate lifted."""
        change_id = new_id(CHANGE, self._storage.clock.now())
        waiting = self._waiting(run)
        change = lift_change(self._storage.reader, run, candidate_id, waiting, change_id, COMMAND_LINE)
        return self._request(run, change)

    def prioritize(self, run: RunRecord, candidate_id: str, proposals: int) -> ChangeRequest:
        """Want the next proposals to start from a candidate."""
        change_id = new_id(CHANGE, self._storage.clock.now())
        reader, waiting = self._storage.reader, self._waiting(run)
        change = priority_change(reader, run, candidate_id, waiting, change_id, COMMAND_LINE, proposals=proposals)
        return self._request(run, change)

    def lift_priority(self, run: RunRecord, candidate_id: str) -> ChangeRequest:
        """Want the priority of a candidate lifted."""
        change_id = new_id(CHANGE, self._storage.clock.now())
        waiting = self._waiting(run)
        change = lift_priority_change(self._storage.reader, run, candidate_id, waiting, change_id, COMMAND_LINE)
        return self._request(run, change)

    def change_settings(self, run: RunRecord, settings: Mapping[str, Any]) -> ChangeRequest:
        """Want settings to have new values for the proposals to come."""
        change_id = new_id(CHANGE, self._storage.clock.now())
        waiting = self._waiting(run)
        change = settings_change(self._storage.reader, run, waiting, settings, change_id, COMMAND_LINE)
        return self._request(run, change)

    def decision(self, request: ChangeRequest, timeout_seconds: float) -> SearchDecision:
        """The decision of the search on a change, as soon as there is one; pending where there is none in time."""
        until, run = time.monotonic() + timeout_seconds, request.run
        while True:
            decision = find_decision(self._storage.reader, run.id, request.change_id, self._waiting(run))
            rest = until - time.monotonic()
            if decision.state != PENDING or rest <= 0:
                return decision
            time.sleep(min(POLL_SECONDS, rest))

    def changes(self, run: RunRecord) -> "ChangeList":
        """The newest changes of a run by people, each with its effect."""
        from service.projections.change_list import change_list

        waiting = self._waiting(run)
        return change_list(self._storage.reader, run, waiting)

    def fork(
        self, run: RunRecord, candidate_id: str, config: Mapping[str, Any], labels: Mapping[str, str]
    ) -> RunRecord:
        """Submit a run that begins with a program of another."""
        submissions = self._submissions()
        request = RunRequest(config=config, fork_of=candidate_id, labels=labels)
        (new,) = submissions.prepare(run.tenant, [request], COMMAND_LINE)
        return submissions.store(new)

    def label(self, run: RunRecord, labels: Mapping[str, str]) -> RunRecord:
        """Replace the labels of a run."""
        return self._storage.intents(run.tenant).label(run.id, labels, None)

    def delete(self, run: RunRecord) -> None:
        """Delete an ended or paused run and all its data."""
        if run.state not in ENDED | AT_WORK and self._leftovers is not None:
            asyncio.run(self._leftovers().remove(run))
        self._storage.intents(run.tenant).delete(run.id)
        self._storage.deletions.remove(run.id)

    def _waiting(self, run: RunRecord) -> Sequence[RequestedChange]:
        return self._storage.intents(run.tenant).changes(run.id)

    def _request(self, run: RunRecord, change: RequestedChange) -> ChangeRequest:
        run = self._storage.intents(run.tenant).change(run.id, change)
        return ChangeRequest(run=run, change_id=change.data.change_id)

    def _settle(self, run: RunRecord, desired_state: str) -> None:
        intent = Intent(desired_state=desired_state, by=COMMAND_LINE)
        try:
            state = asyncio.run(settle(self._storage.log, self._storage.clock, run, intent, this_process()))
        except ConflictError:
            return  # somebody drives it, and hears what is wanted
        if state == CANCELLED and self._leftovers is not None:
            asyncio.run(self._leftovers().remove(run))
