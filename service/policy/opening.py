"""Opens the policies of a run: each is asked who it is before anything is asked of it."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evolve.answers.syntax_trees import syntax_tree
from evolve.configuration import RunConfig
from evolve.errors import PolicyDenied, PolicyError, PolicyUnavailable
from evolve.extensions import Extensions
from evolve.money import shared_currency
from evolve.policies import open_policy
from evolve.problem import Problem
from evolve.program import Program
from evolve.prompt import build_ideas_prompt, build_review_prompt
from evolve.search.ensemble import EnsembleMember
from service.config import PoliciesSettings
from service.errors import UsageError
from service.policy.access import IsVersion, PolicyAccess, no_version, way_to
from service.policy.activity import total
from service.policy.advised import AdvisingModel, advised, model_of, named
from service.policy.advisor import Advisor
from service.policy.analyst import AnalystPrompts, ServedAnalyst
from service.policy.critic import Critic
from service.policy.kinds import ServicePolicyContext, connect
from service.policy.prompt_builder import BuildFor, FilesForm, prompt_builder
from service.policy.run_versions import AdapterVersions, BundledVersions, ModelFolder
from service.policy_settings.kind_traits import traits_of
from service.policy_settings.roles import PolicyRoles
from service.ports import Activity, Health, ModelDescription, RunPolicies, RunVersions, unknown_health

if TYPE_CHECKING:
    from evolve.ports import Policy
    from service.policy.connection import ServerConnection
    from service.policy.embeddings import OpenAIEmbedder
    from service.policy.openai import OpenAIPolicy
    from service.policy.request_options import PromptBuilder
    from service.policy_settings.settings import PolicySettings

# A critic, an advisor and an analyst write one text.
_ONE_TEXT = {"format": "single", "answers": 1, "samples": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPolicies(RunPolicies):
    """The policies of a run, with the models that advise authors, for authors that come from elsewhere."""

    advising: tuple[AdvisingModel, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOrder:
    """The policies of a run, before any of them is opened.

    Attributes:
        policies: as they are described.
        problem, config: of the run: what prompts say, on each island.
        templates: texts in place of the built-in ones.
        source: of the run.
        resumed: whether the run was begun. It goes on with those of its policies that can be asked.
        folder: gives the folder of a registered model or adapter by its hash. None: runs here have none.
        is_version: whether a policy is a version of the registry.
    """

    policies: Sequence["PolicySettings"]
    problem: Problem
    config: RunConfig
    templates: Mapping[str, str]
    source: str
    resumed: bool = False
    folder: ModelFolder | None = None
    is_version: IsVersion = no_version


@asynccontextmanager
async def open_policies(
    order: PolicyOrder, access: PoliciesSettings, own: Sequence[AdvisingModel] = ()
) -> AsyncIterator[OpenedPolicies]:
    """The policies of a run, each asked who it is before anything is asked of it.

    Args:
        order: the policies.
        access: where policies of runs that were submitted over the API may be.
        own: the caller's models that advise authors, of roles that the order has none for.

    Raises:
        PolicyUnavailable: one of a new run, or all of one that was begun, cannot be reached.
        PolicyDenied: they refuse the key, or do not offer the model.
        UsageError: the key that is named is not there, or a bundled model cannot be read.
        RefusedError, UnreachableError: the address may not be reached, or its name does not resolve.
        ConfigurationError: prices are in different currencies.
    """
    roles = PolicyRoles.of(order.policies)
    async with AsyncExitStack() as stack:
        opening = _Opening(order, access, stack)
        authors = [await opening.author(settings) for settings in roles.authors]
        advising = await opening.advising(roles, own)
        embedder = await opening.embedder(roles.embedder) if roles.embedder is not None else None
        analyst = await opening.analyst(roles.analyst) if roles.analyst is not None else None
        opening.refuse_absent(roles)
        _refuse_unchangeable(order, authors)
        member = partial(_member, roles=roles, advising=advising)
        members = tuple(map(member, authors, roles.authors))
        versions = opening.versions(roles, member)
        if versions is not None and not order.resumed:
            await versions.check()
        yield OpenedPolicies(
            members=members,
            advising=advising,
            critic=model_of("critic", advising),
            advisor=model_of("advisor", advising),
            embedder=embedder,
            analyst=analyst,
            health=opening.health,
            activity=opening.activity,
            models=opening.models(),
            versions=versions,
        )


def _refuse_unchangeable(order: PolicyOrder, authors: Sequence["Policy"]) -> None:
    """Refuse a new run whose only author is the built-in mutator, and finds nothing to change in any seed."""
    from service.policy.syntax.policy import NOTHING, SyntaxPolicy

    if order.resumed or not all(isinstance(author, SyntaxPolicy) for author in authors):
        return
    if not any(_readable(seed, order.problem.evaluator.entry) for seed in order.problem.seeds):
        return  # its evaluation says more
    mutators = [author for author in authors if isinstance(author, SyntaxPolicy)]
    if mutators and not any(author.changeable(order.problem.seeds) for author in mutators):
        raise UsageError(f"the built-in syntax mutator finds nothing to change in {order.problem.name}: {NOTHING}")


def _readable(seed: Program, entry: str) -> bool:
    """Whether a seed can be a program of its problem at all: its Python is parsed, and names what is called."""
    texts = [text for path, text in seed.files if path.endswith(".py")]
    try:
        for text in texts:
            syntax_tree(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return not texts or not entry or any(entry in text for text in texts)


@dataclass(slots=True)
class _Opening:
    """Opens the policies of a run, and notes which of their servers cannot be asked."""

    order: PolicyOrder
    access: PoliciesSettings
    stack: AsyncExitStack
    servers: list["OpenAIPolicy | OpenAIEmbedder"] = field(default_factory=list)
    absences: dict[str, PolicyError] = field(default_factory=dict)

    @property
    def health(self) -> Health:
        """How the servers fare, by policy, where there are any."""
        servers = self.servers
        return (lambda: {server.name: server.health() for server in servers}) if servers else unknown_health

    def activity(self) -> Activity | None:
        """What the models behind servers do at present; None: there are none."""
        from service.policy.openai import OpenAIPolicy

        readings = [server.activity() for server in self.servers if isinstance(server, OpenAIPolicy)]
        return total(readings) if readings else None

    def models(self) -> dict[str, ModelDescription]:
        """The models of policies whose servers described them, by policy."""
        from service.policy.openai import OpenAIPolicy

        found = {server.name: server.connection.found for server in self.servers if isinstance(server, OpenAIPolicy)}
        return {
            name: ModelDescription(
                model=model.model,
                context_tokens=model.context_tokens,
                tells_context=model.told,
                counts_tokens=model.tokenizer,
            )
            for name, model in found.items()
            if model is not None
        }

    async def author(self, settings: "PolicySettings") -> "Policy":
        asked = self._limited(settings)
        way = await self._way(asked) if traits_of(asked.kind).reached else PolicyAccess(policy=asked, key=None)
        form = FilesForm() if traits_of(asked.kind).edits_files else way.policy
        build = prompt_builder(form, self.order.problem, self.order.config, self.order.templates)
        context = ServicePolicyContext(
            name=asked.name,
            problem=self.order.problem,
            settings=asked.describe(),
            build_prompt=partial(build, context_tokens=asked.context_tokens),
            key=None if way.key is None else way.key.get_secret_value(),
            transport=way.transport,
            cost=way.policy.cost,
            policy=way.policy,
        )
        policy = open_policy(asked.kind, context, Extensions())
        await self._meet(policy, settings)
        return policy

    async def advising(self, roles: PolicyRoles, own: Sequence[AdvisingModel]) -> tuple[AdvisingModel, ...]:
        """The models that advise authors. The critic is the last, so that an advisor reads its review."""
        made = list(own)
        if roles.advisor is not None:
            made.append(Advisor(await self._advising(roles.advisor, build_ideas_prompt), roles.advisor.currency))
        if roles.critic is not None:
            made.append(Critic(await self._advising(roles.critic, build_review_prompt), roles.critic.currency))
        return tuple(sorted(made, key=lambda model: isinstance(model, Critic)))

    async def _advising(self, settings: "PolicySettings", build_for: BuildFor) -> "OpenAIPolicy":
        return await self._server(self._limited(settings).model_copy(update=_ONE_TEXT), build_for)

    def versions(
        self, roles: PolicyRoles, member: "Callable[[Policy, PolicySettings], EnsembleMember]"
    ) -> RunVersions | None:
        """The versions of the only author, which the run trains. None: it trains none."""
        folder = self.order.folder
        if folder is None or not self.order.config.learning.every:
            return None
        (start,) = roles.authors

        async def open_author(settings: "PolicySettings") -> EnsembleMember:
            return member(await self.author(settings), settings)

        if start.kind == "bundled":
            return BundledVersions(start, folder, open_author)
        return AdapterVersions(start, folder, open_author, self._way)

    async def analyst(self, settings: "PolicySettings") -> ServedAnalyst:
        asked = self._limited(settings).model_copy(update=_ONE_TEXT)
        prompts = AnalystPrompts(self.order.problem, self.order.templates)
        server = _through(await self._way(asked), prompts)
        await self._meet(server, settings)
        return ServedAnalyst(server, prompts)

    async def embedder(self, settings: "PolicySettings") -> "OpenAIEmbedder":
        from service.policy.embeddings import OpenAIEmbedder

        way = await self._way(self._limited(settings))
        server = OpenAIEmbedder(_connect(way), language=self.order.problem.language)
        await self._meet(server, settings)
        return server

    def refuse_absent(self, roles: PolicyRoles) -> None:
        """Raise what a server said that a run cannot begin, or go on, without."""
        error = next(iter(self.absences.values()), None)
        if error is not None and (not self.order.resumed or not any(map(self._askable(roles), roles.authors))):
            raise error

    def _askable(self, roles: PolicyRoles) -> Callable[["PolicySettings"], bool]:
        mute = any(model is not None and model.name in self.absences for model in (roles.critic, roles.advisor))
        return lambda author: author.name not in self.absences and not (mute and traits_of(author.kind).reads_advice)

    def _limited(self, settings: "PolicySettings") -> "PolicySettings":
        calls = self.order.config.concurrency.policy or settings.concurrency
        return settings.model_copy(update={"concurrency": calls})

    async def _server(self, settings: "PolicySettings", build_for: BuildFor) -> "OpenAIPolicy":
        order, way = self.order, await self._way(settings)
        server = _through(way, prompt_builder(settings, order.problem, order.config, order.templates, build_for))
        await self._meet(server, settings)
        return server

    async def _way(self, settings: "PolicySettings") -> PolicyAccess:
        return await asyncio.to_thread(way_to, settings, self.order.source, self.access, self.order.is_version)

    async def _meet(self, opened: "Policy | OpenAIEmbedder", settings: "PolicySettings") -> None:
        """Ask a policy whether it can answer, and see to it that what it opens is closed in the end."""
        from service.policy.embeddings import OpenAIEmbedder
        from service.policy.openai import OpenAIPolicy

        if isinstance(opened, _Closable):
            self.stack.push_async_callback(opened.close)
        if isinstance(opened, OpenAIPolicy | OpenAIEmbedder):
            self.servers.append(opened)
        if not isinstance(opened, _Checkable):
            return
        try:
            await opened.check()
        except (PolicyUnavailable, PolicyDenied) as error:
            author = settings.role == "author"
            self.absences[settings.name] = error if author else named(settings.name, error, settings.role)


@runtime_checkable
class _Checkable(Protocol):
    async def check(self) -> object:
        """Look whether it can answer."""


@runtime_checkable
class _Closable(Protocol):
    async def close(self) -> None:
        """Close what it has opened."""


def _member(
    policy: "Policy", settings: "PolicySettings", *, roles: PolicyRoles, advising: Sequence[AdvisingModel]
) -> EnsembleMember:
    """An author as a member of the run, with the models that advise it."""
    member = EnsembleMember(
        policy=policy,
        weight=settings.weight,
        currency=_currency(settings, roles.embedder, roles.analyst),
        escalate_after=settings.escalate_after,
    )
    return advised(member, *(advising if traits_of(settings.kind).reads_advice else ()))


def _currency(author: "PolicySettings", *others: "PolicySettings | None") -> str | None:
    """The currency of what an author's proposals cost, and of what they pay of others."""
    return shared_currency([author.currency, *(other.currency for other in others if other)])


def serve(
    settings: "PolicySettings", problem: Problem, config: RunConfig, templates: Mapping[str, str]
) -> "OpenAIPolicy":
    """The policy behind a server, with the prompts of a problem; nothing is asked of the server yet.

    Args:
        settings: of the policy.
        problem: whose programs it changes.
        config: of the run: what prompts say, on each island.
        templates: texts in place of the built-in ones.
    """
    way = PolicyAccess(policy=settings, key=settings.read_key())
    single = problem.repository is None and all(seed.single for seed in problem.seeds)
    return _through(way, prompt_builder(settings, problem, config, templates), single=single)


def _through(way: PolicyAccess, build: "PromptBuilder", *, single: bool = False) -> "OpenAIPolicy":
    from service.policy.openai import OpenAIPolicy

    return OpenAIPolicy(_connect(way), build_prompt=build, single=single)


def _connect(way: PolicyAccess) -> "ServerConnection[Any]":
    return connect(way.policy, None if way.key is None else way.key.get_secret_value(), way.transport)
