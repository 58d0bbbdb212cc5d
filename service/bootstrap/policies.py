"""The policies of runs, as this installation reaches them."""

from contextlib import AbstractAsyncContextManager

from service.config import PoliciesSettings
from service.policy.critic import Critic
from service.policy.opening import OpenedPolicies, PolicyOrder, open_policies
from service.usecases.plan import RunPlan
from service.usecases.prompt_templates import read_templates


class ConfiguredPolicies:
    """The port PolicyFactory over policies of this process and behind servers.

    Args:
        settings: where policies of runs that were submitted over the API may be.
    """

    def __init__(self, settings: PoliciesSettings) -> None:
        self._settings = settings

    def open(self, plan: RunPlan, own: Critic | None = None) -> AbstractAsyncContextManager[OpenedPolicies]:
        """Open the policies of a run.

        Args:
            plan: the run.
            own: the caller's critic, where the plan has none.

        Raises:
            UsageError: the user's templates cannot be read.
            ConfigurationError: a template of the user's is off.
        """
        order = PolicyOrder(
            policies=plan.policies,
            problem=plan.problem,
            config=plan.config,
            templates=read_templates(plan),
            source=plan.source,
            resumed=plan.record is not None,
        )
        return open_policies(order, self._settings, own)
