"""A runner searches with a version of a registered policy, and its proposals name the version."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from evolve.event_types import ProposalCreated
from service.bootstrap.runners import open_runner
from service.bootstrap.storage import open_storage
from service.bootstrap.submissions import make_registry, make_submissions
from service.config import DatabaseSettings, Settings
from service.db.storage import SqlStorage
from service.errors import StorageError
from service.ports import Bundle, RunRequest, Upload
from service.problems.bundle import pack
from service.problems.folder import Folder
from service.projections.run_site import stored_site
from service.usecases.model_folders import ModelFolders
from tests.fakes.tiny_llama import write_parrot
from tests.unit.problems.folders import NATIVE, SCORE, SEED

FILES = {"problem.toml": NATIVE.encode(), "seed.py": SEED.encode(), "evaluator.py": SCORE.encode()}


def model(folder: Path, first: int) -> dict[str, bytes]:
    """A model that writes one of 32 programs of one line."""
    programs = [f"solve=lambda:{number}" for number in range(first, first + 32)]
    written = write_parrot(folder, "|".join(programs), ("<answers>", *programs), max_position_embeddings=64)
    (written / "chat_template.jinja").write_text("{{ bos_token }} <answers>")
    (written / "evolve.toml").write_text('format = "single"\nsamples = 3\n')
    return {path.name: path.read_bytes() for path in written.iterdir()}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "evolve" / "models"


def request(policy: Any) -> RunRequest:
    return RunRequest(problem="p", config={"budget": {"evaluations": 6}, "seed": 3}, policy=policy)


def proposals(storage: SqlStorage, run_id: str) -> set[str]:
    told = [found.event.data for found in storage.reader.events(run_id, 0, 1000)]
    return {data.policy for data in told if isinstance(data, ProposalCreated)}


async def ran(settings: Settings, storage: SqlStorage, *runs: str) -> None:
    async with open_runner(settings, storage) as opened:
        running = asyncio.create_task(opened.run())
        for run_id in runs:
            await asyncio.to_thread(list, stored_site(storage.reader, storage.url).events(run_id, 0))  # to its end
        opened.runner.leave()
        await running


async def test_runs_search_with_the_version_that_they_were_submitted_with(tmp_path: Path, cache: Path) -> None:
    settings = Settings(database=DatabaseSettings(url=SecretStr(f"sqlite:///{tmp_path / 'runs.db'}")))
    with open_storage(settings) as storage:
        submissions, registry = make_submissions(settings, storage), make_registry(settings, storage)
        storage.problems.add(submissions.read_problem(Upload(name="", files=FILES)))
        registry.register("default", "writer", "", shared=False, by="")
        for number in (1, 2):
            registry.add_version("default", "writer", model(tmp_path / f"model{number}", 100 * number))
        registry.promote("default", "writer", 1, by="")
        first = submissions.submit("default", request("writer"))
        registry.promote("default", "writer", 2, by="", force="a test")
        second = submissions.submit("default", request("writer"))
        both = submissions.submit("default", request(["writer@1", "writer@2"]))
        await ran(settings, storage, first.id, second.id, both.id)
        assert storage.reader.run(first.id).state == "succeeded"
        assert proposals(storage, first.id) == {"writer@1"}
        assert proposals(storage, second.id) == {"writer@2"}
        assert proposals(storage, both.id) == {"writer@1", "writer@2"}
        hashes = {registry.version("default", "writer", number).bundle_hash for number in (1, 2)}
        assert set(await asyncio.to_thread(os.listdir, cache)) == hashes


def folder(*names: str) -> Bundle:
    return pack(Folder(files={name: name.encode() for name in names}))


def test_a_model_is_unpacked_once(tmp_path: Path) -> None:
    asked: list[str] = []
    bundle = folder("a", "b/c")

    def give(bundle_hash: str) -> Bundle:
        asked.append(bundle_hash)
        return bundle

    folders = ModelFolders(give, tmp_path)
    place = folders.folder(bundle.hash)
    assert ((place / "b" / "c").read_bytes(), folders.folder(bundle.hash)) == (b"b/c", place)
    assert asked == [bundle.hash]
    assert [path.name for path in tmp_path.iterdir()] == [bundle.hash]


def test_a_damaged_model_leaves_nothing_behind(tmp_path: Path) -> None:
    bundle = folder("a")
    with pytest.raises(StorageError, match="does not match its hash"):
        ModelFolders(lambda _: Bundle(hash="0" * 64, content=bundle.content), tmp_path).folder("0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_of_two_processes_that_unpack_a_model_both_have_it(tmp_path: Path) -> None:
    bundle = folder("a")

    def give(bundle_hash: str) -> Any:
        (tmp_path / bundle_hash).mkdir()  # the other was faster
        (tmp_path / bundle_hash / "a").write_bytes(b"a")
        return bundle

    assert (ModelFolders(give, tmp_path).folder(bundle.hash) / "a").read_bytes() == b"a"
    assert [path.name for path in tmp_path.iterdir()] == [bundle.hash]
