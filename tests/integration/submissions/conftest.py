"""An installation with a database and an operator's policies, to which problems and runs are submitted."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from evolve.program import Program
from service.bootstrap.storage import open_storage
from service.bootstrap.submissions import make_submissions
from service.config import DatabaseSettings, PoliciesSettings, Settings
from service.db.storage import SqlStorage
from service.net import Resolve
from service.ports import RunRecord, RunRequest, Upload
from service.usecases.submit_run import BundledSubmissions
from tests.contract.story import FixedClock, Story
from tests.databases import sqlite_file
from tests.unit.problems.folders import NATIVE, SCORE, SEED

OPERATOR = """\
[[policies]]
name = "own"
base_url = "http://10.0.0.5:8000/v1"
model = "vpo"
api_key_env = "OPERATORS_OWN_KEY"
"""
PUBLIC = "93.184.215.14"
TENANT = "default"
FILES = {"problem.toml": NATIVE.encode(), "seed.py": SEED.encode(), "evaluator.py": SCORE.encode()}


@dataclass(frozen=True, slots=True, kw_only=True)
class House:
    """What is submitted to, and where it goes; `stores` are those of the storage by the clock of the test."""

    settings: Settings
    storage: SqlStorage
    stores: SqlStorage
    clock: FixedClock
    submissions: BundledSubmissions

    def problem(self, name: str = "", files: Mapping[str, bytes] = FILES) -> str:
        new = self.submissions.read_problem(Upload(name=name, files=files))
        return self.storage.problems.add(new).id

    def submit(self, **words: Any) -> RunRecord:
        return self.submissions.submit(TENANT, RunRequest(**words))

    def evolved(self, run: RunRecord, program: Program) -> str:
        """A candidate of a run, scored."""
        story = Story(run.id)
        candidate = story.id(0)
        fence = self.storage.log.take(run.id, "somebody", 60.0)
        self.storage.log.append(run.id, fence, [story.create(0, program=program), story.evaluate(candidate)])
        self.storage.log.release(run.id, fence)
        return candidate


Build = Callable[..., House]


@pytest.fixture
def build(tmp_path: Path) -> Iterator[Build]:
    """Makes a house; `policies` are further settings of the group."""
    opened: list[Any] = []

    def make(resolve: Resolve = lambda *_: [PUBLIC], operator: str = OPERATOR, **policies: Any) -> House:
        (tmp_path / "policies.toml").write_text(operator)
        settings = Settings(
            database=DatabaseSettings(url=sqlite_file(tmp_path / "evolve.db")),
            policies=PoliciesSettings(file=tmp_path / "policies.toml", **policies),
        )
        opened.append(open_storage(settings))
        storage, clock = opened[-1].__enter__(), FixedClock()
        stores = SqlStorage(storage.database, storage.url, clock)
        submissions = make_submissions(settings, stores, resolve=resolve)
        return House(settings=settings, storage=storage, stores=stores, clock=clock, submissions=submissions)

    yield make
    for storage in opened:
        storage.__exit__(None, None, None)


@pytest.fixture
def house(build: Build) -> House:
    return build()
