"""An installation in memory: its stores, its policies, its evaluators, and what is submitted to it."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from service.config import Settings
from service.net import Resolve
from service.ports import RunRecord, RunRequest, Upload
from service.usecases.submit_run import BundledSubmissions
from tests.fakes.evaluators import FakeEvaluators, FakePolicies
from tests.fakes.storage import MemoryStorage
from tests.unit.problems.folders import NATIVE, SCORE, SEED

TENANT = "default"
FILES = {"problem.toml": NATIVE.encode(), "seed.py": SEED.encode(), "evaluator.py": SCORE.encode()}


@dataclass
class Installation:
    """What use cases are given."""

    settings: Settings = field(default_factory=Settings)
    storage: MemoryStorage = field(default_factory=MemoryStorage)
    policies: FakePolicies = field(default_factory=FakePolicies)
    evaluators: FakeEvaluators = field(default_factory=FakeEvaluators)
    resolve: Resolve = lambda *_: ["93.184.215.14"]

    def submissions(self) -> BundledSubmissions:
        return BundledSubmissions(self.settings, self.storage, self.evaluators, resolve=self.resolve)

    def problem(self) -> str:
        return self.storage.problems.add(self.submissions().read_problem(Upload(name="", files=FILES))).id

    def submitted(self) -> RunRecord:
        """A run of a stored problem."""
        return self.submissions().submit(TENANT, RunRequest(problem=self.problem()), "laptop")


@pytest.fixture
def installation() -> Installation:
    return Installation()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A problem's folder."""
    place = tmp_path / "problem"
    place.mkdir()
    for name, content in FILES.items():
        (place / name).write_bytes(content)
    return place
