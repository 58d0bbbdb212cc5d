"""The policies of runs, as this installation reaches them."""

import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from service.config import PoliciesSettings
from service.errors import UsageError
from service.policy.advised import AdvisingModel
from service.policy.lora_adapters import LoraAdapters
from service.policy.opening import OpenedPolicies, PolicyOrder, open_policies
from service.policy.server import Server
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import load_policies
from service.ports import Bundle
from service.usecases.model_folders import ModelFolders
from service.usecases.plan import RunPlan
from service.usecases.prompt_templates import read_templates


class ConfiguredPolicies:
    """The port PolicyFactory over policies of this process and behind servers.

    Args:
        settings: where policies of runs that were submitted over the API may be.
        bundle: gives the folder of a registered model by its hash. None: runs here have none.
    """

    def __init__(self, settings: PoliciesSettings, bundle: Callable[[str], Bundle] | None = None) -> None:
        self._settings = settings
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
        )
        return open_policies(order, self._settings, own)


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
    policy = policies[0]
    server = Server(policy, policy.read_key(), monotonic=time.monotonic)
    try:
        yield policy, LoraAdapters(server)
    finally:
        await server.close()
