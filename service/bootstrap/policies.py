"""Which policy a run submitted over the API asks: one of the operator's, or one that somebody described.

Only the operator's have keys: what others describe could send a key, or the content of any variable, anywhere. For the
same reason a described policy is reached at checked addresses alone, and the record of such a run names no key.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from service.config import PoliciesSettings
from service.errors import NotFoundError, RefusedError, UsageError
from service.net import Resolve, check_address
from service.policy.bundled.shipped import PREFIX, complete, is_path, shipped_names
from service.policy.kind_traits import traits_of
from service.policy.roles import PolicyRoles, together
from service.policy.settings import PolicySettings
from service.policy.sources import load_policies, read_policy
from service.ports import PolicyWords

if TYPE_CHECKING:
    import httpx
    from pydantic import SecretStr

SYNTAX = "syntax"
SOURCE = "api:"
_KEYS = ("api_key_env", "api_key_file")
# It reads keys and files of this machine, and its addresses are not checked.
LIBRARY_REFUSED = "only the operator's policies are asked through LiteLLM: name one of them"

Operators = Mapping[str, PolicySettings]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyAccess:
    """How a policy is reached: with a key or without, over the network as it is or to checked addresses only."""

    policy: PolicySettings
    key: "SecretStr | None"
    transport: "httpx.AsyncBaseTransport | None" = None


def submitted(source: str) -> bool:
    """Whether a run with this source was submitted over the API."""
    return source.startswith(SOURCE)


def operator_policies(settings: PoliciesSettings) -> Operators:
    """The operator's policies by name, the syntax mutator and the models that come with the product always among them.

    Raises:
        UsageError: the file that the settings name cannot be read, or a policy in it is off.
    """
    found = {SYNTAX: read_policy({"name": SYNTAX, "kind": "syntax"}, SYNTAX)}
    found |= {policy.name: policy for policy in map(_shipped, shipped_names())}
    if settings.file is None:
        return found
    try:
        listed = load_policies(str(settings.file.expanduser().absolute()))
    except NotFoundError as error:
        raise UsageError(f"the setting policies.file names {settings.file}, which is not a file") from error
    return found | {policy.name: policy for policy in listed}


def operator_policy(operators: Operators, name: str) -> PolicySettings:
    """One of the operator's policies.

    Raises:
        NotFoundError: there is none of the name.
    """
    found = operators.get(name)
    if found is None:
        raise NotFoundError(
            f"there is no policy {name[:64]!r}: name one of {', '.join(sorted(operators))}, or describe one"
        )
    return found


def own_policies(operators: Operators, words: PolicyWords | Sequence[PolicyWords]) -> list[PolicySettings]:
    """The policies that a user names for a run in this process: as a request would, with any key and address.

    Raises:
        NotFoundError: there is no policy of a name.
        UsageError: a description is off, or they do not go together.
    """
    several = [words] if isinstance(words, str | Mapping) else words
    return together(
        [
            operator_policy(operators, one) if isinstance(one, str) else read_policy(dict(one), "the policy")
            for one in several
        ]
    )


def _shipped(model: str) -> PolicySettings:
    return read_policy(complete({"kind": "bundled", "model": model}, paths=False), f"{PREFIX}{model}")


def shown(policy: PolicySettings) -> dict[str, Any]:
    """A policy without where its key lies, which is the operator's business."""
    return {key: value for key, value in policy.describe().items() if key not in _KEYS}


class PolicyChoice:
    """Chooses among the operator's policies and what requests and problems describe.

    Args:
        settings: which addresses described policies may have.
        operators: the operator's policies.
        resolve: as `check_address` takes it.
    """

    def __init__(self, settings: PoliciesSettings, operators: Operators, resolve: Resolve | None = None) -> None:
        self._settings, self._operators, self._resolve = settings, operators, resolve

    def asked(self, words: PolicyWords | Sequence[PolicyWords]) -> list[PolicySettings]:
        """The policies of a request, each a name or a description.

        Raises:
            NotFoundError: the operator has no policy of the name.
            UsageError: a description is off, or names a key or a path, or they do not go together.
            RefusedError, UnreachableError: an address may not be reached, or does not resolve.
        """
        return together([self._asked(one) for one in ([words] if isinstance(words, str | Mapping) else words)])

    def named(self, described: Sequence[Mapping[str, Any]]) -> list[PolicySettings]:
        """The policies that a problem names, those that the operator allows, else the syntax mutator.

        Raises:
            UsageError: a description is off, or they do not go together.
            UnreachableError: an address does not resolve.
        """
        found = []
        for words in described:
            with suppress(RefusedError):
                found.append(self._again(words))
        return together(_distinct(found)) if PolicyRoles.of(found).authors else [self._operators[SYNTAX]]

    def again(self, described: Sequence[Mapping[str, Any]]) -> list[PolicySettings]:
        """The policies of an earlier run: the operator's where they are the same, else without keys.

        Raises:
            UsageError: a description is off, or they do not go together.
            RefusedError, UnreachableError: an address may not be reached, or does not resolve.
        """
        return together(_distinct([self._again(words) for words in described]))

    def _asked(self, words: PolicyWords) -> PolicySettings:
        if isinstance(words, str):
            return operator_policy(self._operators, words)
        if any(words.get(key) for key in _KEYS):
            raise UsageError("the policy: only the operator's have keys: name one of them, or leave the key out")
        return self._described(words, "the policy")

    def _again(self, words: Mapping[str, Any]) -> PolicySettings:
        described = {key: value for key, value in words.items() if key not in _KEYS}
        policy = read_policy(described, "the policy of the problem")
        if policy.kind == "bundled":
            if is_path(policy.model) and policy.model not in [own.model for own in self._operators.values()]:
                raise RefusedError("the policy is a model folder of this machine: only the operator names those")
            return policy
        for own in self._operators.values():
            if _same_place(own, policy) and own.role == policy.role and own.model in ("", policy.model):
                return own if traits_of(policy.kind).reached else policy
        return self._described(described, "the policy of the problem")

    def _described(self, words: Mapping[str, Any], place: str) -> PolicySettings:
        policy = read_policy(complete(words, paths=False), place)
        own = self._operators.get(policy.name)
        if policy.kind == "litellm":
            raise RefusedError(LIBRARY_REFUSED)
        if policy.base_url is None:
            return policy
        if own is not None and own.base_url == policy.base_url:
            raise UsageError(f"{place}: {policy.name} is the operator's: give its name alone, or another name")
        try:
            check_address(policy.base_url, self._settings.allow, self._settings.private, self._resolve)
        except RefusedError as error:
            raise RefusedError(f"{error}; the operator permits addresses with the setting policies.allow") from error
        return policy


def _same_place(own: PolicySettings, policy: PolicySettings) -> bool:
    return (own.kind, own.base_url, own.provider) == (policy.kind, policy.base_url, policy.provider)


def _distinct(policies: Sequence[PolicySettings]) -> list[PolicySettings]:
    """Without those that come to the same policy of the operator's."""
    return [policy for place, policy in enumerate(policies) if policy not in policies[:place]]


def way_to(policy: PolicySettings, source: str, settings: PoliciesSettings) -> PolicyAccess:
    """How the policy of a run is reached; waits for the resolver of names.

    Args:
        policy: as the run's record describes it.
        source: of the run.
        settings: the operator's policies, and which addresses others may have.

    Raises:
        UsageError: the key that is named is not there.
        RefusedError, UnreachableError: the address may not be reached, or its name does not resolve.
    """
    if not submitted(source):
        return PolicyAccess(policy=policy, key=policy.read_key())
    own = operator_policies(settings).get(policy.name)
    if own is not None and _same_place(own, policy) and (policy.kind != "litellm" or own.model == policy.model):
        mine = policy.model_copy(update={key: getattr(own, key) for key in _KEYS})
        return PolicyAccess(policy=mine, key=mine.read_key())
    if policy.kind == "litellm":
        raise RefusedError(LIBRARY_REFUSED)
    from service.net.transport import PinnedTransport

    if policy.base_url is not None:
        check_address(policy.base_url, settings.allow, settings.private)
    bare = policy.model_copy(update=dict.fromkeys(_KEYS, ""))
    keep = policy.concurrency + 8
    transport = PinnedTransport(allow=settings.allow, private=settings.private, keep=keep)
    return PolicyAccess(policy=bare, key=None, transport=transport)
