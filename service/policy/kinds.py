"""The built-in policy kinds, and the opening of their policies."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evolve.policies import PolicyContext
from evolve.ports import Policy
from service.policy_settings.kind_traits import AGENT_KEYS, SAMPLED, KindTraits

if TYPE_CHECKING:  # commands that open no policy ask what a kind costs, and must start fast
    from service.policy.connection import ServerConnection
    from service.policy_settings.settings import PolicySettings


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInKind:
    """A built-in kind, see `evolve.policies.PolicyKind`."""

    traits: KindTraits
    opens: Callable[[PolicyContext], Policy]

    @property
    def free(self) -> bool:
        """Whether its answers cost nothing."""
        return self.traits.free

    def __call__(self, context: PolicyContext, /) -> Policy:
        """Open a policy."""
        return self.opens(context)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePolicyContext(PolicyContext):
    """A context with the read settings, including their defaults."""

    policy: "PolicySettings"


def _settings(context: PolicyContext) -> "PolicySettings":
    if isinstance(context, ServicePolicyContext):
        return context.policy
    from service.policy_settings.settings import PolicySettings

    return PolicySettings.model_validate({**context.settings, "name": context.name})


def _open_server(context: PolicyContext) -> Policy:
    from service.policy.openai import OpenAIPolicy

    return OpenAIPolicy(connect(_settings(context), context.key, context.transport), build_prompt=context.build_prompt)


def connect(settings: "PolicySettings", key: str | None, transport: Any) -> "ServerConnection[Any]":
    """A connection to the server of a policy, without a request so far."""
    import numpy as np
    from pydantic import SecretStr

    from service.policy.connection import ServerConnection

    secret = None if key is None else SecretStr(key)
    return ServerConnection(settings, key=secret, rng=np.random.default_rng(), transport=transport)


def _open_mutator(context: PolicyContext) -> Policy:
    from service.policy.syntax.policy import SyntaxPolicy

    return SyntaxPolicy(context.problem, context.name, _settings(context).answers)


def _open_tuner(context: PolicyContext) -> Policy:
    from service.policy.tuner.policy import TunerPolicy

    return TunerPolicy(context.problem, context.name, _settings(context).answers)


def _open_bundled(context: PolicyContext) -> Policy:
    from service.policy.bundled.policy import BundledPolicy

    return BundledPolicy(_settings(context), build_prompt=context.build_prompt)


OPENAI = BuiltInKind(traits=KindTraits(spoken="a policy", without=frozenset(AGENT_KEYS)), opens=_open_server)
LITELLM = BuiltInKind(
    traits=KindTraits(spoken="a policy behind LiteLLM", without=frozenset({"provider", *AGENT_KEYS})),
    opens=_open_server,
)
SYNTAX = BuiltInKind(
    traits=KindTraits(
        spoken="the syntax mutator",
        keys=("name", "kind", "role", "answers", "weight"),
        author_only=True,
        free=True,
        reads_advice=False,
        reached=False,
    ),
    opens=_open_mutator,
)
TUNER = BuiltInKind(
    traits=KindTraits(
        spoken="the tuner",
        keys=("name", "kind", "role", "answers", "weight", "escalate_after"),
        author_only=True,
        free=True,
        reads_advice=False,
        reached=False,
    ),
    opens=_open_tuner,
)
BUNDLED = BuiltInKind(
    traits=KindTraits(
        spoken="a bundled policy", keys=SAMPLED, author_only=True, free=True, reads_advice=False, reached=False
    ),
    opens=_open_bundled,
)
