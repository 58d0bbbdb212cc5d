"""A backup has policies, versions and evaluations, training jobs with their events, and what may be trained on."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy.engine import make_url

from service.bootstrap.storage import open_storage
from service.bootstrap.submissions import make_registry
from service.bootstrap.trainers import make_trainer, make_training_jobs
from service.config import DatabaseSettings, Settings
from service.db.backup import backup, restore
from service.db.engine import Database
from service.db.storage import SqlStorage
from service.errors import ConflictError, RefusedError
from service.ports import JOB_ENDED, PolicyEvaluation
from service.usecases.model_folders import ModelFolders
from tests.contract.story import RUN, FixedClock
from tests.fakes.tiny_llama import write_model
from tests.fakes.training_backend import CountingBackend
from tests.integration.maintenance.conftest import rows, tell

BACKENDS = {"count": CountingBackend()}
PROBLEMS = [f"maze {number}" for number in range(6)]
REQUEST: dict[str, Any] = {
    "policy": "walker", "backend": "count", "base": "walker", "method": "", "runs": [], "problem": "", "labels": {},
    "seed": 3, "steps": 12, "max_seconds": 0, "test_problems": 8, "promote": True,
}  # fmt: skip


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CACHE", "DATA"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[3]))  # of the processes that count


def settings_of(database: Database) -> Settings:
    return Settings(database=DatabaseSettings(url=SecretStr(url_of(database))))


def url_of(database: Database) -> str:
    return make_url(database.engine.url).render_as_string(hide_password=False)


def fill(database: Database, folder: Path) -> dict[str, Any]:
    """A policy with two versions, an evaluation, an ended and a queued job, and two permissions. Returns their ids."""
    tell(database, RUN)
    settings = settings_of(database)
    with open_storage(settings) as storage:
        registry, jobs = make_registry(settings, storage), make_training_jobs(settings, storage, BACKENDS)
        registry.register("default", "walker", "walks \x00 \ud800", shared=True, by="ci")
        for seed in (1, 2):
            files = {path.name: path.read_bytes() for path in write_model(folder / str(seed), seed=seed).iterdir()}
            registry.add_version("default", "walker", files, card=f"# Card {seed}", training={"problems": ["maze 9"]})
        registry.promote("default", "walker", 1, by="ci")
        worse = PolicyEvaluation(
            against=1, metric="best@1", problems=PROBLEMS, values=[0.1] * 6, baseline=[0.2, 0.3, 0.2, 0.3, 0.2, 0.3]
        )
        registry.evaluate("default", "walker", 2, worse)
        jobs.permit("default", "", allowed=True, by="ci")
        jobs.permit("default", RUN, allowed=False, by="ci")
        ended, queued = (jobs.submit("default", REQUEST, "ci").id for _ in range(2))
        jobs.cancel("default", ended)
    return {"ended": ended, "queued": queued}


def told(storage: SqlStorage, settings: Settings, ids: dict[str, Any]) -> list[Any]:
    """What front doors say of policies and training."""
    registry, jobs = make_registry(settings, storage), make_training_jobs(settings, storage, BACKENDS)
    return [
        registry.policies("default"),
        registry.versions("default", "walker"),
        jobs.jobs("default"),
        [jobs.events("default", job) for job in ids.values()],
        jobs.permissions("default"),
    ]


def test_policies_and_training_are_restored_and_work(
    database: Database, target: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = fill(database, tmp_path)
    before, after = settings_of(database), settings_of(target)
    with open_storage(before) as storage:
        expected = told(storage, before, ids)
    backup(database, tmp_path / "backup", FixedClock())
    assert restore(target, tmp_path / "backup") == rows(database)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "another machine"))  # without models that were unpacked
    with open_storage(after) as storage:
        assert told(storage, after, ids) == expected
        registry, jobs = make_registry(after, storage), make_training_jobs(after, storage, BACKENDS)
        folder = ModelFolders(storage.problems.bundle).folder(registry.version("default", "walker", 2).bundle_hash)
        assert {path.name for path in folder.iterdir()} == {path.name for path in (tmp_path / "2").iterdir()}
        with pytest.raises(ConflictError, match="must lie above 0"):
            registry.promote("default", "walker", 2, by="ci")
        with pytest.raises(RefusedError, match="may not be trained on"):
            jobs.submit("default", REQUEST | {"runs": [RUN]}, "ci")
        trainer = make_trainer(after, storage, folder=tmp_path / "jobs", backends=BACKENDS)
        trainer.run(lambda: all(job.state in JOB_ENDED for job in jobs.jobs("default")))
        found = jobs.get("default", ids["queued"])
        assert (found.state, found.version, found.error) == ("succeeded", 3, "")
        assert registry.get("default", "walker").promoted == 3
        jobs.resume("default", ids["ended"])
        trainer.run(lambda: jobs.get("default", ids["ended"]).state in JOB_ENDED)
        assert registry.version("default", "walker", 4).training["job"] == ids["ended"]
