"""The policies of runs, as this installation reaches them."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial

from service.config import PoliciesSettings
from service.errors import NotFoundError, UsageError
from service.policy.access import PolicyAccess, way_to
from service.policy.advised import AdvisingModel
from service.policy.lora_adapters import LoraAdapters
from service.policy.opening import OpenedPolicies, PolicyOrder, open_policies
from service.policy.run_versions import ServedVersions
from service.policy.server import Server
from service.policy_settings.choice import same_place
from service.policy_settings.roles import is_version
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import load_policies, read_policy
from service.ports import DEFAULT_TENANT, Bundle, PolicyStore, RunRecord
from service.usecases.model_folders import ModelFolders
from service.usecases.plan import RunPlan
from service.usecases.prompt_templates import read_templates


class ConfiguredPolicies:
    """The port PolicyFactory over policies of this process and behind servers.

    Args:
        settings: where policies of runs that were submitted over the API may be.
        bundle: gives the folder of a registered model by its hash. None: runs here have none.
        registry: the versions of policies. None: there is no registry.
    """

    def __init__(
        self,
        settings: PoliciesSettings,
        bundle: Callable[[str], Bundle] | None = None,
        registry: PolicyStore | None = None,
    ) -> None:
        self._settings, self._registry = settings, registry
        self._models = None if bundle is None else ModelFolders(bundle)

    def open(self, plan: RunPlan, own: Sequence[AdvisingModel] = ()) -> AbstractAsyncContextManager[OpenedPolicies]:
        """Open the policies of a run.

        Args:
            plan: the run.
            own: the caller's models that advise authors, of roles that the plan has none for.

        Raises:
            UsageError: the user's templates cannot be read.
            ConfigurationError: a template of the user's is off.
            NotFoundError, StorageError: a registered model is not stored, or cannot be unpacked here.
        """
        models = self._models
        order = PolicyOrder(
            policies=plan.policies if models is None else tuple(map(models.settle, plan.policies)),
            problem=plan.problem,
            config=plan.config,
            templates=read_templates(plan),
            source=plan.source,
            resumed=plan.record is not None,
            folder=models.folder if models else None,
            is_version=partial(self._is_version, plan.record.tenant if plan.record else DEFAULT_TENANT),
        )
        return open_policies(order, self._settings, own)

    def loaded(self, run: RunRecord) -> ServedVersions | None:
        """The versions of a run's policy that a server may have loaded. None: no server takes them.

        Raises:
            UsageError: this version of Evolve cannot read the policy.
        """
        (start,) = (policy for policy in run.policies if policy.get("role", "author") == "author")
        if start.get("kind") != "openai":
            return None

        async def way(policy: PolicySettings) -> PolicyAccess:
            is_known = partial(self._is_version, run.tenant)
            return await asyncio.to_thread(way_to, policy, run.source, self._settings, is_known)

        return ServedVersions(read_policy(start, "the policy of the run"), way)

    def _is_version(self, tenant: str, policy: PolicySettings) -> bool:
        """Whether a policy is a version that a tenant may use, at the server and with the model of that version."""
        if self._registry is None or not is_version(policy.name):
            return False
        name, _, number = policy.name.partition("@")
        try:
            owner = self._registry.visible(tenant, name).tenant
            found = self._registry.version(owner, name, int(number))
        except NotFoundError:
            return False
        version = read_policy({**found.settings, "name": found.name}, found.name)
        return same_place(version, policy) and version.model == policy.model


@asynccontextmanager
async def open_adapters(source: str) -> AsyncIterator[tuple[PolicySettings, LoraAdapters]]:
    """The policy that `--policy` names, and the adapters of its server.

    Raises:
        UsageError: it names no single policy with an address, or its key cannot be read.
        NotFoundError: no such file.
    """
    policies = load_policies(source)
    if len(policies) != 1 or policies[0].kind != "openai" or policies[0].base_url is None:
        raise UsageError("adapters are loaded into a vLLM: name its address, such as --policy http://localhost:8000/v1")
    async with adapters_of(policies[0]) as adapters:
        yield policies[0], adapters


@asynccontextmanager
async def adapters_of(policy: PolicySettings) -> AsyncIterator[LoraAdapters]:
    """The adapters of the server of a policy.

    Raises:
        UsageError: its key cannot be read.
    """
    server = Server(policy, policy.read_key(), monotonic=time.monotonic)
    try:
        yield LoraAdapters(server)
    finally:
        await server.close()
