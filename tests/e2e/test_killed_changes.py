"""A runner is killed in the middle of what people ask of its run: each change is made once, and holds for the next."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from evolve.change_events import (
    BanLifted,
    CandidateBanned,
    ChangeData,
    ChangeRefused,
    PriorityGiven,
    RequestedChange,
    SettingsChanged,
)
from evolve.event_types import CandidateEvaluated, ProposalCreated
from service.ports import CANCELLED
from tests.e2e.evolving import make_problem
from tests.e2e.test_runners import SLOW, Installation, installed

# A runner looks for changes every 0.3 s: these kills come before it reads them, before its commit, or after it.
DELAYS_SECONDS = (0.0, 0.2, 0.4)


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[Installation]:
    """SQLite, and nothing beside the runner."""
    with installed(tmp_path, f"sqlite:///{tmp_path / 'runs.db'}") as installation:
        yield installation


def used(alone: Installation, run: str) -> list[ProposalCreated]:
    """The proposals that started from a candidate with priority."""
    created = (entry.event.data for entry in alone.events(run))
    return [one for one in created if isinstance(one, ProposalCreated) and one.priority]


def test_changes_hold_once_though_their_runner_is_killed_meanwhile(alone: Installation, tmp_path: Path) -> None:
    problem = make_problem(tmp_path / "slow", evaluations=5000)
    (problem / "evaluator.py").write_text(SLOW)
    run = alone.create(problem)
    asked: list[ChangeData] = []

    def ask(change: ChangeData) -> None:
        asked.append(change)
        alone.intents.change(run, RequestedChange(data=change))

    for number, delay in enumerate(DELAYS_SECONDS):
        runner = alone.runner()
        before = alone.record(run).counters.evaluations
        alone.until_evaluated([run], before + 8)
        found = [one for one in alone.storage.reader.candidates(run, limit=2000) if one.outcome == "ok"]
        banned, preferred = found[2 * number + 1].id, found[2 * number + 2].id
        ask(CandidateBanned(change_id=f"chg_ban_{number}", by="ada", candidate_id=banned, descendants=False))
        ask(SettingsChanged(change_id=f"chg_set_{number}", by="ada", settings={"inspirations.top": number}))
        ask(PriorityGiven(change_id=f"chg_pri_{number}", by="ada", candidate_id=preferred, proposals=2))
        if number == 1:  # a lift that is made twice would be refused the second time
            earlier = next(one for one in asked if isinstance(one, CandidateBanned))
            ask(BanLifted(change_id="chg_lift", by="ada", candidate_id=earlier.candidate_id))
        time.sleep(delay)  # the kill comes where the runner may be anywhere on its way
        assert runner.end(signal.SIGKILL) == -signal.SIGKILL
    last = alone.runner()
    alone.until(lambda: alone.intents.changes(run) == [])
    alone.until(lambda: len(used(alone, run)) == 2 * len(DELAYS_SECONDS))
    alone.until_evaluated([run], alone.record(run).counters.evaluations + 8)
    alone.intents.want(run, CANCELLED, "ada")
    alone.until_ended(run)
    assert last.end(signal.SIGTERM) == 0

    told = [entry.event.data for entry in alone.events(run)]
    made = [data for data in told if isinstance(data, ChangeData)]
    assert sorted(data.change_id for data in made) == sorted(data.change_id for data in asked)
    assert [data for data in made if isinstance(data, ChangeRefused)] == []
    lifted = {data.candidate_id for data in made if isinstance(data, BanLifted)}
    for data in [one for one in made if isinstance(one, CandidateBanned) and one.candidate_id not in lifted]:
        after = [one for one in told[told.index(data) :] if isinstance(one, ProposalCreated)]
        assert after
        assert data.candidate_id not in {name for one in after for name, _ in one.parents}
    for given in [one for one in made if isinstance(one, PriorityGiven)]:
        parents = [one.parents[0][0] for one in used(alone, run) if one.priority == given.change_id]
        assert parents == [given.candidate_id] * 2
    assert [entry.sequence for entry in alone.events(run)] == list(range(1, len(told) + 1))
    evaluated = [one.candidate_id for one in told if isinstance(one, CandidateEvaluated)]
    assert len(evaluated) == len(set(evaluated))
