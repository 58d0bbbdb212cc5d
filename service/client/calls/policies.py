"""Calls of the tag policies. `scripts.openapi` writes them."""

from service.client.call import Call, chosen, place
from service.schemas.artifacts import PolicyHealthList, PolicyPage
from service.schemas.policy_registry import (
    EvaluationCreate,
    PolicyCreate,
    PolicyVersion,
    PolicyVersionPage,
    RegisteredPolicy,
    RegisteredPolicyPage,
    VersionCreate,
    VersionPromote,
)


def list_policies(*, limit: int | None = None) -> Call[PolicyPage]:
    """List the policies that a run may name: the operator's, without their keys, and promoted ones of the registry."""
    return Call(method="GET", path="/v1/policies", params=chosen(limit=limit), answer=PolicyPage)


def list_policy_health() -> Call[PolicyHealthList]:
    """List the health of the policy servers of running runs, as their runners last reported it."""
    return Call(method="GET", path="/v1/policies/health", answer=PolicyHealthList)


def create_policy(body: PolicyCreate) -> Call[RegisteredPolicy]:
    """Register a policy. It has no versions yet."""
    return Call(method="POST", path="/v1/policies", body=body, answer=RegisteredPolicy)


def list_registered_policies(*, limit: int | None = None) -> Call[RegisteredPolicyPage]:
    """List the policies of the registry: the tenant's own, and those that the operator shares."""
    return Call(method="GET", path="/v1/policies/registered", params=chosen(limit=limit), answer=RegisteredPolicyPage)


def get_policy(policy: str) -> Call[RegisteredPolicy]:
    """Read a policy of the registry."""
    return Call(method="GET", path=place("/v1/policies/{}", policy), answer=RegisteredPolicy)


def list_policy_versions(policy: str, *, limit: int | None = None) -> Call[PolicyVersionPage]:
    """List the versions of a policy, newest first."""
    return Call(
        method="GET",
        path=place("/v1/policies/{}/versions", policy),
        params=chosen(limit=limit),
        answer=PolicyVersionPage,
    )


def create_policy_version(policy: str, body: VersionCreate) -> Call[PolicyVersion]:
    """Upload a model's folder as the next version of a policy. Only the operator may."""
    return Call(method="POST", path=place("/v1/policies/{}/versions", policy), body=body, answer=PolicyVersion)


def get_policy_version(policy: str, version: int) -> Call[PolicyVersion]:
    """Read a version of a policy."""
    return Call(method="GET", path=place("/v1/policies/{}/versions/{}", policy, str(version)), answer=PolicyVersion)


def download_policy_version(policy: str, version: int) -> Call[bytes]:
    """Download the folder of a version."""
    return Call(method="GET", path=place("/v1/policies/{}/versions/{}/files", policy, str(version)), answer=bytes)


def evaluate_policy_version(policy: str, version: int, body: EvaluationCreate) -> Call[PolicyVersion]:
    """Record an evaluation of a version, paired with another version by held-out problem."""
    return Call(
        method="POST",
        path=place("/v1/policies/{}/versions/{}/evaluations", policy, str(version)),
        body=body,
        answer=PolicyVersion,
    )


def promote_policy_version(policy: str, version: int, body: VersionPromote) -> Call[PolicyVersion]:
    """Let a policy's name stand for a version, if the gate allows it. The vLLM of an adapter loads it before."""
    return Call(
        method="POST",
        path=place("/v1/policies/{}/versions/{}/promote", policy, str(version)),
        body=body,
        answer=PolicyVersion,
    )


def archive_policy_version(policy: str, version: int) -> Call[PolicyVersion]:
    """Take a version from new runs. Runs that have it keep it."""
    return Call(
        method="POST", path=place("/v1/policies/{}/versions/{}/archive", policy, str(version)), answer=PolicyVersion
    )
