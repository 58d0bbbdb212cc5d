"""What people want of runs that lie with a service."""

import math
from collections.abc import Mapping
from typing import Any

from service.client import calls
from service.client.call import Call
from service.client.client import Client
from service.client.reader import run_record
from service.ports import CANCELLED, PAUSED, RUNNING, RunRecord
from service.projections.change_decisions import ChangeRequest, SearchDecision
from service.projections.insertion import InsertedProgram
from service.schemas.bans import BanCreate
from service.schemas.changes import ChangedRun, ChangeList
from service.schemas.hints import HintCreate
from service.schemas.insertions import CandidateInsert
from service.schemas.insights import InsightsEdit
from service.schemas.priorities import PriorityCreate
from service.schemas.requests import checked
from service.schemas.run_settings import SettingsChange
from service.schemas.runs import BudgetExtension, RunFork, RunPatch

_CALLS = {RUNNING: calls.resume_run, PAUSED: calls.pause_run, CANCELLED: calls.cancel_run}


class RemoteControl:
    """Steers runs over a client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def want(self, run: RunRecord, desired_state: str) -> RunRecord:
        """Want a run running, paused or cancelled."""
        return run_record(self._client.send(_CALLS[desired_state](run.id)))

    def extend(self, run: RunRecord, budget: Mapping[str, Any]) -> RunRecord:
        """Want keys of the budget to have new values."""
        return run_record(self._client.send(calls.extend_run(run.id, checked(BudgetExtension, budget=dict(budget)))))

    def hint(self, run: RunRecord, text: str, proposals: int, island: int | None) -> ChangeRequest:
        """Want a text in the prompts of the next proposals, of an island or of all, in place of any other."""
        hint = checked(HintCreate, text=text, proposals=proposals, island=island)
        return self._request(calls.create_hint(run.id, hint))

    def edit_insights(self, run: RunRecord, text: str) -> ChangeRequest:
        """Want a text as the next version of the insights."""
        return self._request(calls.edit_insights(run.id, checked(InsightsEdit, text=text)))

    def insert(self, run: RunRecord, insertion: InsertedProgram) -> ChangeRequest:
        """Want a program of a person evaluated as a candidate."""
        files, removed = dict(insertion.files), list(insertion.removed)
        wanted = checked(
            CandidateInsert, files=files, removed=removed, parent=insertion.parent, island=insertion.island
        )
        return self._request(calls.insert_candidate(run.id, wanted))

    def ban(self, run: RunRecord, candidate_id: str, *, descendants: bool) -> ChangeRequest:
        """Want a candidate to be no parent, inspiration or migrant any more."""
        ban = checked(BanCreate, candidate_id=candidate_id, descendants=descendants)
        return self._request(calls.create_ban(run.id, ban))

    def lift_ban(self, run: RunRecord, candidate_id: str) -> ChangeRequest:
        """Want the ban of a candidate lifted."""
        return self._request(calls.lift_ban(run.id, candidate_id))

    def prioritize(self, run: RunRecord, candidate_id: str, proposals: int) -> ChangeRequest:
        """Want the next proposals to start from a candidate."""
        priority = checked(PriorityCreate, candidate_id=candidate_id, proposals=proposals)
        return self._request(calls.create_priority(run.id, priority))

    def lift_priority(self, run: RunRecord, candidate_id: str) -> ChangeRequest:
        """Want the priority of a candidate lifted."""
        return self._request(calls.lift_priority(run.id, candidate_id))

    def change_settings(self, run: RunRecord, settings: Mapping[str, Any]) -> ChangeRequest:
        """Want settings to have new values for the proposals to come."""
        change = checked(SettingsChange, settings=dict(settings))
        return self._request(calls.change_settings(run.id, change))

    def decision(self, request: ChangeRequest, timeout_seconds: float) -> SearchDecision:
        """The decision of the search on a change, as soon as there is one; pending where there is none in time."""
        wait = math.ceil(timeout_seconds)
        found = self._client.send(calls.get_change(request.run.id, request.change_id, wait_seconds=wait))
        return SearchDecision(change_id=found.id, kind=found.kind, state=found.state, reason=found.reason, at=found.at)

    def changes(self, run: RunRecord) -> ChangeList:
        """The newest changes of a run by people, each with its effect."""
        return self._client.send(calls.list_changes(run.id))

    def fork(
        self, run: RunRecord, candidate_id: str, config: Mapping[str, Any], labels: Mapping[str, str]
    ) -> RunRecord:
        """Submit a run that begins with a program of another."""
        fork = checked(RunFork, candidate_id=candidate_id, config=dict(config), labels=dict(labels))
        return run_record(self._client.send(calls.fork_run(run.id, fork)))

    def label(self, run: RunRecord, labels: Mapping[str, str]) -> RunRecord:
        """Replace the labels of a run."""
        return run_record(self._client.send(calls.update_run(run.id, checked(RunPatch, labels=dict(labels)))))

    def delete(self, run: RunRecord) -> None:
        """Delete an ended or paused run and all its data."""
        self._client.send(calls.delete_run(run.id))

    def _request(self, call: Call[ChangedRun]) -> ChangeRequest:
        run = self._client.send(call)
        return ChangeRequest(run=run_record(run), change_id=run.change_id)
