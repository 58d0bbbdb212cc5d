"""The policy kinds that come with the product: what acts for each, and how its policies are opened."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from evolve.extensions import ExtensionKind, Extensions, built_in_names, is_known, known_names
from evolve.policies import PolicyContext
from evolve.ports import Policy

if TYPE_CHECKING:
    from service.policy.connection import ServerConnection
    from service.policy.settings import PolicySettings

_SAMPLED = ("name", "kind", "role", "model", "format", "answers", "samples", "temperature", "top_p", "max_tokens",
            "concurrency", "weight")  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class KindTraits:
    """What holds for all policies of a kind.

    Attributes:
        spoken: a policy of the kind, as a sentence names it.
        keys: those of a policy file that act; None: all.
        without: those of them that do not act all the same.
        author_only: whether it writes programs, and is neither critic nor embedder.
        free: whether it costs nothing.
        reads_reviews: whether it reads what a critic wrote.
        reached: whether it may be reached over the network, with a key.
    """

    spoken: str
    keys: tuple[str, ...] | None = None
    without: frozenset[str] = frozenset()
    author_only: bool = False
    free: bool = False
    reads_reviews: bool = True
    reached: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltInKind:
    """A kind that comes with the product; see `evolve.policies.PolicyKind`."""

    traits: KindTraits
    opens: Callable[[PolicyContext], Policy]

    def __call__(self, context: PolicyContext, /) -> Policy:
        """Open a policy."""
        return self.opens(context)


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicePolicyContext(PolicyContext):
    """A context that holds the settings as they were read, with what they leave open."""

    policy: "PolicySettings"


def traits_of(kind: str) -> KindTraits:
    """What holds for a kind; nothing of an extension is imported."""
    return _built_in(kind).traits if kind in built_in_names(ExtensionKind.POLICY) else EXTENSION


def check_kind(kind: str) -> str:
    """A kind that a policy may have.

    Raises:
        ValueError: there is none of the name.
    """
    if is_known(ExtensionKind.POLICY, kind):
        return kind
    known = ", ".join(known_names(ExtensionKind.POLICY))
    raise ValueError(f"{kind[:80]!r} is not known: name one of {known}, or one of your own as module:Class")


@cache
def _built_in(kind: str) -> BuiltInKind:
    return cast("BuiltInKind", Extensions().resolve(ExtensionKind.POLICY, kind)[1])


def _settings(context: PolicyContext) -> "PolicySettings":
    if isinstance(context, ServicePolicyContext):
        return context.policy
    from service.policy.settings import PolicySettings

    return PolicySettings.model_validate({**context.settings, "name": context.name})


def _open_server(context: PolicyContext) -> Policy:
    from service.policy.openai import OpenAIPolicy

    return OpenAIPolicy(connect(_settings(context), context.key, context.transport), build_prompt=context.build_prompt)


def connect(settings: "PolicySettings", key: str | None, transport: Any) -> "ServerConnection[Any]":
    """A connection to the server of a policy; nothing is asked of the server yet."""
    import numpy as np
    from pydantic import SecretStr

    from service.policy.connection import ServerConnection

    secret = None if key is None else SecretStr(key)
    return ServerConnection(settings, key=secret, rng=np.random.default_rng(), transport=transport)


def _open_mutator(context: PolicyContext) -> Policy:
    from service.policy.syntax.policy import SyntaxPolicy

    return SyntaxPolicy(context.problem, context.name, _settings(context).answers)


def _open_bundled(context: PolicyContext) -> Policy:
    from service.policy.bundled.policy import BundledPolicy

    return BundledPolicy(_settings(context), build_prompt=context.build_prompt)


OPENAI = BuiltInKind(traits=KindTraits(spoken="a policy"), opens=_open_server)
LITELLM = BuiltInKind(
    traits=KindTraits(spoken="a policy behind LiteLLM", without=frozenset({"provider"})), opens=_open_server
)
SYNTAX = BuiltInKind(
    traits=KindTraits(
        spoken="the syntax mutator",
        keys=("name", "kind", "role", "answers", "weight"),
        author_only=True,
        free=True,
        reads_reviews=False,
        reached=False,
    ),
    opens=_open_mutator,
)
BUNDLED = BuiltInKind(
    traits=KindTraits(
        spoken="a bundled policy", keys=_SAMPLED, author_only=True, free=True, reads_reviews=False, reached=False
    ),
    opens=_open_bundled,
)
# One that a user brings.
EXTENSION = KindTraits(
    spoken="a policy of a kind of your own",
    keys=(
        *_SAMPLED, "base_url", "api_key_env", "api_key_file", "params", "context_tokens", "timeout_seconds", "price",
    ),
    author_only=True,
)  # fmt: skip
