"""schemathesis finds no fault: examples, edge cases, chance, and chains of calls, against a real server."""

import asyncio
import itertools
import os
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events, from_schema

from service.api.dependencies import ApiDependencies
from service.net.address import check_address
from service.ports import ProblemReport, Upload
from service.timestamps import SystemClock
from tests.api.conftest import FILES
from tests.api.told import SECRET, Told, open_told, served, small_run
from tests.contract.story import RUN

CONFIG = Path(__file__).parent / "schemathesis.toml"
PHASES = ("examples", "coverage", "fuzzing", "stateful")
SEED = int(os.environ.get("EVOLVE_TEST_SEED", "1"))
EXAMPLES = {"examples": 1, "coverage": 1, "fuzzing": 3, "stateful": 15}
MIN_EXAMPLES = {"examples": 1, "coverage": 1000, "fuzzing": 200, "stateful": 50}


class _Unchecked:
    """Submissions that find a problem sound without running its programs: thousands are sent."""

    def __init__(self, parts: ApiDependencies) -> None:
        self._inner = parts.submissions

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    async def check_problem(self, upload: Upload) -> ProblemReport:
        problem = self._inner.read_problem(upload)
        return ProblemReport(name=problem.name, document=problem.document)


class _Forgetful:
    """Requests whose keys are new each time: schemathesis sends one key with everything."""

    def begin(self, *_: object) -> None:
        return None

    def finish(self, *_: object) -> None:
        return None


class _Hasty(SystemClock):
    """A clock by which nobody waits: every look at it is a minute later."""

    def __init__(self) -> None:
        self._looks = itertools.count()

    def monotonic(self) -> float:
        return 60.0 * next(self._looks)


def quick(parts: ApiDependencies) -> ApiDependencies:
    """Parts that run no program, ask no name server and wait for nothing."""
    submissions: Any = _Unchecked(parts)
    return replace(
        parts,
        submissions=submissions,
        requests=_Forgetful(),
        clock=_Hasty(),
        check_webhook=lambda url: check_address(url, resolve=lambda *_: ["93.184.215.14"]),
    )


async def furnish(told: Told) -> None:
    """One of everything, so that there is something to be found."""
    story = small_run(told)
    async with told.client() as client:
        run = f"/v1/runs/{RUN}"
        for path, body in (
            ("/v1/problems", {"files": FILES}),
            ("/v1/runs", {"problem": "p", "labels": {"a": "b"}}),
            ("/v1/batches", {"name": "b", "runs": [{"problem": "p"}]}),
            (f"{run}/notes", {"body": "x", "candidate_id": story.id(0)}),
            (f"{run}/shares", {}),
            ("/v1/saved-filters", {"name": "v", "settings": {}, "run_id": RUN}),
            ("/v1/webhooks", {"url": "https://example.org/hook", "types": ["run.failed"]}),
        ):
            answer = await client.post(path, json=body)
            assert answer.status_code == 201, answer.text


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, str]]:
    """A real server in another thread: its address, and a key."""
    ready, said = threading.Event(), list[Any]()

    async def serve() -> None:
        async with open_told(folder, quick) as told:
            await furnish(told)
            async with served(told.app) as url:
                stop = asyncio.Event()
                said.extend([url, told.key(), asyncio.get_running_loop(), stop])
                ready.set()
                await stop.wait()

    thread = threading.Thread(target=lambda: asyncio.run(serve()))
    thread.start()
    try:
        assert ready.wait(60)
        yield said[0], said[1]
    finally:
        if said:
            said[2].call_soon_threadsafe(said[3].set)
        thread.join(60)


def configured(key: str, phase: str) -> SchemathesisConfig:
    config = tomllib.loads(CONFIG.read_text(encoding="utf-8"))
    for name in PHASES:
        config["phases"].setdefault(name, {})["enabled"] = name == phase
    config["generation"]["max-examples"] = EXAMPLES[phase]
    config |= {"seed": SEED, "headers": {"Authorization": f"Bearer {key}"}}
    return SchemathesisConfig.from_dict(config)


@pytest.mark.schemathesis
@pytest.mark.parametrize("phase", PHASES)
def test_schemathesis_finds_no_fault(tmp_path: Path, phase: str) -> None:
    faults: dict[tuple[Any, ...], str] = {}
    sent = 0
    with serving(tmp_path) as (url, key):
        schema = schemathesis.openapi.from_url(f"{url}/openapi.json", config=configured(key, phase))
        for event in from_schema(schema).execute():
            if isinstance(event, events.NonFatalError):
                faults[event.label, str(event.value)] = str(event.info)
            elif isinstance(event, events.FatalError):
                faults["schemathesis", str(event.exception)] = ""
            elif isinstance(event, events.ScenarioFinished):
                sent += len(event.recorder.interactions)
                for checks in event.recorder.checks.values():
                    for one in checks:
                        if one.failure_info is not None:
                            failure = one.failure_info.failure
                            faults[failure.operation, failure.title] = (
                                f"{failure.message}\n{one.failure_info.code_sample}"
                            )
    assert SECRET not in str(faults)
    assert not faults, "\n\n".join(f"{key}: {value}" for key, value in faults.items())
    assert sent >= MIN_EXAMPLES[phase]
