"""An API over real stores, its owner's client, and a problem that can be searched on."""

from collections.abc import AsyncIterator, Iterator, MutableMapping
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from tests.api.documented import BREACHES
from tests.api.told import Told, open_told
from tests.unit.problems.folders import NATIVE, SCORE, SEED

FILES = {"problem.toml": NATIVE, "seed.py": SEED, "evaluator.py": SCORE}


@pytest.fixture(autouse=True)
def logs() -> Iterator[list[MutableMapping[str, Any]]]:
    """What was logged meanwhile."""
    with structlog.testing.capture_logs() as entries:
        yield entries


@pytest.fixture(autouse=True)
def documented() -> Iterator[None]:
    """Every response of the test is as the document says."""
    BREACHES.clear()
    yield
    assert list(dict.fromkeys(BREACHES)) == []


@pytest.fixture
async def told(tmp_path: Path) -> AsyncIterator[Told]:
    async with open_told(tmp_path) as opened:
        yield opened


@pytest.fixture
async def owner(told: Told) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose key has every scope."""
    async with told.client() as opened:
        yield opened


@pytest.fixture
async def problem(owner: httpx.AsyncClient) -> str:
    """Id of a problem called `p`."""
    made = await owner.post("/v1/problems", json={"files": FILES})
    assert made.status_code == 201, made.text
    return str(made.json()["id"])
