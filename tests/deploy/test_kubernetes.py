"""The manifests for Kubernetes keep the same rules as docker-compose.yml."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from service.queue.metrics import WANTED
from service.runner.lease import LEASE_SECONDS
from tests.deploy.commands import parsed

TOP = Path(__file__).parents[2]
FOLDER = TOP / "deploy" / "kubernetes"
KUSTOMIZATION: dict[str, Any] = yaml.safe_load((FOLDER / "kustomization.yaml").read_text())
BASE = KUSTOMIZATION["resources"]
EXAMPLES = ["vllm.example.yaml"]
DOCUMENTS: list[dict[str, Any]] = [
    document for name in [*BASE, *EXAMPLES] for document in yaml.safe_load_all((FOLDER / name).read_text())
]
WORKLOADS = {entry["metadata"]["name"]: entry for entry in DOCUMENTS if entry["kind"] in ("Deployment", "Job")}
SERVED = [name for name, entry in WORKLOADS.items() if entry["kind"] == "Deployment"]
OURS = ["migrate", "api", "runner", "worker"]
every_workload = pytest.mark.parametrize("name", WORKLOADS)


def of(kind: str, name: str) -> dict[str, Any]:
    return next(entry for entry in DOCUMENTS if (entry["kind"], entry["metadata"]["name"]) == (kind, name))


def pod(name: str) -> dict[str, Any]:
    found: dict[str, Any] = WORKLOADS[name]["spec"]["template"]["spec"]
    return found


def container(name: str) -> dict[str, Any]:
    (found,) = pod(name)["containers"]
    assert isinstance(found, dict)
    return found


def labels(name: str) -> dict[str, str]:
    found: dict[str, str] = WORKLOADS[name]["spec"]["template"]["metadata"]["labels"]
    return found


def matches(selector: dict[str, Any], name: str) -> bool:
    return set(selector.get("matchLabels", {}).items()) <= set(labels(name).items())


def test_every_file_of_the_folder_is_a_part() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*BASE, *EXAMPLES, "kustomization.yaml"}
    assert set(WORKLOADS) == {"migrate", "api", "runner", "worker", "vllm"}
    assert all(entry.get("apiVersion") and entry["metadata"]["name"] for entry in DOCUMENTS)
    names = [(entry["kind"], entry["metadata"]["name"]) for entry in DOCUMENTS]
    assert len(names) == len(set(names))


@every_workload
def test_nothing_runs_as_root_or_writes_where_it_should_not(name: str) -> None:
    guard = container(name)["securityContext"]
    assert guard == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
    }  # fmt: skip
    assert pod(name)["securityContext"]["runAsNonRoot"] is True
    assert pod(name)["securityContext"]["runAsUser"] > 0
    assert pod(name)["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod(name)["automountServiceAccountToken"] is False
    assert pod(name)["enableServiceLinks"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(pod(name))
    assert not [volume for volume in pod(name)["volumes"] if "hostPath" in volume]


@every_workload
def test_each_asks_for_what_it_needs_and_is_held_to_a_memory(name: str) -> None:
    resources = container(name)["resources"]
    assert {"cpu", "memory"} <= set(resources["requests"])
    assert "memory" in resources["limits"]
    for volume in pod(name)["volumes"]:
        assert "emptyDir" not in volume or "sizeLimit" in volume["emptyDir"]


@pytest.mark.parametrize("name", SERVED)
def test_each_is_asked_whether_it_began_is_ready_and_lives(name: str) -> None:
    ports = {port["name"] for port in container(name)["ports"]}
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container(name)[probe]["httpGet"]["port"] in ports
    if name == "api":
        paths = [container(name)[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")]
        assert paths == ["/readyz", "/healthz"]  # a database that is away is no reason to restart


@every_workload
def test_each_has_the_time_to_end_well(name: str) -> None:
    assert pod(name)["terminationGracePeriodSeconds"] > LEASE_SECONDS
    if name in ("runner", "worker"):
        assert pod(name)["terminationGracePeriodSeconds"] > 2 * LEASE_SECONDS


@pytest.mark.parametrize("name", OURS)
def test_each_command_is_one_of_evolve(name: str) -> None:
    assert parsed(container(name)["args"])


@every_workload
def test_secrets_are_named_and_never_given(name: str) -> None:
    assert not [entry for entry in DOCUMENTS if entry["kind"] == "Secret"]
    for variable in container(name).get("env", []):
        if re.search(r"PASSWORD|SECRET|TOKEN|KEY|URL", variable["name"]):
            assert set(variable["valueFrom"]) == {"secretKeyRef"}
    for volume in pod(name)["volumes"]:
        assert "secret" not in volume or volume["secret"]["defaultMode"] & 0o007 == 0


def test_a_worker_has_the_address_of_the_queue_and_no_other_secret() -> None:
    secrets = [volume["secret"]["secretName"] for volume in pod("worker")["volumes"] if "secret" in volume]
    assert secrets == ["evolve-worker"]
    text = (FOLDER / "config.yaml").read_text()
    assert re.search(r"#   evolve-worker   evolve_queue__url +workers", text)
    assert {entry["name"]: entry.get("value") for entry in container("worker")["env"]} == {
        "EVOLVE_SANDBOX__REQUIRE": "medium"
    }


def policies_of(name: str) -> list[dict[str, Any]]:
    found = [entry["spec"] for entry in DOCUMENTS if entry["kind"] == "NetworkPolicy"]
    return [spec for spec in found if matches(spec["podSelector"], name)]


def test_nothing_is_open_that_no_policy_opens() -> None:
    assert of("NetworkPolicy", "nothing")["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    assert BASE.index("network.yaml") >= 0


def test_a_worker_reaches_redis_and_names_and_nothing_else() -> None:
    rules = [rule for spec in policies_of("worker") for rule in spec.get("egress", [])]
    assert [[(port["protocol"], port["port"]) for port in rule["ports"]] for rule in rules] == [
        [("TCP", 6379)], [("UDP", 53), ("TCP", 53)],
    ]  # fmt: skip
    (redis,) = rules[0]["to"]
    assert redis == {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "redis"}}}
    (names,) = rules[1]["to"]
    assert names["podSelector"] == {"matchLabels": {"k8s-app": "kube-dns"}}


def test_only_what_watches_reaches_a_worker() -> None:
    (rule,) = [rule for spec in policies_of("worker") for rule in spec.get("ingress", [])]
    assert [port["port"] for port in rule["ports"]] == [9100]
    assert [list(source) for source in rule["from"]] == [["namespaceSelector"]]


@pytest.mark.parametrize("name", OURS)
def test_whoever_needs_the_database_or_the_queue_is_let_out(name: str) -> None:
    assert any(spec.get("egress") for spec in policies_of(name))


def test_redis_lets_in_those_who_have_its_label() -> None:
    (spec,) = [entry["spec"] for entry in DOCUMENTS if entry["metadata"]["name"] == "redis"]
    (queue,) = spec["ingress"][0]["from"]
    assert [name for name in WORKLOADS if matches(queue["podSelector"], name)] == ["api", "runner", "worker"]


def test_workers_scale_by_what_runs_could_use_and_the_api_by_its_load() -> None:
    scaled = of("ScaledObject", "worker")["spec"]
    assert scaled["scaleTargetRef"] == {"name": "worker"}
    assert scaled["minReplicaCount"] >= 1
    (trigger,) = scaled["triggers"]
    assert (trigger["type"], trigger["metricType"]) == ("prometheus", "AverageValue")
    metric, pool = re.fullmatch(r'max\((\w+)\{pool="(\w+)"\}\)', trigger["metadata"]["query"]).groups()  # type: ignore[union-attr]
    assert metric in {family.name for family in WANTED.collect()}
    arguments = container("worker")["args"]
    assert arguments[arguments.index("--pool") + 1] == pool
    assert trigger["metadata"]["threshold"] == arguments[arguments.index("--slots") + 1]
    assert "replicas" not in WORKLOADS["worker"]["spec"]
    target = of("HorizontalPodAutoscaler", "api")["spec"]["scaleTargetRef"]
    assert target == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"}


@pytest.mark.parametrize("name", ["api", "runner", "worker"])
def test_a_drain_of_nodes_leaves_some_of_each(name: str) -> None:
    budget = of("PodDisruptionBudget", name)["spec"]
    assert matches(budget["selector"], name)
    assert "minAvailable" in budget or "maxUnavailable" in budget


@pytest.mark.parametrize("name", SERVED)
def test_selectors_find_their_pods(name: str) -> None:
    assert matches(WORKLOADS[name]["spec"]["selector"], name)


@pytest.mark.parametrize("name", ["api", "vllm"])
def test_services_find_their_pods_and_ports(name: str) -> None:
    spec = of("Service", name)["spec"]
    assert spec["selector"].items() <= labels(name).items()
    assert {port["targetPort"] for port in spec["ports"]} <= {port["name"] for port in container(name)["ports"]}


def test_images_are_pinned() -> None:
    (image,) = KUSTOMIZATION["images"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", image["newTag"])
    assert [container(name)["image"] for name in OURS] == [image["name"]] * len(OURS)
    assert re.search(r":v?\d+\.\d+\.\d+$", container("vllm")["image"])
