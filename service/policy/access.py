"""How the policy of a run is reached: with which key, and over which network."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from service.config import PoliciesSettings
from service.errors import RefusedError
from service.net import check_address
from service.policy_settings.choice import (
    OPERATORS_ALONE,
    OWN_AGENT_KEYS,
    operator_policies,
    same_place,
    submitted,
)
from service.policy_settings.settings import PolicySettings
from service.schemas.policies import KEY_PLACES

if TYPE_CHECKING:
    import httpx
    from pydantic import SecretStr


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAccess:
    """How a policy is reached: with a key or without, over the network as it is or to checked addresses only."""

    policy: PolicySettings
    key: "SecretStr | None"
    transport: "httpx.AsyncBaseTransport | None" = None


# Whether a policy is a version of the registry.
IsVersion = Callable[[PolicySettings], bool]


def no_version(_: PolicySettings) -> bool:
    """There is no registry."""
    return False


def way_to(
    policy: PolicySettings, source: str, settings: PoliciesSettings, is_version: IsVersion = no_version
) -> PolicyAccess:
    """Access to the policy of a run. It waits for the resolver of names.

    Args:
        policy: as in the run's record.
        source: of the run.
        settings: the operator's policies, and the addresses allowed for others.
        is_version: whether it is a version of the registry. Only the operator chooses the server of a version, so a
            version is reached as the operator's policy at the same server is.

    Raises:
        UsageError: the named key does not exist.
        RefusedError, UnreachableError: the address is not allowed, or its name does not resolve.
    """
    if not submitted(source):
        return PolicyAccess(policy=policy, key=policy.read_key())
    operators = operator_policies(settings)
    own = operators.get(policy.name)
    if own is None and policy.base_url is not None and is_version(policy):
        own = next((one for one in operators.values() if same_place(one, policy)), None)
    if own is not None and same_place(own, policy) and (policy.kind != "litellm" or own.model == policy.model):
        mine = policy.model_copy(update={key: getattr(own, key) for key in (*KEY_PLACES, *OWN_AGENT_KEYS)})
        return PolicyAccess(policy=mine, key=mine.read_key())
    if refused := OPERATORS_ALONE.get(policy.kind):
        raise RefusedError(refused)
    from service.net.transport import PinnedTransport

    if policy.base_url is not None:
        check_address(policy.base_url, settings.allow, settings.private)
    bare = policy.model_copy(update=dict.fromkeys(KEY_PLACES, ""))
    keep = policy.concurrency + 8
    transport = PinnedTransport(allow=settings.allow, private=settings.private, keep=keep)
    return PolicyAccess(policy=bare, key=None, transport=transport)
