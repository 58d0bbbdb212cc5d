"""The policy kind `agent`."""

from evolve.policies import PolicyContext
from evolve.ports import Policy
from service.policy.kinds import BuiltInKind, ServicePolicyContext
from service.policy_settings.kind_traits import AGENT_KEYS, KindTraits


def _open_agent(context: PolicyContext) -> Policy:
    from service.agents.policy import AgentPolicy
    from service.policy_settings.settings import PolicySettings

    settings = (
        context.policy
        if isinstance(context, ServicePolicyContext)
        else PolicySettings.model_validate({**context.settings, "name": context.name})
    )
    return AgentPolicy(
        settings,
        build_prompt=context.build_prompt,
        key=context.key,
        transport=context.transport,
        repository=context.problem.repository,
    )


AGENT = BuiltInKind(
    traits=KindTraits(
        spoken="a coding agent",
        keys=(
            *AGENT_KEYS, "name", "kind", "role", "provider", "base_url", "model",
            "api_key_env", "api_key_file", "price", "answers", "samples", "concurrency", "weight", "context_tokens",
            "timeout_seconds", "escalate_after",
        ),
        author_only=True,
        edits_files=True,
    ),
    opens=_open_agent,
)  # fmt: skip
