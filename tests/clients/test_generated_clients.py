"""Clients that are generated from the document compile, and run a job against a real service."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from service.client import calls
from service.schemas.problems import ProblemCreate
from tests.integration.client.served import Service

HERE = Path(__file__).parent
DOCUMENT = HERE.parents[1] / "docs" / "openapi.json"
SECONDS = 300.0

pytestmark = [pytest.mark.clients, pytest.mark.slow]


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    made = Service(tmp_path_factory.mktemp("service"))
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def job(service: Service) -> Sequence[str]:
    """Address, key and problem."""
    files = {path.name: path.read_text(encoding="utf-8") for path in service.folder.iterdir() if path.is_file()}
    with service.client() as client:
        problem = client.send(calls.create_problem(ProblemCreate(files=files)))
    return service.url, service.key, problem.id


def done(folder: Path, *command: str) -> str:
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=SECONDS, check=False)
    assert ended.returncode == 0, ended.stdout[-4000:] + ended.stderr[-4000:]
    return ended.stdout


def assert_ended_well(told: str) -> None:
    said = json.loads(told.splitlines()[-1])
    assert said["state"] == "succeeded"
    assert said["evaluated"] == 8
    assert isinstance(said["best"], float)


def test_a_python_client_runs_a_job(job: Sequence[str], tmp_path: Path) -> None:
    python = os.environ["EVOLVE_TEST_CLIENTS_PYTHON"]
    generate = ("-m", "openapi_python_client", "generate", "--meta", "none", "--output-path", "generated")
    done(tmp_path, python, *generate, "--path", str(DOCUMENT))
    done(tmp_path, python, "-m", "compileall", "-q", "generated")
    shutil.copy(HERE / "job.py", tmp_path)
    assert_ended_well(done(tmp_path, python, "job.py", *job))


def test_a_typescript_client_runs_a_job(job: Sequence[str], tmp_path: Path) -> None:
    for name in ("package.json", "job.ts"):
        shutil.copy(HERE / name, tmp_path)
    (tmp_path / "node_modules").symlink_to(HERE / "node_modules")
    tools = HERE / "node_modules" / ".bin"
    done(tmp_path, str(tools / "openapi-typescript"), str(DOCUMENT), "-o", "schema.d.ts")
    options = ("--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom", "--outDir", "out")
    done(tmp_path, str(tools / "tsc"), *options, "job.ts")
    assert_ended_well(done(tmp_path, "node", "out/job.js", *job))
