"""Kubernetes: the workers are the pods of a Job, which `kubectl` takes from its standard input."""

from typing import Any

from service.launchers.worker_command import HOPELESS_EXIT_CODES, WorkerCommand

SUBMIT = ("kubectl", "create", "--filename=-", "--output=name")
KEY_FOLDER, KEY_NAME = "/run/secrets/evolve", "key"
LABELS = {"app.kubernetes.io/name": "evolve-worker", "app.kubernetes.io/part-of": "evolve"}
# Of a slot: what the scheduler sets aside, and where the kernel ends the worker.
MEMORY_MIB, MAX_MEMORY_MIB = 1024, 1536
GRACE_SECONDS = 120
# Pods that fail otherwise come again, after growing pauses; the Job gives up after so many for each worker.
TRIES_PER_WORKER = 100


def worker_job(command: WorkerCommand, workers: int, *, image: str, secret: str) -> dict[str, Any]:
    """The manifest of a Job. It asks the cluster for nothing, and runs under the restricted pod security standard.

    Args:
        command: the worker.
        workers: how many pods.
        image: the image that holds Evolve.
        secret: the name of a Secret whose entry `key` is the worker's key.
    """
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"generateName": "evolve-worker-", "labels": dict(LABELS)},
        "spec": {
            "parallelism": workers,
            "completions": workers,
            "completionMode": "Indexed",
            "backoffLimit": workers * TRIES_PER_WORKER,
            "podFailurePolicy": {"rules": _failure_rules()},
            "ttlSecondsAfterFinished": 86400,
            "template": {"metadata": {"labels": dict(LABELS)}, "spec": _pod(command, image, secret)},
        },
    }


def _failure_rules() -> list[dict[str, Any]]:
    """A pod that the cluster takes away costs no try; one that can never work ends the Job."""
    return [
        {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
        {
            "action": "FailJob",
            "onPodConditions": [],  # the schema of Kubernetes 1.28 requires it
            "onExitCodes": {"containerName": "worker", "operator": "In", "values": list(HOPELESS_EXIT_CODES)},
        },
    ]


def _pod(command: WorkerCommand, image: str, secret: str) -> dict[str, Any]:
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": GRACE_SECONDS,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 999,
            "runAsGroup": 999,
            "fsGroup": 999,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [_container(command, image)],
        "volumes": [
            {"name": "tmp", "emptyDir": {"sizeLimit": "2Gi"}},
            {"name": "key", "secret": {"secretName": secret, "defaultMode": 0o440}},
        ],
    }


def _container(command: WorkerCommand, image: str) -> dict[str, Any]:
    cores = str(command.slots)
    memory, max_memory = (f"{command.slots * mebibytes}Mi" for mebibytes in (MEMORY_MIB, MAX_MEMORY_MIB))
    return {
        "name": "worker",
        "image": image,
        "args": command.words(f"{KEY_FOLDER}/{KEY_NAME}"),
        "env": [{"name": "EVOLVE_SANDBOX__REQUIRE", "value": "medium"}],
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {
            "requests": {"cpu": cores, "memory": memory, "ephemeral-storage": "2Gi"},
            "limits": {"cpu": cores, "memory": max_memory, "ephemeral-storage": "4Gi"},
        },
        "volumeMounts": [
            {"name": "tmp", "mountPath": "/tmp"},  # noqa: S108 - the container's own
            {"name": "key", "mountPath": KEY_FOLDER, "readOnly": True},
        ],
    }
