"""Policies with versions: what each was made of, how it was trained, how it was measured, and which of them is used."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from service.ports.values import Bundle

CANDIDATE, PROMOTED, ARCHIVED = "candidate", "promoted", "archived"


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredPolicy:
    """A policy of the registry.

    Attributes:
        shared: whether all tenants may use it. Only those of the operator's tenant are.
        promoted: the version that its name stands for. None: none yet.
        versions: number of its versions.
    """

    tenant: str
    name: str
    description: str
    shared: bool
    created_by: str
    created_at: datetime
    promoted: int | None = None
    versions: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPolicyVersion:
    """A version to store.

    Attributes:
        files: the model's folder, or the adapter's.
        base: what it was trained from: `name@version`, or the name of a model. Empty: from scratch.
        settings: keys of a policy file that a run asks it with.
        training: how it was trained: method, seed, code_version, runs, problems and further settings.
        card: text for people, in Markdown.
    """

    files: Bundle
    base: str
    settings: Mapping[str, Any]
    training: Mapping[str, Any]
    card: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyVersion:
    """A version of a policy.

    Attributes:
        bundle_hash: SHA-256 of its folder.
        evaluations: comparisons with other versions on held-out problems, oldest first.
        promotion: why it was promoted: by whom, after which evaluation, and whether by force. Empty: never.
    """

    tenant: str
    policy: str
    version: int
    state: str
    base: str
    settings: Mapping[str, Any]
    bundle_hash: str
    training: Mapping[str, Any]
    card: str
    evaluations: Sequence[Mapping[str, Any]]
    promotion: Mapping[str, Any] = field(default_factory=dict)
    created_by: str = ""
    created_at: datetime
    promoted_at: datetime | None = None
    archived_at: datetime | None = None

    @property
    def name(self) -> str:
        """`name@version`: what runs, events and statistics call it."""
        return f"{self.policy}@{self.version}"


class PolicyStore(Protocol):
    """Registered policies of all tenants and their versions.

    Methods that name a policy or a version raise NotFoundError where the tenant does not have it.
    """

    def add(self, policy: RegisteredPolicy) -> None:
        """Store a policy without versions.

        Raises:
            ConflictError: the tenant has one of the name.
        """

    def get(self, tenant: str, name: str) -> RegisteredPolicy:
        """A policy of a tenant."""

    def visible(self, tenant: str, name: str) -> RegisteredPolicy:
        """A policy that a tenant may use: its own, else a shared one."""

    def policies(self, tenant: str, after: str = "", limit: int = 50) -> list[RegisteredPolicy]:
        """Policies that a tenant may use, by name. Its own policy hides a shared one of the same name."""

    def add_version(self, tenant: str, name: str, new: NewPolicyVersion) -> PolicyVersion:
        """Store the next version."""

    def version(self, tenant: str, name: str, version: int) -> PolicyVersion:
        """A version of a policy of a tenant."""

    def versions(self, tenant: str, name: str, before: int | None = None, limit: int = 50) -> list[PolicyVersion]:
        """Versions of a policy of a tenant, newest first."""

    def add_evaluation(self, tenant: str, name: str, version: int, evaluation: Mapping[str, Any]) -> PolicyVersion:
        """Add an evaluation to those of a version."""

    def promote(
        self, tenant: str, name: str, version: int, promotion: Mapping[str, Any], at: datetime
    ) -> PolicyVersion:
        """Let a policy's name stand for a version. The version that it stood for becomes a candidate.

        Raises:
            ConflictError: the version is archived.
        """

    def archive(self, tenant: str, name: str, version: int, at: datetime) -> PolicyVersion:
        """Take a version from new runs. Runs that have it keep it.

        Raises:
            ConflictError: the policy's name stands for it.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyEvaluation:
    """A comparison with another version on the same held-out problems.

    Attributes:
        against: the other version. 0: none, such as the model that the policy began as.
        metric: what the values are, more being better.
        problems: names of the problems, in the order of the values.
        values: of the version.
        baseline: of the other, on the same problems.
    """

    against: int
    metric: str
    problems: Sequence[str]
    values: Sequence[float]
    baseline: Sequence[float]


class PolicyRegistry(Protocol):
    """The registry as front doors see it. Every method takes the tenant that asks.

    Methods that name a policy or a version raise NotFoundError where the tenant may not see it, and RefusedError where
    it may see and not change it.
    """

    def register(self, tenant: str, name: str, description: str, *, shared: bool, by: str) -> RegisteredPolicy:
        """Store a policy without versions.

        Raises:
            ConflictError: there is one of the name, or the operator's file has it.
            RefusedError: a shared policy belongs to the operator's tenant.
        """

    def get(self, tenant: str, name: str) -> RegisteredPolicy:
        """A policy."""

    def policies(self, tenant: str, after: str = "", limit: int = 50) -> list[RegisteredPolicy]:
        """Policies by name."""

    def add_version(
        self,
        tenant: str,
        name: str,
        files: Mapping[str, bytes],
        *,
        base: str = "",
        training: Mapping[str, Any] | None = None,
        card: str = "",
        by: str = "",
        served: str = "",
    ) -> PolicyVersion:
        """Store a model's folder as the next version, or that of an adapter with the address of its vLLM as `served`.

        Raises:
            UsageError: the files are no model's, or the base is not one that there is.
        """

    def versions(self, tenant: str, name: str, before: int | None = None, limit: int = 50) -> list[PolicyVersion]:
        """Versions of a policy, newest first."""

    def version(self, tenant: str, name: str, version: int) -> PolicyVersion:
        """A version."""

    def evaluate(self, tenant: str, name: str, version: int, evaluation: PolicyEvaluation) -> PolicyVersion:
        """Record an evaluation of a version, with the paired difference and its interval.

        Raises:
            UsageError: the numbers of problems and values differ, or there are too few.
        """

    def serve(self, tenant: str, name: str, version: int, *, force: str = "") -> None:
        """Prepare a version for promotion: the vLLM of an adapter loads it. A version that may not be promoted is left.

        Raises:
            ConflictError: the version is archived, or the gate refuses it. The text has the figures.
            UnreachableError: the vLLM of an adapter did not load it.
        """

    def promote(self, tenant: str, name: str, version: int, *, by: str, force: str = "") -> PolicyVersion:
        """Let a policy's name stand for a version, which `serve` has prepared.

        Args:
            tenant, name, version: which.
            by: who asks.
            force: the operator's reason to promote a version that was not found better. Empty: the gate decides.

        Raises:
            ConflictError: the version is archived, or the gate refuses it. The text has the figures.
        """

    def archive(self, tenant: str, name: str, version: int) -> PolicyVersion:
        """Take a version from new runs.

        Raises:
            ConflictError: the policy's name stands for it.
        """
