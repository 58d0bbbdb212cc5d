"""The Job that `evolve workers launch kubernetes` creates is valid, confined, and starts a worker."""

import os
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.launchers import kubernetes
from service.launchers.worker_command import WorkerCommand
from tests.command_line import call_here
from tests.deploy.commands import parsed
from tests.deploy.test_kubernetes import DOCUMENTS, container
from tests.deploy.test_kubernetes_schemas import complaints, every_version

WORDS = ["workers", "launch", "kubernetes", "--server", "https://evolve.example", "--image", "evolve:0.1.0"]


def printed(*words: str) -> dict[str, Any]:
    said = call_here([*WORDS, *words, "--print"], {"HOME": "/nonexistent"})
    assert said.code == 0, said.err
    job: dict[str, Any] = yaml.safe_load(said.out)
    return job


def pod_of(job: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = job["spec"]["template"]["spec"]
    return pod


@every_version
def test_the_job_is_valid_for_each_version(version: str) -> None:
    assert complaints(printed("--workers", "20", "--slots", "4"), f"kubernetes-{version}") == []


def test_the_job_has_a_pod_for_each_worker_and_a_core_for_each_slot() -> None:
    job = printed("--workers", "20", "--slots", "4", "--pool", "gpu", "--secret", "mine")
    assert (job["spec"]["parallelism"], job["spec"]["completions"]) == (20, 20)
    (worker,) = pod_of(job)["containers"]
    assert parsed(worker["args"])
    assert worker["args"][worker["args"].index("--pool") + 1] == "gpu"
    assert worker["resources"]["requests"]["cpu"] == worker["args"][worker["args"].index("--slots") + 1] == "4"
    (key,) = [volume for volume in pod_of(job)["volumes"] if "secret" in volume]
    (mount,) = [mount for mount in worker["volumeMounts"] if mount["name"] == key["name"]]
    assert worker["args"][worker["args"].index("--api-key-file") + 1] == f"{mount['mountPath']}/key"
    assert (key["secret"]["secretName"], key["secret"]["defaultMode"] & 0o007) == ("mine", 0)


def test_a_pod_is_confined_as_the_workers_of_the_manifests_are() -> None:
    job = printed()
    (worker,) = pod_of(job)["containers"]
    model = next(document for document in DOCUMENTS if document["metadata"]["name"] == "worker" and "spec" in document)
    assert worker["securityContext"] == container("worker")["securityContext"]
    assert worker["env"] == container("worker")["env"]
    for key in ("securityContext", "automountServiceAccountToken", "enableServiceLinks"):
        assert pod_of(job)[key] == model["spec"]["template"]["spec"][key]
    # The labels of the Deployment's pods would have its disruption budget and its autoscaler count these.
    assert job["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"] != "worker"


def test_a_pod_that_the_cluster_takes_costs_no_try_and_a_wrong_key_ends_the_job() -> None:
    ignored, ending = kubernetes.worker_job(
        WorkerCommand(server="https://evolve.example", slots=1, pool="cpu"), 3, image="evolve", secret="key"
    )["spec"]["podFailurePolicy"]["rules"]
    assert ignored == {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}
    assert (ending["action"], ending["onExitCodes"]["values"]) == ("FailJob", [2, 4])


@pytest.fixture
def kubectl(tmp_path: Path) -> Path:
    """A kubectl that keeps its words and input, and answers as the real one."""
    program = tmp_path / "kubectl"
    program.write_text(
        f'#!/bin/sh\necho "$@" >{tmp_path}/words\ncat >{tmp_path}/job\necho job.batch/evolve-worker-x1\n'
    )
    program.chmod(0o755)
    return tmp_path


def test_the_job_is_given_to_kubectl_with_the_further_options(kubectl: Path) -> None:
    said = call_here([*WORDS, "--", "--namespace", "mine"], {"PATH": f"{kubectl}:{os.environ['PATH']}"})
    assert (said.code, said.out) == (0, "job.batch/evolve-worker-x1\n")
    assert (kubectl / "words").read_text() == "create --filename=- --output=name --namespace mine\n"
    assert yaml.safe_load((kubectl / "job").read_text()) == printed()
    assert "kubectl delete job.batch/evolve-worker-x1" in said.err


def test_a_refusal_of_kubectl_and_its_absence_are_told(kubectl: Path, tmp_path: Path) -> None:
    (kubectl / "kubectl").write_text("#!/bin/sh\ncat >/dev/null\nexit 1\n")
    said = call_here(WORDS, {"PATH": f"{kubectl}:{os.environ['PATH']}"})
    assert (said.code, said.out) == (1, "")
    assert "kubectl refused the job (exit 1)" in said.err
    said = call_here(WORDS, {"PATH": str(tmp_path / "empty")})
    assert said.code == 2
    assert "--print" in said.err


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        (["--server", "http://evolve.example"], "in the clear"),
        (["--pool", "Two words"], "is not a name"),
        (["--workers", "0"], "--workers"),
    ],
)
def test_words_that_no_worker_would_take_are_refused_here(wrong: list[str], reason: str) -> None:
    said = call_here([*WORDS, *wrong, "--print"], {})
    assert (said.code, said.out) == (2, "")
    assert reason in said.err
