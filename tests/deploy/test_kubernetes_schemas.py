"""The manifests are valid for the oldest, a middle and the newest version of Kubernetes, and for KEDA."""

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator

from service.policy_settings.sources import load_policies
from tests.deploy.test_kubernetes import DOCUMENTS, TOP, container, of, pod

SCHEMAS = Path(__file__).parent / "schemas"
VERSIONS = ["1.28", "1.32", "1.37"]
every_version = pytest.mark.parametrize("version", VERSIONS)
SCALED = [document for document in DOCUMENTS if document["kind"] == "ScaledObject"]
NATIVE = [document for document in DOCUMENTS if document["kind"] != "ScaledObject"]


def complaints(document: dict[str, Any], schema: str) -> list[str]:
    """What is wrong with a manifest by a file of schemas."""
    found = json.loads((SCHEMAS / f"{schema}.json").read_text())
    assert document["kind"] in found["$defs"], f"no schema for {document['kind']}"
    validator = Draft202012Validator(found | {"$ref": f"#/$defs/{document['kind']}"})
    return [f"{error.instance_path}: {error.message}" for error in validator.iter_errors(document)]


@every_version
@pytest.mark.parametrize("document", NATIVE, ids=lambda one: f"{one['kind']}-{one['metadata']['name']}")
def test_each_manifest_is_valid_for_each_version(document: dict[str, Any], version: str) -> None:
    assert complaints(document, f"kubernetes-{version}") == []


def test_what_keda_is_given_is_valid() -> None:
    assert SCALED
    assert [complaint for document in SCALED for complaint in complaints(document, "keda-2.16")] == []


@every_version
def test_an_unknown_member_or_a_wrong_type_is_found(version: str) -> None:
    document = copy.deepcopy(of("Deployment", "api"))
    document["spec"]["replica"] = 2
    document["spec"]["template"]["spec"]["containers"][0]["ports"][0]["containerPort"] = "8000"
    assert len(complaints(document, f"kubernetes-{version}")) == 2


def test_a_member_that_the_oldest_version_does_not_know_is_found() -> None:
    document = copy.deepcopy(of("Deployment", "api"))
    document["spec"]["template"]["spec"]["containers"][0]["lifecycle"] = {"preStop": {"sleep": {"seconds": 5}}}
    assert [bool(complaints(document, f"kubernetes-{version}")) for version in VERSIONS] == [True, False, False]


def test_an_unknown_member_for_keda_is_found() -> None:
    document = copy.deepcopy(SCALED[0])
    document["spec"]["maxReplicas"] = 2
    assert len(complaints(document, "keda-2.16")) == 1


def test_nothing_is_said_twice_of_how_many_there_are() -> None:
    scaled = [
        entry["spec"]["scaleTargetRef"]["name"] for entry in DOCUMENTS if "scaleTargetRef" in entry.get("spec", {})
    ]
    assert sorted(scaled) == ["api", "worker"]
    for name in scaled:
        assert "replicas" not in of("Deployment", name)["spec"]
    # It would hold only for the way to none.
    assert SCALED[0]["spec"]["minReplicaCount"] >= 1
    assert "cooldownPeriod" not in SCALED[0]["spec"]


def test_the_policy_shows_the_key_that_vllm_wants(tmp_path: Path) -> None:
    text = of("ConfigMap", "evolve-policies")["data"]["policies.toml"]
    (tmp_path / "policies.toml").write_text(text)
    (policy,) = load_policies(str(tmp_path / "policies.toml"))
    (variable,) = [entry for entry in container("vllm")["env"] if entry["name"] == "VLLM_API_KEY"]
    key = variable["valueFrom"]["secretKeyRef"]
    assert policy.api_key_file == f"/run/secrets/{key['key']}"
    assert tomllib.loads(text)["policies"][0]["base_url"] == policy.base_url
    page = (TOP / "docs/how-to/grow.md").read_text()
    assert f"secret generic {key['name']} --from-file=secrets/{key['key']}" in page
    for name in ("api", "runner"):
        (volume,) = [volume["secret"]["secretName"] for volume in pod(name)["volumes"] if "secret" in volume]
        commands = page[page.index(f"secret generic {volume} ") :]
        assert f"--from-file=secrets/{key['key']}" in commands.split("kubectl")[0]
