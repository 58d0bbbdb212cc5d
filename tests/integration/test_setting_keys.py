"""No setting of an installation is dead: each, named in the environment, changes what the parts do that it is for."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio import to_thread
from fastapi import FastAPI, Request

from evolve.errors import ConfigurationError
from service import keys
from service.api.dependencies import ApiDependencies
from service.api.http_server import http_server
from service.api.problem_errors import ApiFault
from service.app import create_app
from service.bootstrap.api import open_parts
from service.bootstrap.evaluators import queue_url
from service.bootstrap.runners import open_runner
from service.bootstrap.storage import open_storage
from service.bootstrap.submissions import make_submissions
from service.client.service_choice import SourceOptions, server_key, server_of
from service.config import Settings, database_url, known_keys, load_settings
from service.dashboard.pages import public_address
from service.db.problems import SqlProblemStore
from service.db.secret import open_seal
from service.errors import InvalidProblemError, RefusedError, ServiceError, UsageError
from service.ports import KeyRecord, RunRequest, Scope, Upload
from service.problems.bundle import pack
from service.problems.evaluator_environment import with_environment
from service.problems.folder import Folder
from service.problems.inline_problem import InlineProblem, load_sketch
from service.queue.memory import MemoryBroker
from service.sandbox.container_runtime import find_runtime
from service.sandbox.devices import find_devices
from service.sandbox.examination import examine_sandbox
from service.timestamps import SystemClock
from service.usecases.maintenance import read_retention
from tests.contract.story import START
from tests.databases import sqlite_file
from tests.unit.problems.folders import NATIVE, SCORE, SEED

Proof = Callable[[Settings], Awaitable[object]]
SECRET = "of the tests of settings, and of nobody else"
PRIVATE = {"name": "mine", "base_url": "http://10.0.0.9:8000/v1", "model": "m"}


def submitting(lines: str = "", policy: Any = "syntax") -> Proof:
    """What comes of submitting a run of a problem with further lines."""

    async def submit(settings: Settings) -> object:
        document = NATIVE.replace("[[objectives]]", f"{lines}\n[[objectives]]")
        files = {"problem.toml": document.encode(), "seed.py": SEED.encode(), "evaluator.py": SCORE.encode()}
        with open_storage(settings) as storage:
            submissions = make_submissions(settings, storage, resolve=lambda *_: ["10.0.0.9"])
            SqlProblemStore(storage.database).add(submissions.read_problem(Upload(name="", files=files)))
            try:
                return bool(submissions.prepare("default", [RunRequest(problem="p", policy=policy)]))
            except (ServiceError, ConfigurationError) as error:
                return str(error)

    return submit


def limited(key: str, value: int) -> Proof:
    return submitting(f"[limits]\n{key} = {value}")


def of(read: Callable[[Settings], object]) -> Proof:
    async def told(settings: Settings) -> object:
        try:
            return read(settings)
        except UsageError as error:
            return str(error)

    return told


@asynccontextmanager
async def living(settings: Settings) -> AsyncIterator[tuple[Any, ApiDependencies, httpx.AsyncClient]]:
    async with open_parts(settings) as parts:
        app = create_app(parts)
        minted = keys.mint(parts.signer)
        record = KeyRecord(
            id="key_1", tenant="default", name="test", shown=minted.shown, scopes=tuple(Scope), created_at=START,
            created_by="test",
        )  # fmt: skip
        parts.keys.add(record, minted.hash)
        headers = {"Authorization": f"Bearer {minted.text}"}
        transport = httpx.ASGITransport(app)
        async with app.router.lifespan_context(app), httpx.AsyncClient(
            transport=transport, base_url="http://api", headers=headers
        ) as client:  # fmt: skip
            yield app, parts, client


def served(ask: Callable[[Any, ApiDependencies, httpx.AsyncClient], Awaitable[object]]) -> Proof:
    async def told(settings: Settings) -> object:
        async with living(settings) as (app, parts, client):
            return await ask(app, parts, client)

    return told


async def crowd(app: Any, actors: Any) -> int:
    """How many streams there may be, each of the next actor."""
    async with AsyncExitStack() as stack:
        for number, actor in enumerate(actors):
            try:
                stack.enter_context(app.state.opened.one(actor))
            except ApiFault:
                return number
    raise AssertionError("there is no end to them")


async def _trained(_: object, __: object, client: httpx.AsyncClient) -> object:
    await client.post("/v1/policies", json={"name": "walker"})
    body = {"policy": "walker", "backend": "my_package:Trainer"}
    return (await client.post("/v1/training-jobs", json=body)).status_code


async def _threads(*_: object) -> object:
    return to_thread.current_default_thread_limiter().total_tokens


async def _body(_: object, __: object, client: httpx.AsyncClient) -> object:
    return (await client.post("/v1/runs", content=b" " * (2 << 20))).status_code


async def _origin(_: object, __: object, client: httpx.AsyncClient) -> object:
    answer = await client.get("/healthz", headers={"Origin": "https://lab.example"})
    return answer.headers.get("access-control-allow-origin")


def _deadlines(settings: Settings) -> object:
    protocol: Any = http_server(FastAPI(), settings.api).config.http
    return protocol.seconds


async def _often(_: object, __: object, client: httpx.AsyncClient) -> object:
    return [(await client.get("/v1/runs")).status_code for _ in range(3)]


async def _audited(_: object, __: object, client: httpx.AsyncClient) -> object:
    await client.post("/v1/api-keys", json={"name": "ci", "scopes": ["runs:read"]})
    return [entry["action"] for entry in (await client.get("/v1/audit")).json()["items"]]


async def _handed_on(app: Any, *_: object) -> object:
    return public_address(Request({"type": "http", "headers": [(b"host", b"inside")], "app": app}), "/runs")


async def _hooked(_: object, parts: ApiDependencies, __: object) -> object:
    try:
        return parts.check_webhook("http://127.0.0.1:9/")
    except ServiceError as error:
        return str(error)


async def _driving(settings: Settings) -> object:
    with open_storage(settings) as storage:
        async with open_runner(settings, storage, broker=MemoryBroker(SystemClock())) as opened:
            return opened.maximum


async def _tracked(settings: Settings) -> object:
    try:
        return await _driving(settings)
    except ConfigurationError as error:
        return str(error)


async def _environment(settings: Settings) -> object:
    """What comes of a problem that asks for a package which cannot be installed."""
    loaded = load_sketch(InlineProblem(seed="x"))
    files = {"requirements.txt": b"-r elsewhere.txt"}
    try:
        found = await with_environment(loaded.problem, pack(Folder(files=files)), settings.sandbox, others=True)
    except InvalidProblemError as error:
        return str(error)
    return found.evaluator.python


async def _required(settings: Settings) -> object:
    return (await examine_sandbox(settings.sandbox)).required


async def _container_runtime(settings: Settings) -> object:
    """What is said of the runtimes of a machine that has none."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", "/nowhere")
        with pytest.raises(RefusedError) as refused:
            await find_runtime(settings.sandbox.container_runtime)
    return str(refused.value)


async def _devices(settings: Settings) -> object:
    """What is said of devices on a machine that has none."""
    try:
        return find_devices(settings.sandbox.devices, {}, root=Path("/nowhere"))
    except UsageError as error:
        return str(error)


# Of each setting another value than the default, as the environment holds it, and where it shows.
KEYS: Mapping[str, tuple[str, Proof]] = {
    "database.url": ("sqlite:///FOLDER/other.db", of(lambda settings: database_url(settings, None))),
    "sandbox.require": ("medium", _required),
    "sandbox.network": ("true", submitting("[limits]\nnetwork = true")),
    "sandbox.gpu": ("true", submitting("[limits]\ngpu = true")),
    "sandbox.devices": ("7", _devices),
    "sandbox.interpreters": ("/usr/bin/python9", submitting('python = "/usr/bin/python9"')),
    "sandbox.images": ("lab/*", submitting('image = "lab/fluid:1"')),
    "sandbox.container_runtime": ("podman", _container_runtime),
    "sandbox.read": ("/srv/data", submitting('read = ["/srv/data/cases.json"]')),
    "sandbox.path": ("/opt/tools/bin", submitting('path = ["/opt/tools/bin"]')),
    "sandbox.environments": ("true", _environment),
    "sandbox.max_wall_seconds": ("9", limited("wall_seconds", 10)),
    "sandbox.max_cpu_seconds": ("9", limited("cpu_seconds", 10)),
    "sandbox.max_memory_mb": ("99", limited("memory_mb", 100)),
    "sandbox.max_processes": ("9", limited("processes", 10)),
    "sandbox.max_disk_mb": ("9", limited("disk_mb", 10)),
    "sandbox.max_output_kb": ("9", limited("output_kb", 10)),
    "sandbox.max_repeats": ("2", submitting("repeats = 3")),
    "queue.url": ("redis://127.0.0.1:1/0", of(lambda settings: queue_url(settings, None))),
    "api.secret": (f"another, {SECRET}", of(lambda settings: open_seal(settings).digest("key", "evo_x"))),
    "api.public_url": ("https://evolve.example", served(_handed_on)),
    "api.body_limit_mb": ("1", served(_body)),
    "api.threads": ("3", served(_threads)),
    "api.requests_per_minute": ("1", served(_often)),
    "api.streams": ("3", served(lambda app, *_: crowd(app, itertools.repeat("key_1")))),
    "api.cors_origins": ("https://lab.example", served(_origin)),
    "api.head_seconds": ("9", of(_deadlines)),
    "api.body_seconds": ("9", of(_deadlines)),
    "api.all_streams": ("3", served(lambda app, *_: crowd(app, itertools.count()))),
    "api.unaudited": ("create_key", served(_audited)),
    "policies.file": ("FOLDER/policies.toml", submitting(policy="own")),
    "policies.allow": ("10.0.0.9:8000", submitting(policy=PRIVATE)),
    "policies.private": ("true", submitting(policy=PRIVATE)),
    "extensions.allow": ("my_package:Greedy", submitting("[search]\nselection = { 'my_package:Greedy' = 1.0 }\n")),
    "training.backends": ("my_package:Trainer", served(_trained)),
    "webhooks.private": ("true", served(_hooked)),
    "retention.days": ("9", of(lambda settings: read_retention(settings.retention, None, []))),
    "retention.audit_days": ("9", of(lambda settings: read_retention(settings.retention, 1, []))),
    "runner.runs": ("3", _driving),
    "tracking.trackers": ("nowhere:Tracker", _tracked),
    "server.url": ("https://evolve.example", of(lambda settings: server_of(settings, SourceOptions()))),
    "server.key_file": ("FOLDER/key", of(lambda settings: server_key(settings, SourceOptions()))),
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation with a database and a secret, and nothing else said."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("EVOLVE_DATABASE__URL", sqlite_file(tmp_path / "evolve.db"))
    monkeypatch.setenv("EVOLVE_API__SECRET", SECRET)
    key = tmp_path / "key"
    key.write_text("evo_0000000000000000000000000000000000000000000")
    key.chmod(0o600)
    (tmp_path / "policies.toml").write_text('[[policies]]\nname = "own"\nbase_url = "http://10.0.0.5:8000/v1"\n')
    return tmp_path


def test_every_setting_is_tried() -> None:
    assert set(known_keys()) == set(KEYS)


@pytest.mark.parametrize("key", KEYS)
async def test_a_setting_changes_what_it_is_for(home: Path, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    value, proof = KEYS[key]
    usual = await proof(load_settings())
    monkeypatch.setenv("EVOLVE_DATABASE__URL", sqlite_file(home / "another.db"))  # nothing of before is there
    monkeypatch.setenv(f"EVOLVE_{key.replace('.', '__').upper()}", value.replace("FOLDER", str(home)))
    assert await proof(load_settings()) != usual


@pytest.mark.parametrize(
    ("value", "named", "nearest"),
    [
        ("create_keys", "'create_keys'", "create_key"),
        ('["heartbeat_worker", "pause-run"]', "'pause-run'", "pause_run"),
        ("create_key\x1b", "'create_key\\x1b'", "create_key"),
    ],
)
async def test_an_operation_that_is_none_is_refused_with_the_nearest(
    home: Path, monkeypatch: pytest.MonkeyPatch, value: str, named: str, nearest: str
) -> None:
    monkeypatch.setenv("EVOLVE_API__UNAUDITED", value)
    with pytest.raises(UsageError, match=r"api\.unaudited") as caught:
        async with open_parts(load_settings()):
            pass
    assert named in str(caught.value)
    assert str(caught.value).endswith(f"the nearest known one is {nearest}")
