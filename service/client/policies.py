"""The registry of a service, behind the protocol that that of a database has."""

from itertools import chain

from service.client import Client, calls
from service.schemas.policy_registry import (
    PolicyCreate,
    PolicyVersion,
    RegisteredPolicy,
    VersionCreate,
    VersionPromote,
)

PAGE = 200


class RemotePolicySite:
    """The registry of a service."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def create(self, body: PolicyCreate) -> RegisteredPolicy:
        """Register a policy."""
        return self._client.send(calls.create_policy(body))

    def policies(self) -> list[RegisteredPolicy]:
        """All policies, by name."""
        pages = self._client.pages(calls.list_registered_policies(limit=PAGE))
        return list(chain.from_iterable(page.items for page in pages))

    def get(self, name: str) -> RegisteredPolicy:
        """A policy."""
        return self._client.send(calls.get_policy(name))

    def add(self, name: str, body: VersionCreate) -> PolicyVersion:
        """Store a model's folder as the next version."""
        return self._client.send(calls.create_policy_version(name, body))

    def versions(self, name: str) -> list[PolicyVersion]:
        """All versions of a policy, newest first."""
        pages = self._client.pages(calls.list_policy_versions(name, limit=PAGE))
        return list(chain.from_iterable(page.items for page in pages))

    def promote(self, name: str, version: int, force: str) -> PolicyVersion:
        """Let a policy's name stand for a version."""
        return self._client.send(calls.promote_policy_version(name, version, VersionPromote(force=force)))

    def archive(self, name: str, version: int) -> PolicyVersion:
        """Take a version from new runs."""
        return self._client.send(calls.archive_policy_version(name, version))
