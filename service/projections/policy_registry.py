"""Registered policies and their versions as every front door shows them."""

from service.ports import PolicyVersion, RegisteredPolicy
from service.schemas import policy_registry as wire
from service.schemas.policies import KEY_PLACES


def policy_reply(policy: RegisteredPolicy, tenant: str) -> wire.RegisteredPolicy:
    """A policy as a tenant sees it."""
    return wire.RegisteredPolicy(
        name=policy.name,
        description=policy.description,
        shared=policy.shared,
        own=policy.tenant == tenant,
        promoted=policy.promoted,
        versions=policy.versions,
        created_by=policy.created_by,
        created_at=policy.created_at,
    )


def version_reply(found: PolicyVersion) -> wire.PolicyVersion:
    """A version."""
    return wire.PolicyVersion.model_validate(
        {
            "policy": found.policy,
            "version": found.version,
            "name": found.name,
            "state": found.state,
            "base": found.base,
            "bundle_hash": found.bundle_hash,
            # Where a key lies is the operator's business.
            "settings": {key: value for key, value in found.settings.items() if key not in KEY_PLACES},
            "training": dict(found.training),
            "card": found.card,
            "evaluations": list(found.evaluations),
            "promotion": dict(found.promotion) or None,
            "created_by": found.created_by,
            "created_at": found.created_at,
            "promoted_at": found.promoted_at,
            "archived_at": found.archived_at,
        }
    )
