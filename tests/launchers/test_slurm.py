"""Workers on a real Slurm: an array job takes tasks, a lost node costs no candidate, and its task comes back."""

import os
import re
import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.command_line import EVOLVE, Said
from tests.launchers.service import WorkerService
from tests.launchers.slurm_cluster import SlurmCluster, find_slurm, slurm_cluster
from tests.patience import PATIENCE_SECONDS

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def cluster() -> Iterator[SlurmCluster]:
    path = find_slurm()
    assert path
    with slurm_cluster(path) as found:
        yield found


def launch(service: WorkerService, cluster: SlurmCluster, *words: str) -> Said:
    """What `evolve workers launch slurm` says, beside a cluster whose jobs see nothing of this test but that."""
    ended = subprocess.run(
        [EVOLVE, "workers", "launch", "slurm", *words],
        env={**cluster.environment, "HOME": service.evolve.environment["HOME"]}, cwd=service.folder,
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    return Said(code=ended.returncode, out=ended.stdout, err=ended.stderr)


def submitted(said: Said) -> str:
    assert said.code == 0, said.err
    job = said.out.strip()
    assert job.isdecimal()
    return job


def log_of(service: WorkerService, job: str) -> dict[str, str]:
    return {path.stem.rpartition("_")[2]: path.read_text() for path in service.folder.glob(f"slurm-{job}_*.out")}


def test_a_node_that_is_lost_costs_no_candidate_and_its_worker_comes_back(
    service: WorkerService, cluster: SlurmCluster
) -> None:
    with service.run() as run:
        # Three of a node's four cores: each worker has a node.
        job = submitted(launch(service, cluster, *service.words, "--workers", "2", "--slots", "3"))
        run.read_until(6)
        cluster.wait_for(lambda: cluster.states(job) == ["RUNNING", "RUNNING"])
        cluster.kill_node("b")
        run.finish()
    cluster.wait_for(lambda: sorted(cluster.states(job)) == ["PENDING", "RUNNING"])
    cluster.start_node("b")
    cluster.wait_for(lambda: cluster.states(job) == ["RUNNING", "RUNNING"])
    cluster.wait_for(lambda: any(text.count("taking evaluations") == 2 for text in log_of(service, job).values()))
    cluster.said("scancel", job)
    cluster.wait_for(lambda: cluster.states(job) == [])


def test_scancel_drains_the_workers(service: WorkerService, cluster: SlurmCluster) -> None:
    said = launch(service, cluster, *service.words, "--workers", "2", "--slots", "1", "--", "--job-name=mine")
    job = submitted(said)
    assert f"scancel {job}" in said.err
    cluster.wait_for(lambda: sum("taking evaluations" in text for text in log_of(service, job).values()) == 2)
    assert set(cluster.said("squeue", "--noheader", f"--jobs={job}", "--format=%j").split()) == {"mine"}
    cluster.said("scancel", job)
    cluster.wait_for(lambda: cluster.states(job) == [])
    assert all("Draining" in text for text in log_of(service, job).values())


def test_what_is_printed_is_what_sbatch_takes(service: WorkerService, cluster: SlurmCluster) -> None:
    quoting = launch(service, cluster, *service.words, "--evolve", "env 'A=two words' evolve", "--print")
    assert quoting.out.splitlines()[-1].startswith("exec env 'A=two words' evolve worker ")
    printed = launch(service, cluster, *service.words, "--workers", "3", "--print")
    (start,) = [line for line in printed.out.splitlines() if line.startswith("exec ")]
    assert shlex.split(start)[1:3] == [EVOLVE, "worker"]
    ended = subprocess.run(
        ["sbatch", "--test-only"],
        input=printed.out,
        env=cluster.environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    assert re.search(r"using 1 processors", ended.stderr)


def test_a_job_that_slurm_refuses_and_a_missing_sbatch_are_told(service: WorkerService, cluster: SlurmCluster) -> None:
    refused = launch(service, cluster, *service.words, "--", "--partition=nowhere")
    assert (refused.code, refused.out) == (1, "")
    assert "sbatch refused the job" in refused.err
    assert "invalid partition" in refused.err
    nowhere = subprocess.run(
        [EVOLVE, "workers", "launch", "slurm", *service.words], env={"PATH": str(service.folder), "HOME": "/"},
        capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS,
    )  # fmt: skip
    assert nowhere.returncode == 2
    assert "print the job with --print" in nowhere.stderr


def test_a_key_that_cannot_be_read_is_refused_before_anything_is_submitted(
    service: WorkerService, cluster: SlurmCluster, tmp_path: Path
) -> None:
    before = cluster.said("squeue", "--noheader")
    said = launch(service, cluster, "--server", service.url, "--api-key-file", os.fspath(tmp_path / "nowhere"))
    assert said.code == 2
    assert cluster.said("squeue", "--noheader") == before
