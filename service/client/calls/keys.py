"""Calls of the tag keys. `scripts.openapi` writes them."""

from service.client.call import Call, chosen, place
from service.schemas.keys import ApiKey, AuditPage, KeyCreate, KeyPage, NewApiKey


def create_key(body: KeyCreate) -> Call[NewApiKey]:
    """Create a key. It cannot have more scopes than the key that creates it. Only this answer shows it."""
    return Call(method="POST", path="/v1/api-keys", body=body, answer=NewApiKey)


def list_keys(*, limit: int | None = None) -> Call[KeyPage]:
    """List keys, oldest first, without their secret text."""
    return Call(method="GET", path="/v1/api-keys", params=chosen(limit=limit), answer=KeyPage)


def revoke_key(key_id: str) -> Call[ApiKey]:
    """Revoke a key permanently. Repeating has no effect. Whoever may make keys of other tenants may revoke them."""
    return Call(method="DELETE", path=place("/v1/api-keys/{}", key_id), answer=ApiKey)


def list_audit(*, limit: int | None = None) -> Call[AuditPage]:
    """List the audit log: requests and refusals with their actors, newest first."""
    return Call(method="GET", path="/v1/audit", params=chosen(limit=limit), answer=AuditPage)
