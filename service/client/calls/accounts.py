"""Calls of the tag accounts. `scripts.openapi` writes them."""

from service.client.call import Call, chosen, place
from service.schemas.keys import Quota, QuotaLimits, Retention


def get_retention(*, days: int | None = None) -> Call[Retention]:
    """Count each tenant's runs, answers and evaluations, and the runs that `evolve db prune` would remove."""
    return Call(method="GET", path="/v1/retention", params=chosen(days=days), answer=Retention)


def get_quotas(tenant: str) -> Call[Quota]:
    """Read the quotas of a tenant."""
    return Call(method="GET", path=place("/v1/tenants/{}/quotas", tenant), answer=Quota)


def set_quotas(tenant: str, body: QuotaLimits) -> Call[Quota]:
    """Set the quotas of a tenant. A quota that you leave out has no limit."""
    return Call(method="PUT", path=place("/v1/tenants/{}/quotas", tenant), body=body, answer=Quota)
