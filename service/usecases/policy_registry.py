"""The registry of policies: versions are stored, measured, promoted and archived, and runs name them."""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any

from evolve.version import __version__
from service.errors import ConflictError, NotFoundError, RefusedError, UsageError
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import read_policy
from service.ports import (
    ARCHIVED,
    DEFAULT_TENANT,
    Clock,
    NewPolicyVersion,
    PolicyEvaluation,
    PolicyStore,
    PolicyVersion,
    RegisteredPolicy,
)
from service.problems.bundle import pack
from service.problems.folder import Folder
from service.projections.policy_gate import deciding, refusal, summarize_evaluation
from service.usecases.version_settings import adapter_base, adapter_settings, carried_settings, model_settings

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,47}")
RESERVED = ("health", "registered")  # places of the API beside the names of policies
CARD_FILE = "README.md"


class StoredPolicies:
    """The port PolicyRegistry over a store.

    Args:
        store: where policies and versions are.
        clock: the time that they are stored with.
        operators: names of the policies of the operator's file, which the registry may not take.
        serve: lets a version be answered with, before it is promoted: the vLLM of an adapter loads it.
    """

    def __init__(
        self,
        store: PolicyStore,
        clock: Clock,
        operators: Collection[str],
        serve: Callable[[PolicyVersion], None] = lambda _: None,
    ) -> None:
        self._store, self._clock, self._operators, self._serve = store, clock, operators, serve

    def register(self, tenant: str, name: str, description: str, *, shared: bool, by: str) -> RegisteredPolicy:
        """Store a policy without versions.

        Raises:
            UsageError: the name is none.
            ConflictError: there is one of the name, or the operator's file has it.
            RefusedError: a shared policy belongs to the operator's tenant.
        """
        if not NAME.fullmatch(name):
            raise UsageError(f"the policy name {name[:64]!r} may hold small letters, digits and ._- only, at most 48")
        if name in RESERVED or name in self._operators:
            raise ConflictError(f"the name {name} is taken by the installation: choose another")
        if shared and tenant != DEFAULT_TENANT:
            raise RefusedError(f"only the tenant {DEFAULT_TENANT} shares policies: leave out shared")
        now = self._clock.now()
        policy = RegisteredPolicy(
            tenant=tenant, name=name, description=description, shared=shared, created_by=by, created_at=now
        )
        self._store.add(policy)
        return policy

    def get(self, tenant: str, name: str) -> RegisteredPolicy:
        """A policy."""
        return self._store.visible(tenant, name)

    def policies(self, tenant: str, after: str = "", limit: int = 50) -> list[RegisteredPolicy]:
        """Policies by name."""
        return self._store.policies(tenant, after, limit)

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
        asked: Mapping[str, Any] | None = None,
    ) -> PolicyVersion:
        """Store a model's folder as the next version, or that of an adapter with the address of its vLLM as `served`.

        `asked` are keys of a policy file. They count more than those that the folder has.

        Raises:
            NotFoundError, RefusedError: the tenant has no such policy, or may not change it.
            UsageError: the files are no model's, or the base is not one that there is.
        """
        self.own(tenant, name)
        if "@" in base:
            self.named(tenant, base)
        folder = pack(Folder(files=dict(sorted(files.items()))))
        if served:
            settings = adapter_settings(name, files, folder.hash, served)
            base = base or adapter_base(files)
        else:
            settings = model_settings(files, folder.hash)
        settings |= carried_settings(asked or {})
        read_policy({**settings, "name": name}, "the version")
        new = NewPolicyVersion(
            files=folder,
            base=base,
            settings=settings,
            training={"code_version": __version__, **(training or {})},
            card=card or files.get(CARD_FILE, b"").decode(errors="replace"),
            created_by=by,
            created_at=self._clock.now(),
        )
        return self._store.add_version(tenant, name, new)

    def versions(self, tenant: str, name: str, before: int | None = None, limit: int = 50) -> list[PolicyVersion]:
        """Versions of a policy, newest first."""
        return self._store.versions(self._store.visible(tenant, name).tenant, name, before, limit)

    def version(self, tenant: str, name: str, version: int) -> PolicyVersion:
        """A version."""
        return self._store.version(self._store.visible(tenant, name).tenant, name, version)

    def evaluate(self, tenant: str, name: str, version: int, evaluation: PolicyEvaluation) -> PolicyVersion:
        """Record an evaluation of a version, with the paired difference and its interval.

        Raises:
            NotFoundError, RefusedError: the tenant has no such version, or may not change it.
            UsageError: the values do not fit the problems, or one of these was trained on.
        """
        self.own(tenant, name)
        if evaluation.against:
            self._store.version(tenant, name, evaluation.against)
        trained = self.trained_on(self._store.version(tenant, name, version))
        seen = [problem for problem in evaluation.problems if problem in trained]
        if seen:
            raise UsageError(f"{name}@{version} was trained on {seen[0][:80]!r}: evaluate on problems it never saw")
        found = {**summarize_evaluation(evaluation), "at": self._clock.now().isoformat()}
        return self._store.add_evaluation(tenant, name, version, found)

    def serve(self, tenant: str, name: str, version: int, *, force: str = "") -> None:
        """Prepare a version for promotion: the vLLM of an adapter loads it. A version that may not be promoted is left.

        Raises:
            NotFoundError, RefusedError: the tenant has no such version, or may not change it.
            ConflictError: the version is archived, or the gate refuses it. The text has the figures.
            UnreachableError: the vLLM of an adapter did not load it.
        """
        promoted = self.own(tenant, name).promoted
        found = self._store.version(tenant, name, version)
        if found.state == ARCHIVED:
            raise ConflictError(f"{found.name} is archived: promote another version, or add its files anew")
        if (reason := refusal(found, promoted)) and not force:
            raise ConflictError(reason)
        self._serve(found)

    def promote(self, tenant: str, name: str, version: int, *, by: str, force: str = "") -> PolicyVersion:
        """Let a policy's name stand for a version, which `serve` has prepared.

        Raises:
            NotFoundError, RefusedError: the tenant has no such version, or may not change it.
            ConflictError: the version is archived, or the gate refuses it. The text has the figures.
        """
        promoted = self.own(tenant, name).promoted
        found = self._store.version(tenant, name, version)
        reason = refusal(found, promoted)
        if reason and not force:
            raise ConflictError(reason)
        forced = {"forced": True, "reason": force, "refusal": reason} if reason else {"forced": False}
        promotion = {"by": by, "before": promoted, **forced, "evaluation": deciding(found.evaluations, promoted)}
        return self._store.promote(tenant, name, version, promotion, self._clock.now())

    def archive(self, tenant: str, name: str, version: int) -> PolicyVersion:
        """Take a version from new runs.

        Raises:
            NotFoundError, RefusedError: the tenant has no such version, or may not change it.
            ConflictError: the policy's name stands for it.
        """
        self.own(tenant, name)
        return self._store.archive(tenant, name, version, self._clock.now())

    def named(self, tenant: str, words: str) -> PolicyVersion:
        """The version that `name` or `name@version` stands for.

        Raises:
            NotFoundError: there is none.
            UsageError: the version is archived, or none is promoted.
        """
        name, at, number = words.partition("@")
        policy = self._store.visible(tenant, name)
        if not at and policy.promoted is None:
            raise UsageError(f"the policy {name} has no promoted version: promote one, or name {name}@VERSION")
        if at and not re.fullmatch(r"[1-9][0-9]{0,8}", number):
            raise NotFoundError(f"the version in {words[:64]!r} is not a number: name {name}@1, for example")
        found = self._store.version(policy.tenant, name, int(number) if number else policy.promoted or 0)
        if found.state == ARCHIVED:
            raise UsageError(f"{found.name} is archived: name another version")
        return found

    def settings(self, tenant: str, words: str) -> PolicySettings:
        """The policy that a run asks which names a version or a policy.

        Raises:
            NotFoundError, UsageError: as of `named`.
        """
        found = self.named(tenant, words)
        return read_policy({**found.settings, "name": found.name}, found.name)

    def own(self, tenant: str, name: str) -> RegisteredPolicy:
        """A policy that a tenant may change.

        Raises:
            NotFoundError: there is none.
            RefusedError: it is shared by the operator.
        """
        policy = self._store.visible(tenant, name)
        if policy.tenant != tenant:
            raise RefusedError(f"the policy {name} is shared by the operator: only the operator changes it")
        return policy

    def trained_on(self, found: PolicyVersion) -> set[str]:
        """The problems that a version and its bases were trained on."""
        problems: set[str] = set()
        at: PolicyVersion | None = found
        seen: set[str] = set()
        while at is not None and at.name not in seen:
            seen.add(at.name)
            problems |= set(at.training.get("problems", ()))
            at = self._base(at)
        return problems

    def _base(self, found: PolicyVersion) -> PolicyVersion | None:
        name, _, number = found.base.partition("@")
        if not number:
            return None
        return self._store.version(self._store.visible(found.tenant, name).tenant, name, int(number))
