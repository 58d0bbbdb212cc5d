"""Which policy a run submitted over the API asks: one of the operator's, or one that somebody described.

Only the operator's have keys: what others describe could send a key, or the content of any variable, anywhere. For the
same reason a described policy is reached at checked addresses alone, and the record of such a run names no key.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from service.config import PoliciesSettings
from service.errors import NotFoundError, RefusedError, UsageError
from service.net import Resolve, check_address
from service.policy_settings.kind_traits import WITHOUT_MODEL, traits_of
from service.policy_settings.roles import PolicyRoles, Registered, together
from service.policy_settings.settings import AGENT, PolicySettings
from service.policy_settings.shipped import PREFIX, REGISTERED, complete, is_path, shipped_names
from service.policy_settings.sources import load_policies, read_policy
from service.ports import PolicyWords
from service.schemas.policies import KEY_PLACES

SYNTAX = "syntax"
SOURCE = "api:"
# What an agent sees of this machine, and reaches from it.
OWN_AGENT_KEYS = ("environment", "read", "path", "allow_hosts")
# It reads keys and files of this machine, and its addresses are not checked.
LIBRARY_REFUSED = "only the operator's policies are asked through LiteLLM: name one of them"
# It is a command on this machine.
OPERATORS_ALONE = {
    "litellm": LIBRARY_REFUSED,
    AGENT: "only the operator's agents are started: name one of them",
}

Operators = Mapping[str, PolicySettings]


def submitted(source: str) -> bool:
    """Whether a run with this source was submitted over the API."""
    return source.startswith(SOURCE)


def operator_policies(settings: PoliciesSettings) -> Operators:
    """The operator's policies by name, always with the syntax mutator, the tuner and the models of the product.

    Raises:
        UsageError: the file that the settings name cannot be read, or a policy in it is off.
    """
    found = {name: read_policy({"name": name, "kind": name}, name) for name in WITHOUT_MODEL}
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


def own_policies(
    operators: Operators, words: PolicyWords | Sequence[PolicyWords], registered: Registered | None = None
) -> list[PolicySettings]:
    """The policies that a user names for a run in this process: as a request would, with any key and address.

    Args:
        operators: the operator's policies.
        words: names or descriptions.
        registered: finds policies of the registry by name.

    Raises:
        NotFoundError: there is no policy of a name.
        UsageError: a description is off, or they do not go together.
    """
    several = [words] if isinstance(words, str | Mapping) else words
    return together(
        [
            _by_name(operators, one, registered) if isinstance(one, str) else read_policy(dict(one), "the policy")
            for one in several
        ]
    )


def _by_name(operators: Operators, name: str, registered: Registered | None) -> PolicySettings:
    """A policy of the operator's, else of the registry."""
    if registered is not None and name not in operators:
        with suppress(NotFoundError):
            return registered(name)
    return operator_policy(operators, name)


def _shipped(model: str) -> PolicySettings:
    return read_policy(complete({"kind": "bundled", "model": model}, paths=False), f"{PREFIX}{model}")


def shown(policy: PolicySettings) -> dict[str, Any]:
    """A policy without where its key lies, which is the operator's business."""
    return {key: value for key, value in policy.describe().items() if key not in KEY_PLACES}


class PolicyChoice:
    """Chooses among the operator's policies and what requests and problems describe.

    Args:
        settings: which addresses described policies may have.
        operators: the operator's policies.
        resolve: as `check_address` takes it.
    """

    def __init__(self, settings: PoliciesSettings, operators: Operators, resolve: Resolve | None = None) -> None:
        self._settings, self._operators, self._resolve = settings, operators, resolve

    def asked(
        self, words: PolicyWords | Sequence[PolicyWords], registered: Registered | None = None
    ) -> list[PolicySettings]:
        """The policies of a request, each a name or a description.

        Args:
            words: of the request.
            registered: finds policies of the registry by name.

        Raises:
            NotFoundError: neither the operator nor the registry has a policy of the name.
            UsageError: a description is off, or names a key or a path, or they do not go together, or the version that
                is named is archived.
            RefusedError, UnreachableError: an address may not be reached, or does not resolve.
        """
        several = [words] if isinstance(words, str | Mapping) else words
        return together([self._asked(one, registered) for one in several])

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
        return together(_distinct([self._again(words, registered=True) for words in described]))

    def _asked(self, words: PolicyWords, registered: Registered | None) -> PolicySettings:
        if isinstance(words, str):
            return _by_name(self._operators, words, registered)
        if any(words.get(key) for key in KEY_PLACES):
            raise UsageError("the policy: only the operator's have keys: name one of them, or leave the key out")
        return self._described(words, "the policy")

    def _again(self, words: Mapping[str, Any], *, registered: bool = False) -> PolicySettings:
        described = {key: value for key, value in words.items() if key not in KEY_PLACES}
        policy = read_policy(described, "the policy of the problem")
        if policy.kind == "bundled":
            if registered and policy.model.startswith(REGISTERED):
                return policy
            if is_path(policy.model) and policy.model not in [own.model for own in self._operators.values()]:
                raise RefusedError("the policy is a model folder of this machine: only the operator names those")
            return policy
        for own in self._operators.values():
            if same_place(own, policy) and own.role == policy.role and own.model in ("", policy.model):
                return own if traits_of(policy.kind).reached else policy
        return self._described(described, "the policy of the problem")

    def _described(self, words: Mapping[str, Any], place: str) -> PolicySettings:
        policy = read_policy(complete(words, paths=False), place)
        own = self._operators.get(policy.name)
        if refused := OPERATORS_ALONE.get(policy.kind):
            raise RefusedError(refused)
        if policy.base_url is None:
            return policy
        if own is not None and own.base_url == policy.base_url:
            raise UsageError(f"{place}: {policy.name} is the operator's: give its name alone, or another name")
        try:
            check_address(policy.base_url, self._settings.allow, self._settings.private, self._resolve)
        except RefusedError as error:
            raise RefusedError(f"{error}; the operator permits addresses with the setting policies.allow") from error
        return policy


def same_place(own: PolicySettings, policy: PolicySettings) -> bool:
    """Whether two policies are reached at the same place."""
    mine, theirs = ((one.kind, one.base_url, one.provider, one.command) for one in (own, policy))
    return mine == theirs


def _distinct(policies: Sequence[PolicySettings]) -> list[PolicySettings]:
    """Without those that come to the same policy of the operator's."""
    return [policy for place, policy in enumerate(policies) if policy not in policies[:place]]
