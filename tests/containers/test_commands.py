"""Runs, certificates and workers with a container image, each a command in a process of its own."""

import asyncio
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from service.queue.connection import connect
from service.queue.workers import RedisWorkers
from service.sandbox.container import OWNER
from service.sandbox.container_runtime import ContainerImage, find_image, labelled_containers
from tests.containers.bench import ask, runtime_of_tests
from tests.containers.images import NAME, add_rebuilt_image
from tests.e2e.evolving import Evolve, make_problem
from tests.e2e.test_interrupted_runs import check_whole
from tests.e2e.test_workers import WorkerProcess, read_until, start_run, workers
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.containers

MOVED = "localhost/evolve-test-moved:1"
# Where Podman without root keeps its images, and where runtimes are reached.
OF_RUNTIMES = ("HOME", "XDG_", "DOCKER_", "CONTAINER", "DBUS_", "BUILDAH_")
EVALUATIONS = 12


@pytest.fixture
async def image() -> ContainerImage:
    return await find_image(await runtime_of_tests(), NAME)


@pytest.fixture
def folders() -> Iterator[list[Path]]:
    """Places for scratch, of which each process has its own, so that its containers are known by their folders.

    They are not in the test's own folder: the path of a socket has at most 107 characters.
    """
    found = [Path(tempfile.mkdtemp(prefix="evolve-of-")) for _ in range(3)]
    for folder in found:
        folder.chmod(0o755)
    yield found
    for folder in found:
        subprocess.run(["rm", "-rf", str(folder)], check=True)


@pytest.fixture
def evolve(tmp_path: Path, folders: list[Path], image: ContainerImage) -> Evolve:
    made = Evolve(tmp_path)
    made.environment |= {key: value for key, value in os.environ.items() if key.startswith(OF_RUNTIMES)}
    made.environment |= {"TMPDIR": str(folders[0]), "EVOLVE_SANDBOX__CONTAINER_RUNTIME": image.runtime.name}
    return made


def problem_of(folder: Path, seconds: float = 0.0, image: str = NAME) -> Path:
    """A problem with an image, whose evaluations take so long."""
    problem = make_problem(folder, evaluations=EVALUATIONS, wall_seconds=30.0)
    stated = problem / "problem.toml"
    stated.write_text(stated.read_text().replace("[evaluator]\n", f'[evaluator]\nimage = "{image}"\n'))
    # The scorer sleeps, where no mutation makes a long time of a short one.
    scorer = (problem / "evaluator.py").read_text().replace("    if ", f"    time.sleep({seconds})\n    if ", 1)
    (problem / "evaluator.py").write_text("import time\n" + scorer)
    return problem


def containers_of(image: ContainerImage, folder: Path) -> list[str]:
    """Containers of the process that has this place for scratch."""
    owners = asyncio.run(labelled_containers(image.runtime, OWNER))
    return [container for container, owner in owners.items() if Path(owner).is_relative_to(folder)]


def wait_for_end(image: ContainerImage, folder: Path) -> float:
    """How long the containers of a process outlive it."""
    began = time.monotonic()
    while containers_of(image, folder):
        assert time.monotonic() - began < PATIENCE_SECONDS
        time.sleep(0.1)
    return time.monotonic() - began


def certificate_of(evolve: Evolve, problem: Path, place: Path) -> dict[str, Any]:
    """The certificate of a short run, made by commands."""
    evolve.call("run", str(problem), "--quiet")
    evolve.call("certify", "last", "-o", str(place))
    document: dict[str, Any] = json.loads(place.read_bytes())
    return document


def elsewhere(evolve: Evolve, home: Path, *images: str) -> Evolve:
    """The command as another person has it, with a database of their own and an operator who permits images."""
    home.mkdir()
    other = Evolve(home)
    other.environment |= {key: value for key, value in evolve.environment.items() if "DATABASE" not in key}
    other.environment["EVOLVE_SANDBOX__IMAGES"] = ",".join(images)
    return other


def test_a_run_in_an_image_is_certified_and_its_certificate_holds_elsewhere(
    evolve: Evolve, image: ContainerImage, tmp_path: Path
) -> None:
    place = tmp_path / "winner.json"
    document = certificate_of(evolve, problem_of(tmp_path / "toy"), place)
    run = evolve.json("show", "last")
    assert run["isolation"].endswith(f", image {image.digest}")
    candidates = check_whole(evolve, run["run_id"], EVALUATIONS)
    assert {one["isolation"].rpartition("/")[2] for one in candidates} == {image.short_id}
    assert document["versions"]["image"] == image.digest
    assert document["run"]["isolation"] == run["isolation"]

    stranger = elsewhere(evolve, tmp_path / "stranger")
    refused = stranger.said("verify", str(place))
    assert (refused.code, "sandbox.images" in refused.err) == (4, True), refused.err
    permitted = elsewhere(evolve, tmp_path / "permitted", "localhost/evolve-test-*")
    report = permitted.json("verify", str(place))
    assert report["holds"]
    assert [check["detail"] for check in report["checks"] if check["name"] == "image"] == [image.digest]
    assert containers_of(image, Path(evolve.environment["TMPDIR"])) == []


def test_a_rebuilt_image_is_named_beside_the_certified_one(
    evolve: Evolve, image: ContainerImage, tmp_path: Path
) -> None:
    runtime, place = image.runtime, tmp_path / "winner.json"
    ask(runtime, "tag", NAME, MOVED)
    try:
        document = certificate_of(evolve, problem_of(tmp_path / "toy", image=MOVED), place)
        assert document["versions"]["image"] == image.digest
        add_rebuilt_image(runtime.program, MOVED)
        rebuilt = asyncio.run(find_image(runtime, MOVED))
        assert rebuilt.digest != image.digest
        report = elsewhere(evolve, tmp_path / "other", MOVED).json("verify", str(place))
    finally:
        ask(runtime, "rmi", "--force", MOVED)
    assert report["holds"]
    (check,) = [check for check in report["checks"] if check["name"] == "image"]
    assert check["detail"] == f"{rebuilt.digest} here, {image.digest} when it was certified"


def test_a_run_that_is_killed_leaves_no_container_and_is_resumed(
    evolve: Evolve, image: ContainerImage, folders: list[Path], tmp_path: Path
) -> None:
    run = evolve.start("run", str(problem_of(tmp_path / "toy", seconds=1.0)), "--workers", "2", "--json")
    events = read_until(run, "candidate.evaluated", 2)
    assert len(containers_of(image, folders[0])) == 2
    run.kill()
    run.communicate()
    wait_for_end(image, folders[0])
    run_id = events[0]["run_id"]
    evolve.call("run", "--resume", run_id, "--json")
    candidates = check_whole(evolve, run_id, EVALUATIONS)
    assert not [one for one in candidates if one.get("outcome") in ("lost", "cancelled", "timeout")]


def test_a_worker_killed_in_an_evaluation_leaves_no_container_and_another_takes_the_lease(
    evolve: Evolve, image: ContainerImage, folders: list[Path], redis_url: str, tmp_path: Path
) -> None:
    evolve.environment |= {"EVOLVE_QUEUE__URL": redis_url, "EVOLVE_SANDBOX__IMAGES": NAME}

    def worker(folder: Path) -> WorkerProcess:
        evolve.environment["TMPDIR"] = str(folder)
        return WorkerProcess(evolve, words=("--pool", "container"))

    async def runtimes() -> list[str]:
        async with connect(redis_url) as client:
            return [heartbeat.containers for heartbeat in await RedisWorkers(client).workers()]

    with workers(evolve) as started:
        started.append(worker(folders[1]))
        run = start_run(evolve, problem_of(tmp_path / "toy", seconds=2.0))
        read_until(run, "candidate.evaluated", 2)
        assert asyncio.run(runtimes()) == [str(image.runtime)]
        assert len(containers_of(image, folders[1])) == 1
        started[0].look()
        started[0].process.kill()
        said = list(started[0].events(""))
        begun, ended = (
            [event["evaluation_id"] for event in said if event["event"] == f"evaluation.{name}"]
            for name in ("begun", "done")
        )
        (lost,) = set(begun) - set(ended)
        wait_for_end(image, folders[1])
        started.append(worker(folders[2]))
        again = next(event for event in started[1].events("evaluation.begun") if event["evaluation_id"] == lost)
        assert again["delivery"] == 2
        out, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 0, err
        assert started[1].end(signal.SIGTERM) == 0
    candidates = check_whole(evolve, json.loads(out.splitlines()[-1])["run_id"], EVALUATIONS)
    assert {one["isolation"].rpartition("/")[2] for one in candidates} == {image.short_id}
    assert not [one for one in candidates if one.get("outcome") in ("lost", "cancelled", "timeout")]
    assert containers_of(image, folders[2]) == []


def test_a_run_waits_for_a_worker_with_containers_and_says_so(
    evolve: Evolve, redis_url: str, folders: list[Path], tmp_path: Path
) -> None:
    evolve.environment |= {"EVOLVE_QUEUE__URL": redis_url, "EVOLVE_SANDBOX__IMAGES": NAME}
    with workers(evolve) as started:
        started.append(WorkerProcess(evolve))  # of the pool `cpu`, which takes no such task
        run = evolve.start("run", str(problem_of(tmp_path / "toy")))
        assert run.stderr is not None
        said = ""
        while "waiting" not in said:
            said = run.stderr.readline()
            assert said
        assert "start one with evolve worker --pool container, where Podman or Docker runs" in said
        started.append(WorkerProcess(evolve, words=("--pool", "container")))
        _, err = run.communicate(timeout=PATIENCE_SECONDS)
        assert run.returncode == 0, err
        assert [worker.end(signal.SIGTERM) for worker in started] == [0, 0]
