"""A problem of somebody else's opens no path of the machine that evaluates it; the operator's settings alone do."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from service.bootstrap.submissions import make_submissions
from service.bootstrap.workers import open_local_worker
from service.config import SandboxSettings, Settings
from service.errors import InvalidProblemError, RefusedError
from service.ports import RunRequest, Upload
from service.problems.folder import Folder
from service.problems.load import load_files
from service.problems.project import FILE
from service.queue.memory import MemoryBroker
from service.timestamps import SystemClock
from tests.integration.submissions.conftest import FILES, TENANT, Build
from tests.unit.problems.folders import NATIVE


def upload(key: str, path: str) -> dict[str, bytes]:
    document = NATIVE.replace('entry = "solve"', f'entry = "solve"\n{key} = ["{path}"]')
    return {**FILES, "problem.toml": document.encode()}


ASKED = ["/etc", "/etc/passwd", "/", "~", "~/.ssh", "/srv/data/../../etc", "/srv/database", "cases", "../../etc"]


@pytest.mark.parametrize("key", ["read", "path"])
@pytest.mark.parametrize("path", ASKED)
@pytest.mark.parametrize("queue", [None, "redis://127.0.0.1:1/0"], ids=["here", "workers"])
async def test_an_uploaded_problem_that_asks_for_a_path_is_refused(
    build: Build, queue: str | None, key: str, path: str
) -> None:
    house = build()
    granting = house.settings.sandbox.model_copy(update={"read": ("/srv/data",)})
    settings = house.settings.model_copy(update={"sandbox": granting})
    submissions = make_submissions(settings, house.stores, queue=queue)
    files = upload(key, path)
    words = rf"asks for evaluator\.{key} = .* not permitted here: .* the setting sandbox\.{key}"
    with pytest.raises(RefusedError, match=words):
        await submissions.check_problem(Upload(name="", files=files))
    house.problem(files=files)
    with pytest.raises(RefusedError, match=words):
        submissions.submit(TENANT, RunRequest(problem="p"))


async def test_an_uploaded_problem_has_no_paths_of_its_evaluator_alone(build: Build) -> None:
    house = build()
    granting = house.settings.sandbox.model_copy(update={"read": ("/srv/data",)})
    submissions = make_submissions(house.settings.model_copy(update={"sandbox": granting}), house.stores)
    with pytest.raises(RefusedError, match=r"evaluator\.scorer_read, which is for problems of one's own"):
        await submissions.check_problem(Upload(name="", files=upload("scorer_read", "/srv/data/answers")))


def test_an_upload_cannot_say_where_its_relative_paths_lead(build: Build) -> None:
    house = build()
    house.problem(files={**upload("read", "etc"), FILE: json.dumps({"folder": "/"}).encode()})
    with pytest.raises(RefusedError, match=r"asks for evaluator\.read = '/etc'"):
        house.submit(problem="p")


async def reason_of(settings: Settings, files: Mapping[str, bytes]) -> str:
    """Why a worker does not open a problem; empty: it does."""
    loaded = load_files(Folder(files=files), "p", "a test")
    async with open_local_worker(settings, MemoryBroker(clock=SystemClock()), slots=1) as opening:
        try:
            async with opening._evaluators._open(loaded.bundle):
                return ""
        except (RefusedError, InvalidProblemError) as error:
            return str(error)


@pytest.mark.parametrize("path", ["/etc", "~", "/"])
async def test_a_worker_itself_opens_nothing_that_its_operator_does_not_grant(path: str) -> None:
    """Whoever may write to the queue reaches it past the API."""
    assert "which is not permitted here" in await reason_of(Settings(), upload("read", path))


async def test_a_worker_opens_what_its_operator_grants(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    files = upload("read", f"{tmp_path}/data/number")
    settings = Settings(sandbox=SandboxSettings(read=(str(tmp_path / "data"),)))
    assert "'does not exist" not in await reason_of(settings, upload("read", str(tmp_path / "data")))
    assert "number' does not exist" in await reason_of(settings, files)
    (tmp_path / "data" / "number").write_text("1")
    assert await reason_of(settings, files) == ""
    (tmp_path / "data" / "out").symlink_to("/etc")
    assert "not permitted" in await reason_of(settings, upload("read", f"{tmp_path}/data/out"))


async def test_a_worker_whose_operator_opens_too_much_does_not_start() -> None:
    with pytest.raises(RefusedError, match=r"the setting sandbox\.read: '/' holds the home directory as a whole"):
        await reason_of(Settings(sandbox=SandboxSettings(read=("/",))), FILES)
