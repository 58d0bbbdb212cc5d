"""The registry where policies are: in a database, whose owner this process is, or with a service."""

import base64
from collections.abc import Callable, Mapping
from typing import Protocol

from service.ports import DEFAULT_TENANT, PolicyRegistry, PolicyStore
from service.projections.policy_registry import policy_reply, version_reply
from service.schemas.policy_registry import (
    PolicyCreate,
    PolicyVersion,
    RegisteredPolicy,
    VersionCreate,
)

COMMAND_LINE = "command line"
PAGE = 200


class PolicySite(Protocol):
    """The registry of one place.

    Every method that names a policy or a version raises NotFoundError where there is none.
    """

    def create(self, body: PolicyCreate) -> RegisteredPolicy:
        """Register a policy."""

    def policies(self) -> list[RegisteredPolicy]:
        """All policies, by name."""

    def get(self, name: str) -> RegisteredPolicy:
        """A policy."""

    def add(self, name: str, body: VersionCreate) -> PolicyVersion:
        """Store a model's folder as the next version."""

    def versions(self, name: str) -> list[PolicyVersion]:
        """All versions of a policy, newest first."""

    def promote(self, name: str, version: int, force: str) -> PolicyVersion:
        """Let a policy's name stand for a version."""

    def archive(self, name: str, version: int) -> PolicyVersion:
        """Take a version from new runs."""


class StoredPolicySite:
    """The registry of a database, of the tenant `default`.

    Args:
        store: where policies and versions are.
        registry: makes what changes them, once something is changed.
    """

    def __init__(self, store: PolicyStore, registry: Callable[[], PolicyRegistry]) -> None:
        self._store, self._registry = store, registry

    def create(self, body: PolicyCreate) -> RegisteredPolicy:
        """Register a policy."""
        registry = self._registry()
        made = registry.register(DEFAULT_TENANT, body.name, body.description, shared=body.shared, by=COMMAND_LINE)
        return policy_reply(made, DEFAULT_TENANT)

    def policies(self) -> list[RegisteredPolicy]:
        """All policies, by name."""
        found: list[RegisteredPolicy] = []
        while page := self._store.policies(DEFAULT_TENANT, found[-1].name if found else "", PAGE):
            found += [policy_reply(policy, DEFAULT_TENANT) for policy in page]
        return found

    def get(self, name: str) -> RegisteredPolicy:
        """A policy."""
        return policy_reply(self._store.visible(DEFAULT_TENANT, name), DEFAULT_TENANT)

    def add(self, name: str, body: VersionCreate) -> PolicyVersion:
        """Store a model's folder as the next version."""
        return version_reply(
            self._registry().add_version(
                DEFAULT_TENANT,
                name,
                contents(body.binary_files),
                base=body.base,
                training=body.training,
                card=body.card,
                by=COMMAND_LINE,
                served=body.served,
            )
        )

    def versions(self, name: str) -> list[PolicyVersion]:
        """All versions of a policy, newest first."""
        found: list[PolicyVersion] = []
        tenant = self._store.visible(DEFAULT_TENANT, name).tenant
        while page := self._store.versions(tenant, name, found[-1].version if found else None, PAGE):
            found += map(version_reply, page)
        return found

    def promote(self, name: str, version: int, force: str) -> PolicyVersion:
        """Let a policy's name stand for a version."""
        registry = self._registry()
        registry.serve(DEFAULT_TENANT, name, version, force=force)
        return version_reply(registry.promote(DEFAULT_TENANT, name, version, by=COMMAND_LINE, force=force))

    def archive(self, name: str, version: int) -> PolicyVersion:
        """Take a version from new runs."""
        return version_reply(self._registry().archive(DEFAULT_TENANT, name, version))


def contents(files: Mapping[str, str]) -> dict[str, bytes]:
    """Files as a request holds them, by path."""
    return {path: base64.b64decode(text) for path, text in files.items()}
