"""Calls about keys, what was done with them, and what a tenant uses and may."""

from datetime import datetime

from service.client.call import Call, chosen, place
from service.schemas.keys import (
    ApiKey,
    AuditPage,
    KeyCreate,
    KeyPage,
    NewApiKey,
    Quota,
    QuotaLimits,
    Retention,
    Usage,
)

KEYS, QUOTAS = "/v1/api-keys", "/v1/tenants/{}/quotas"


def create_key(key: KeyCreate) -> Call[NewApiKey]:
    """Make a key; it is shown in this answer alone."""
    return Call(method="POST", path=KEYS, body=key, answer=NewApiKey)


def list_keys(*, limit: int | None = None) -> Call[KeyPage]:
    """List keys, the oldest first."""
    return Call(method="GET", path=KEYS, params=chosen(limit=limit), answer=KeyPage)


def revoke_key(key_id: str) -> Call[ApiKey]:
    """Close a key for good."""
    return Call(method="DELETE", path=place(f"{KEYS}/{{}}", key_id), answer=ApiKey)


def list_audit(*, limit: int | None = None) -> Call[AuditPage]:
    """List who did what, newest first."""
    return Call(method="GET", path="/v1/audit", params=chosen(limit=limit), answer=AuditPage)


def get_usage(*, since: datetime | None = None, until: datetime | None = None) -> Call[Usage]:
    """Read what the tenant used, and what it may."""
    params = chosen(since=since and since.isoformat(), until=until and until.isoformat())
    return Call(method="GET", path="/v1/usage", params=params, answer=Usage)


def get_retention(days: int = 0) -> Call[Retention]:
    """Read what the database holds of each tenant, and which runs are past their time."""
    return Call(method="GET", path="/v1/retention", params=chosen(days=days or None), answer=Retention)


def get_quotas(tenant: str) -> Call[Quota]:
    """Read what a tenant may use."""
    return Call(method="GET", path=place(QUOTAS, tenant), answer=Quota)


def set_quotas(tenant: str, limits: QuotaLimits) -> Call[Quota]:
    """Set what a tenant may use."""
    return Call(method="PUT", path=place(QUOTAS, tenant), body=limits, answer=Quota)
