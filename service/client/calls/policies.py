"""Calls of the tag policies. `scripts.openapi` writes them."""

from service.client.call import Call, chosen
from service.schemas.artifacts import PolicyHealthList, PolicyPage


def list_policies(*, limit: int | None = None) -> Call[PolicyPage]:
    """List the operator's policies, which a run may name, without their keys."""
    return Call(method="GET", path="/v1/policies", params=chosen(limit=limit), answer=PolicyPage)


def list_policy_health() -> Call[PolicyHealthList]:
    """List the health of the policy servers of running runs, as their runners last reported it."""
    return Call(method="GET", path="/v1/policies/health", answer=PolicyHealthList)
