"""Which versions of a run's policy its server has loaded: those that are asked, and at the end the newest alone."""

import asyncio
import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from evolve.change_events import PolicyUpdated
from evolve.configuration import RunConfig
from evolve.configuration.learning import LearningConfig
from evolve.search.learning import Learning
from service.errors import UnreachableError
from service.ports import RunTrainer, UpdateOrder, UpdateResult
from service.runner.policy_learner import RELOAD_SECONDS, PolicyLearner
from service.runner.storage_retry import StorageRetry
from tests.contract.story import FixedClock

CONFIG = RunConfig(learning=LearningConfig(every=1, updates=9, versions=1))
MADE = UpdateResult(policy="run@9", model="hash 9")


def updated(number: int) -> PolicyUpdated:
    return PolicyUpdated(
        change_id=f"chg_{number}", by="", number=number, policy=f"run@{number}", start="start", base="start",
        answered=number, through=number, model=f"hash {number}", seconds=1.0,
    )  # fmt: skip


class Versions:
    """The port RunVersions of a server that is told to fail; it notes what was asked of it."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.away = False

    async def check(self) -> None:
        raise NotImplementedError

    async def load(self, policy: str, model: str) -> None:
        self.asked.append(f"load {policy} {model}")
        if self.away:
            raise UnreachableError("it is away")

    async def open(self, policy: str, model: str) -> Any:
        self.asked.append(f"open {policy} {model}")

    async def unload(self, policy: str, model: str) -> None:
        self.asked.append(f"unload {policy} {model}")
        if self.away:
            raise UnreachableError("it is away")


class Trainer:
    """The port RunTrainer, whose jobs end at once."""

    backend = "trl"

    def submit(self, order: UpdateOrder) -> str:
        return f"trn_{order.number}"

    def result(self, job_id: str) -> UpdateResult:
        assert job_id
        return MADE

    def waits(self, job_id: str) -> bool:
        return not job_id

    def cancel(self, job_id: str) -> None:
        assert job_id


class Scene:
    """A learner of a run that made these updates, and whose proposals with these policies await answers."""

    def __init__(self, updates: Sequence[int], unanswered: Sequence[str] = ()) -> None:
        self.learning = Learning(CONFIG.learning)
        self.learning.updates += map(updated, updates)
        self.open = {
            place: SimpleNamespace(created=SimpleNamespace(policy=name)) for place, name in enumerate(unanswered)
        }
        self.state = SimpleNamespace(
            changes=SimpleNamespace(learning=self.learning), open=self.open, pending={}, asked=9
        )
        self.removed: list[str] = []
        self.dispatcher = SimpleNamespace(away=frozenset(), add=lambda _: None, remove=self.removed.append)
        self.versions, self.clock = Versions(), FixedClock()
        self.learner = PolicyLearner(
            "run_1", CONFIG, "start", state=cast("Any", self.state), dispatcher=cast("Any", self.dispatcher),
            trainer=cast("RunTrainer", Trainer()), versions=self.versions,
            retry=StorageRetry(self.clock, math.inf, lambda: None), clock=self.clock, wake=lambda: None,
        )  # fmt: skip

    async def turn(self) -> list[str]:
        """What is asked of the server in some turns of the loop."""
        before = len(self.versions.asked)
        for _ in range(8):
            self.learner.turn(written=1, committed=1)
            await asyncio.sleep(0)
        return self.versions.asked[before:]


async def test_a_version_is_unloaded_once_its_last_answer_is_there() -> None:
    scene = Scene([1, 2, 3], ["run@2", "start"])
    assert await scene.turn() == ["unload run@1 hash 1"]
    scene.open.clear()
    assert await scene.turn() == ["unload run@2 hash 2"]
    assert await scene.turn() == []
    assert scene.removed == ["run@1", "run@2"]


async def test_a_version_that_stays_loaded_is_not_tried_for_ever() -> None:
    scene = Scene([1, 2])
    scene.versions.away = True
    assert await scene.turn() == ["unload run@1 hash 1"]
    assert await scene.turn() == []


async def test_a_version_that_its_server_lost_is_loaded_again() -> None:
    scene = Scene([1])
    assert await scene.turn() == []
    scene.dispatcher.away, scene.versions.away = frozenset({"start", "run@1"}), True
    assert await scene.turn() == ["load run@1 hash 1"]
    assert await scene.turn() == []
    scene.clock.advance(RELOAD_SECONDS)
    assert await scene.turn() == ["load run@1 hash 1"]


@pytest.mark.parametrize("away", [False, True])
async def test_a_resumed_run_opens_what_it_asks_whether_or_not_it_loads(away: bool) -> None:
    scene = Scene([1, 2, 3], ["run@2"])
    scene.versions.away = away
    await scene.learner.reopen()
    opened = ["load run@2 hash 2", "open run@2 hash 2", "load run@3 hash 3", "open run@3 hash 3"]
    assert scene.versions.asked == opened


async def test_the_end_of_a_run_unloads_all_versions_but_the_newest() -> None:
    scene = Scene([1, 2, 3], ["run@2"])
    await scene.turn()
    await scene.learner.cancel()
    assert scene.versions.asked == ["unload run@1 hash 1"]
    await scene.learner.cancel(ended=True)
    assert scene.versions.asked[1:] == ["unload run@2 hash 2"]


async def test_the_end_of_a_run_unloads_a_version_whose_update_was_not_recorded() -> None:
    scene = Scene([1])
    for number in range(1, 6):
        scene.learning.answer(number)
    for _ in range(400):
        scene.learner.turn(written=1, committed=1)
        if any(one.startswith("open") for one in scene.versions.asked):
            break
        await asyncio.sleep(0.01)
    await scene.learner.cancel(ended=True)
    assert scene.versions.asked == ["load run@9 hash 9", "open run@9 hash 9", "unload run@9 hash 9"]
