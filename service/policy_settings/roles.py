"""Cast: the policies of a run together, and what each of them does in it."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Self
from urllib.parse import urlsplit

from evolve.answers.continuation import CONTINUE
from evolve.configuration import LearningConfig
from evolve.errors import ConfigurationError
from service.errors import NotFoundError, UsageError
from service.policy_settings.kind_traits import traits_of
from service.policy_settings.parameters import parse_words
from service.policy_settings.settings import PolicySettings
from service.policy_settings.sources import load_policies, read_policy, refuse_repeats

MAX_POLICIES = 16  # of one run
_VERSION = re.compile(r"[^@]+@[1-9][0-9]{0,8}")
# Of the registry: the policy that a name stands for, or NotFoundError.
Registered = Callable[[str], PolicySettings]


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyRoles:
    """The policies of a run by their roles.

    Attributes:
        authors: write programs.
        critic: reviews parents for them.
        advisor: proposes ideas for parents to them.
        embedder: embeds programs.
        analyst: writes the insights of the run.
    """

    authors: tuple[PolicySettings, ...]
    critic: PolicySettings | None = None
    advisor: PolicySettings | None = None
    embedder: PolicySettings | None = None
    analyst: PolicySettings | None = None

    @classmethod
    def of(cls, policies: Sequence[PolicySettings]) -> Self:
        """Sort policies by their roles.

        Raises:
            UsageError: two have a role of which a run takes one.
        """
        return cls(
            authors=tuple(policy for policy in policies if policy.role == "author"),
            critic=_only(policies, "critic"),
            advisor=_only(policies, "advisor"),
            embedder=_only(policies, "embedder"),
            analyst=_only(policies, "analyst"),
        )


def check_learning(learning: LearningConfig, roles: PolicyRoles) -> None:
    """Refuse updates within a run whose policy cannot be trained there.

    Args:
        learning: of the run.
        roles: of its policies.

    Raises:
        ConfigurationError: it cannot.
    """
    if learning.every and (reason := _unlearnable(learning, roles)):
        raise ConfigurationError(reason)


def _unlearnable(learning: LearningConfig, roles: PolicyRoles) -> str:
    """Why a run cannot train its policy, and what to do about it. Empty: it can."""
    if len(roles.authors) != 1:
        names = ", ".join(author.name for author in roles.authors)
        return f"learning.every trains a single author, and the authors of this run are {names}: name one of them"
    (author,) = roles.authors
    if author.kind == "bundled":
        named = f"learning.model names the model of a server, and {author.name} is a bundled policy: leave it out"
        return named if learning.model else ""
    if author.kind != "openai" or author.provider:
        return (
            "learning.every trains a bundled policy, or the model of a vLLM that takes LoRA adapters while it runs, and"
            f" {author.name} is neither: leave learning out"
        )
    if author.edits == CONTINUE:
        return f'replies that continue a program are not trained on: leave edits = "continue" of {author.name} out'
    if not (learning.model or is_version(author.name)):
        return (
            f"a trainer reads the model that {author.name} serves: name its folder, or its name on the hub, in"
            " learning.model"
        )
    return ""


def is_version(name: str) -> bool:
    """Whether a name can be that of a version of the registry."""
    return _VERSION.fullmatch(name) is not None


def _only(policies: Sequence[PolicySettings], role: str) -> PolicySettings | None:
    found = [policy for policy in policies if policy.role == role]
    if len(found) > 1:
        raise UsageError(f"{found[0].name} and {found[1].name} both have the role {role}: a run takes one")
    return found[0] if found else None


def read_policies(
    sources: Sequence[str],
    *,
    model: str | None = None,
    params: Sequence[str] = (),
    apart: bool = False,
    registered: Registered | None = None,
) -> list[PolicySettings]:
    """Read the policies of a run: of each word what `load_policies` finds; a server without a name gets one.

    Args:
        sources: the words.
        model: as `load_policies` takes it; of a single policy.
        params: `KEY=VALUE` each, a key of a policy file or a parameter of requests; of a single policy.
        apart: as `together` takes it.
        registered: finds policies of the registry by name. None: there is no registry.

    Raises:
        NotFoundError, UsageError: as of `load_policies`, or the policies do not go together.
    """
    found = [policy for source in sources for policy in _load(source, registered)]
    if len(found) == 1:
        only = with_params(_load(sources[0], registered, model)[0], params)
        return together([only], apart=apart)
    if params:
        raise UsageError("--param is for a single policy: name the parameters in a policy file")
    if model is not None:
        raise UsageError("--model is for a single policy: name the models in a policy file")
    return together(found, apart=apart)


def _load(source: str, registered: Registered | None, model: str | None = None) -> list[PolicySettings]:
    try:
        return load_policies(source, model=model)
    except NotFoundError:
        if registered is None:
            raise
        with suppress(NotFoundError):
            found = registered(source)
            if model is not None:
                raise UsageError(f"--policy {found.name} names its model already: leave --model out") from None
            return [found]
        raise


def with_params(policy: PolicySettings, words: Sequence[str]) -> PolicySettings:
    """A policy with other values of some keys; what is no key of a policy file is a parameter of its requests.

    Raises:
        UsageError: a word or a value is off.
    """
    if not words:
        return policy
    given = parse_words(words)
    known = {key: value for key, value in given.items() if key in PolicySettings.model_fields}
    others = {key: value for key, value in given.items() if key not in known}
    named = policy.model_dump(exclude_unset=True)
    params = {"params": {**named.get("params", {}), **others}} if others else {}
    return read_policy({**named, **known, **params}, "--param")


def together(policies: Sequence[PolicySettings], *, apart: bool = False) -> list[PolicySettings]:
    """Policies that go together in one run; a server without a name gets one.

    Args:
        policies: of the run.
        apart: whether it has authors or needs none beside these.

    Raises:
        UsageError: they are too many, two have one name, or their roles do not make a run.
    """
    if len(policies) > MAX_POLICIES:
        raise UsageError(f"a run asks {MAX_POLICIES} policies at most, and {len(policies)} are named")
    policies = _called(policies)
    refuse_repeats(policies, "the run")
    cast = PolicyRoles.of(policies)
    if policies and not (cast.authors or apart):
        raise UsageError(
            f"{policies[0].name} is {policies[0].role} of the run, but a run also needs a policy that writes:"
            f" name an author"
        )
    for model in (cast.critic, cast.advisor):
        if model and not apart:
            refuse_unread(model.name, model.role, cast)
    return policies


def refuse_unread(name: str, role: str, cast: PolicyRoles) -> None:
    """Refuse a critic or an advisor that none of the authors would read.

    Raises:
        UsageError: none would.
    """
    if not any(traits_of(author.kind).reads_advice for author in cast.authors):
        raise UsageError(
            f"nobody reads what the {role} {name} writes, since the syntax mutator and bundled policies take"
            f" no advice: name an author behind a server, or leave out the {role}"
        )


def _called(policies: Sequence[PolicySettings]) -> list[PolicySettings]:
    """Policies of which each server without a name is called by its model, or its host where others have that model."""
    models = Counter(policy.model for policy in policies)
    return [
        policy.model_copy(update={"name": _name(policy, alone=models[policy.model] == 1)})
        if policy.base_url is not None and "name" not in policy.model_fields_set
        else policy
        for policy in policies
    ]


def _name(policy: PolicySettings, *, alone: bool) -> str:
    model = re.sub(r"[^\w.:/@+-]+", "", policy.model or "") if alone else ""
    host = re.sub(r"[^\w.:-]+", "", urlsplit(str(policy.base_url)).netloc)
    return (model or host)[:64] or policy.name
