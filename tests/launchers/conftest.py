"""The service that launched workers work for."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.evolving import EvolveHere
from tests.launchers.service import WorkerService, worker_service


@pytest.fixture
def service(tmp_path: Path, redis_url: str) -> Iterator[WorkerService]:
    """An API of this test's own, with a key for workers."""
    evolve = EvolveHere(tmp_path)
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch).chmod(0o755)
        evolve.environment |= {"TMPDIR": scratch, "EVOLVE_QUEUE__URL": redis_url, "EVOLVE_API__SECRET": "s" * 40}
        with worker_service(evolve, tmp_path) as found:
            yield found
