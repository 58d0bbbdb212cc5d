"""What people want of runs that lie with a service."""

from collections.abc import Mapping
from typing import Any

from service.client import calls
from service.client.client import Client
from service.client.reader import run_record
from service.ports import CANCELLED, PAUSED, RUNNING, RunRecord
from service.projections.insertion import InsertedProgram
from service.schemas.bans import BanCreate
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

    def hint(self, run: RunRecord, text: str, proposals: int) -> RunRecord:
        """Want a text in the prompts of the next proposals, in place of any other."""
        hint = checked(HintCreate, text=text, proposals=proposals)
        return run_record(self._client.send(calls.create_hint(run.id, hint)))

    def edit_insights(self, run: RunRecord, text: str) -> RunRecord:
        """Want a text as the next version of the insights."""
        return run_record(self._client.send(calls.edit_insights(run.id, checked(InsightsEdit, text=text))))

    def insert(self, run: RunRecord, insertion: InsertedProgram) -> RunRecord:
        """Want a program of a person evaluated as a candidate."""
        files, removed = dict(insertion.files), list(insertion.removed)
        wanted = checked(
            CandidateInsert, files=files, removed=removed, parent=insertion.parent, island=insertion.island
        )
        return run_record(self._client.send(calls.insert_candidate(run.id, wanted)))

    def ban(self, run: RunRecord, candidate_id: str, *, descendants: bool) -> RunRecord:
        """Want a candidate to be no parent, inspiration or migrant any more."""
        ban = checked(BanCreate, candidate_id=candidate_id, descendants=descendants)
        return run_record(self._client.send(calls.create_ban(run.id, ban)))

    def lift_ban(self, run: RunRecord, candidate_id: str) -> RunRecord:
        """Want the ban of a candidate lifted."""
        return run_record(self._client.send(calls.lift_ban(run.id, candidate_id)))

    def prioritize(self, run: RunRecord, candidate_id: str, proposals: int) -> RunRecord:
        """Want the next proposals to start from a candidate."""
        priority = checked(PriorityCreate, candidate_id=candidate_id, proposals=proposals)
        return run_record(self._client.send(calls.create_priority(run.id, priority)))

    def lift_priority(self, run: RunRecord, candidate_id: str) -> RunRecord:
        """Want the priority of a candidate lifted."""
        return run_record(self._client.send(calls.lift_priority(run.id, candidate_id)))

    def change_settings(self, run: RunRecord, settings: Mapping[str, Any]) -> RunRecord:
        """Want settings to have new values for the proposals to come."""
        change = checked(SettingsChange, settings=dict(settings))
        return run_record(self._client.send(calls.change_settings(run.id, change)))

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
