"""Calls of the tag runs. `scripts.openapi` writes them."""

from types import NoneType

from service.client.call import Call, chosen, place
from service.schemas.bans import BanCreate, BanList
from service.schemas.changes import ChangeDecision, ChangedRun, ChangeList
from service.schemas.hints import HintCreate
from service.schemas.insertions import CandidateInsert
from service.schemas.insights import InsightsEdit, InsightsList
from service.schemas.priorities import PriorityCreate, PriorityList
from service.schemas.run_settings import RunSettings, SettingsChange
from service.schemas.runs import BudgetExtension, Run, RunCheck, RunCreate, RunFork, RunPatch


def list_bans(run_id: str, *, candidate_id: str | None = None) -> Call[BanList]:
    """List the bans of a run that were not lifted."""
    return Call(
        method="GET", path=place("/v1/runs/{}/bans", run_id), params=chosen(candidate_id=candidate_id), answer=BanList
    )


def create_ban(run_id: str, body: BanCreate) -> Call[ChangedRun]:
    """Ban a candidate. It leaves the archives, and is not a parent, inspiration or migrant any more."""
    return Call(method="POST", path=place("/v1/runs/{}/bans", run_id), body=body, answer=ChangedRun)


def lift_ban(run_id: str, candidate_id: str) -> Call[ChangedRun]:
    """Lift the ban of a candidate. The candidates that it removed are offered to their archives again."""
    return Call(method="DELETE", path=place("/v1/runs/{}/bans/{}", run_id, candidate_id), answer=ChangedRun)


def list_priorities(run_id: str) -> Call[PriorityList]:
    """List the priorities of a run that were not lifted or used up."""
    return Call(method="GET", path=place("/v1/runs/{}/priorities", run_id), answer=PriorityList)


def create_priority(run_id: str, body: PriorityCreate) -> Call[ChangedRun]:
    """Give a candidate priority. The next proposals of the run start from it, also if no archive holds it."""
    return Call(method="POST", path=place("/v1/runs/{}/priorities", run_id), body=body, answer=ChangedRun)


def lift_priority(run_id: str, candidate_id: str) -> Call[ChangedRun]:
    """Lift the priority of a candidate before it is used up."""
    return Call(method="DELETE", path=place("/v1/runs/{}/priorities/{}", run_id, candidate_id), answer=ChangedRun)


def get_settings(run_id: str) -> Call[RunSettings]:
    """Read the settings of a run that may change while it is active, with the changes so far."""
    return Call(method="GET", path=place("/v1/runs/{}/settings", run_id), answer=RunSettings)


def change_settings(run_id: str, body: SettingsChange) -> Call[ChangedRun]:
    """Change settings of an active run. They hold for the proposals to come."""
    return Call(method="POST", path=place("/v1/runs/{}/settings", run_id), body=body, answer=ChangedRun)


def list_changes(run_id: str) -> Call[ChangeList]:
    """List the changes of a run that users asked for, each with its effect."""
    return Call(method="GET", path=place("/v1/runs/{}/changes", run_id), answer=ChangeList)


def get_change(run_id: str, change_id: str, wait_seconds: int = 0) -> Call[ChangeDecision]:
    """Read how the search decided on a change. `Prefer: wait=10` waits for the decision."""
    return Call(
        method="GET",
        path=place("/v1/runs/{}/changes/{}", run_id, change_id),
        headers={"Prefer": f"wait={wait_seconds}"} if wait_seconds else {},
        answer=ChangeDecision,
        wait_seconds=wait_seconds,
    )


def create_hint(run_id: str, body: HintCreate) -> Call[ChangedRun]:
    """Give a run, or one of its islands, a hint. It is in the next prompts, in place of any other hint."""
    return Call(method="POST", path=place("/v1/runs/{}/hints", run_id), body=body, answer=ChangedRun)


def insert_candidate(run_id: str, body: CandidateInsert) -> Call[ChangedRun]:
    """Insert a program that you wrote. The workers of the run evaluate it, and its operator is `manual`."""
    return Call(method="POST", path=place("/v1/runs/{}/candidates", run_id), body=body, answer=ChangedRun)


def list_insights(run_id: str) -> Call[InsightsList]:
    """List the versions of what a run has learnt, with the edits of users that wait for the run."""
    return Call(method="GET", path=place("/v1/runs/{}/insights", run_id), answer=InsightsList)


def edit_insights(run_id: str, body: InsightsEdit) -> Call[ChangedRun]:
    """Write the next version of a run's insights. It is in prompts until the run writes another."""
    return Call(method="POST", path=place("/v1/runs/{}/insights", run_id), body=body, answer=ChangedRun)


def create_run(body: RunCreate) -> Call[Run]:
    """Submit a run. A runner takes it from the queue. A run that cannot work is refused at once."""
    return Call(method="POST", path="/v1/runs", body=body, answer=Run)


def check_run(body: RunCreate) -> Call[RunCheck]:
    """Check a run without submitting it. Nothing is stored or run."""
    return Call(method="POST", path="/v1/runs/check", body=body, answer=RunCheck)


def get_run(run_id: str, wait_seconds: int = 0) -> Call[Run]:
    """Read a run. `Prefer: wait=30` waits for another state."""
    return Call(
        method="GET",
        path=place("/v1/runs/{}", run_id),
        headers={"Prefer": f"wait={wait_seconds}"} if wait_seconds else {},
        answer=Run,
        wait_seconds=wait_seconds,
    )


def update_run(run_id: str, body: RunPatch, tag: str = "") -> Call[Run]:
    """Replace a run's labels."""
    return Call(
        method="PATCH",
        path=place("/v1/runs/{}", run_id),
        body=body,
        headers={"If-Match": tag} if tag else {},
        answer=Run,
    )


def delete_run(run_id: str, tag: str = "") -> Call[None]:
    """Delete an ended or paused run. It disappears at once, and its data later."""
    return Call(
        method="DELETE", path=place("/v1/runs/{}", run_id), headers={"If-Match": tag} if tag else {}, answer=NoneType
    )


def pause_run(run_id: str) -> Call[Run]:
    """Pause a run. Repeating has no effect."""
    return Call(method="POST", path=place("/v1/runs/{}/pause", run_id), answer=Run)


def resume_run(run_id: str) -> Call[Run]:
    """Resume a paused or failed run. Repeating has no effect."""
    return Call(method="POST", path=place("/v1/runs/{}/resume", run_id), answer=Run)


def cancel_run(run_id: str) -> Call[Run]:
    """End a run permanently. Repeating has no effect."""
    return Call(method="POST", path=place("/v1/runs/{}/cancel", run_id), answer=Run)


def extend_run(run_id: str, body: BudgetExtension) -> Call[Run]:
    """Change the budget of a run. A run that has succeeded or failed continues: it is queued again."""
    return Call(method="POST", path=place("/v1/runs/{}/extend", run_id), body=body, answer=Run)


def fork_run(run_id: str, body: RunFork) -> Call[Run]:
    """Submit a run that starts from a program of this run."""
    return Call(method="POST", path=place("/v1/runs/{}/fork", run_id), body=body, answer=Run)
