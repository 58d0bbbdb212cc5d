"""Who answers a run: its policies, each opened and asked who it is before anything is asked of it."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from evolve.configuration import RunConfig
from evolve.errors import PolicyDenied, PolicyError, PolicyUnavailable
from evolve.extensions import Extensions
from evolve.money import shared_currency
from evolve.policies import open_policy
from evolve.problem import Problem
from evolve.prompt import PromptRequest, build_prompt, build_review_prompt, check_templates
from evolve.proposal import Prompt, Proposal
from evolve.search.ensemble import EnsembleMember
from service.config import PoliciesSettings
from service.errors import UsageError
from service.policy.access import PolicyAccess, way_to
from service.policy.activity import Activity, total
from service.policy.critic import Critic, named, reviewed
from service.policy.kinds import ServicePolicyContext, connect
from service.policy.tokens import estimate_tokens
from service.policy_settings.choice import submitted
from service.policy_settings.kind_traits import traits_of
from service.policy_settings.roles import PolicyRoles
from service.problems.bundle import open_bundle
from service.runner.lease import Health, unknown
from service.usecases.plan import RunPlan

if TYPE_CHECKING:
    from evolve.ports import Policy
    from service.policy.connection import ServerConnection
    from service.policy.embeddings import OpenAIEmbedder
    from service.policy.openai import OpenAIPolicy
    from service.policy.request_options import PromptBuilder
    from service.policy_settings.settings import PolicySettings

BuildFor = Callable[[PromptRequest, Callable[[str], int]], Prompt]

# A critic writes one text.
_ONE_TEXT = {"format": "single", "answers": 1, "samples": 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyFactory:
    """Who answers a run.

    Attributes:
        members: its authors, with the critic where there is one.
        critic: for authors that come from elsewhere.
        embedder: embeds programs, where the run has one.
        health: how the servers fare, by policy.
        activity: what models behind servers do at present; None: there are none.
    """

    members: tuple[EnsembleMember, ...]
    critic: Critic | None = None
    embedder: "OpenAIEmbedder | None" = None
    health: Health = unknown
    activity: Callable[[], Activity | None] = lambda: None


@asynccontextmanager
async def answering(
    plan: RunPlan, policies: PoliciesSettings, own: Critic | None = None
) -> AsyncIterator[PolicyFactory]:
    """The policies of a run, each asked who it is before anything is asked of it.

    A run that was begun goes on with those that can be asked.

    Args:
        plan: the run.
        policies: where policies of runs that were submitted over the API may be.
        own: the caller's critic, where the plan names none.

    Raises:
        PolicyUnavailable: one of a new run, or all of one that was begun, cannot be reached.
        PolicyDenied: they refuse the key, or do not offer the model.
        UsageError: the key that is named is not there, or a bundled model or the user's templates cannot be read.
        RefusedError, UnreachableError: the address may not be reached, or its name does not resolve.
        ConfigurationError: a template of the user's is off, or prices are in different currencies.
    """
    cast = PolicyRoles.of(plan.policies)
    async with AsyncExitStack() as stack:
        opening = _Opening(plan, policies, read_templates(plan), stack)
        authors = [await opening.author(settings) for settings in cast.authors]
        critic = await opening.critic(cast.critic) if cast.critic is not None else own
        embedder = await opening.embedder(cast.embedder) if cast.embedder is not None else None
        opening.refuse_absent(cast)
        _refuse_unchangeable(plan, authors)
        members = tuple(
            reviewed(
                EnsembleMember(policy=policy, weight=settings.weight, currency=_currency(settings, cast.embedder)),
                critic if traits_of(settings.kind).reads_reviews else None,
            )
            for settings, policy in zip(cast.authors, authors, strict=True)
        )
        yield PolicyFactory(
            members=members, critic=critic, embedder=embedder, health=opening.health, activity=opening.activity
        )


def _refuse_unchangeable(plan: RunPlan, authors: Sequence["Policy"]) -> None:
    """Refuse a new run whose only author is the built-in mutator, and finds nothing to change in any seed."""
    from service.policy.syntax.policy import NOTHING, SyntaxPolicy

    if plan.record is not None or not all(isinstance(author, SyntaxPolicy) for author in authors):
        return
    mutators = [author for author in authors if isinstance(author, SyntaxPolicy)]
    if mutators and not any(author.changeable(plan.problem.seeds) for author in mutators):
        raise UsageError(f"the built-in syntax mutator finds nothing to change in {plan.problem.name}: {NOTHING}")


@dataclass(slots=True)
class _Opening:
    """Opens the policies of a run, and notes which of their servers cannot be asked."""

    plan: RunPlan
    policies: PoliciesSettings
    templates: Mapping[str, str]
    stack: AsyncExitStack
    servers: list["OpenAIPolicy | OpenAIEmbedder"] = field(default_factory=list)
    absences: dict[str, PolicyError] = field(default_factory=dict)

    @property
    def health(self) -> Health:
        """How the servers fare, by policy, where there are any."""
        servers = self.servers
        return (lambda: {server.name: server.health() for server in servers}) if servers else unknown

    def activity(self) -> Activity | None:
        """What the models behind servers do at present; None: there are none."""
        from service.policy.openai import OpenAIPolicy

        readings = [server.activity() for server in self.servers if isinstance(server, OpenAIPolicy)]
        return total(readings) if readings else None

    async def author(self, settings: "PolicySettings") -> "Policy":
        asked = self._limited(settings)
        way = await self._way(asked) if traits_of(asked.kind).reached else PolicyAccess(policy=asked, key=None)
        build = prompt_builder(way.policy, self.plan.problem, self.plan.config, self.templates)
        context = ServicePolicyContext(
            name=asked.name,
            problem=self.plan.problem,
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

    async def critic(self, settings: "PolicySettings") -> Critic:
        asked = self._limited(settings).model_copy(update=_ONE_TEXT)
        return Critic(await self._server(asked, build_review_prompt), settings.currency)

    async def embedder(self, settings: "PolicySettings") -> "OpenAIEmbedder":
        from service.policy.embeddings import OpenAIEmbedder

        way = await self._way(self._limited(settings))
        server = OpenAIEmbedder(_connect(way), language=self.plan.problem.language)
        await self._meet(server, settings)
        return server

    def refuse_absent(self, cast: PolicyRoles) -> None:
        """Raise what a server said that a run cannot begin, or go on, without."""
        error = next(iter(self.absences.values()), None)
        if error is not None and (self.plan.record is None or not any(map(self._askable(cast), cast.authors))):
            raise error

    def _askable(self, cast: PolicyRoles) -> Callable[["PolicySettings"], bool]:
        mute = cast.critic is not None and cast.critic.name in self.absences
        return lambda author: author.name not in self.absences and not (mute and traits_of(author.kind).reads_reviews)

    def _limited(self, settings: "PolicySettings") -> "PolicySettings":
        calls = self.plan.config.concurrency.policy or settings.concurrency
        return settings.model_copy(update={"concurrency": calls})

    async def _server(self, settings: "PolicySettings", build_for: BuildFor) -> "OpenAIPolicy":
        plan, way = self.plan, await self._way(settings)
        server = _through(way, prompt_builder(settings, plan.problem, plan.config, self.templates, build_for))
        await self._meet(server, settings)
        return server

    async def _way(self, settings: "PolicySettings") -> PolicyAccess:
        return await asyncio.to_thread(way_to, settings, self.plan.source, self.policies)

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


def _currency(author: "PolicySettings", embedder: "PolicySettings | None") -> str | None:
    """The currency of what an author's proposals cost, their vectors among it."""
    return shared_currency([author.currency, *([embedder.currency] if embedder else [])])


def read_templates(plan: RunPlan) -> dict[str, str]:
    """The user's prompt texts, from files called after the template; a relative folder lies in the problem's.

    What lies in the problem's folder is read from what is stored of it, so that a resumed run asks with the same texts.

    Raises:
        UsageError: the folder cannot be read.
        ConfigurationError: a name or a placeholder is off.
    """
    if not plan.config.prompt.template_dir:
        return {}
    folder = Path(plan.source) / Path(plan.config.prompt.template_dir).expanduser()
    try:
        files = _stored_files(plan)
        if submitted(plan.source) and not files:
            raise UsageError(f"prompt.template_dir: the problem has no folder {plan.config.prompt.template_dir!r}")
        files = files or {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        templates = {PurePath(name).stem: content.decode() for name, content in files.items()}
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"prompt.template_dir: the folder {folder} cannot be read: {error}") from error
    check_templates(templates)
    return templates


def _stored_files(plan: RunPlan) -> dict[str, bytes]:
    """Files of the templates' folder in the bundle; none where it lies elsewhere, or is hidden and so left out."""
    place = os.path.normpath(Path(plan.config.prompt.template_dir).expanduser())
    if os.path.isabs(place) or place.split(os.sep)[0] == "..":
        return {}
    return {name: content for name, content in open_bundle(plan.bundle).below(place).items() if "/" not in name}


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
    single = all(seed.single for seed in problem.seeds)
    return _through(way, prompt_builder(settings, problem, config, templates), single=single)


def _through(way: PolicyAccess, build: "PromptBuilder", *, single: bool = False) -> "OpenAIPolicy":
    from service.policy.openai import OpenAIPolicy

    return OpenAIPolicy(_connect(way), build_prompt=build, single=single)


def _connect(way: PolicyAccess) -> "ServerConnection[Any]":
    return connect(way.policy, None if way.key is None else way.key.get_secret_value(), way.transport)


class ReplySettings(Protocol):
    """In what form a policy answers."""

    @property
    def format(self) -> str:
        """How the answers of a chain are set apart."""

    @property
    def edits(self) -> str:
        """How an answer is read: `rewrite` or `diff`."""


def prompt_builder(
    form: ReplySettings,
    problem: Problem,
    config: RunConfig,
    templates: Mapping[str, str],
    build_for: BuildFor = build_prompt,
) -> "PromptBuilder":
    """What builds the prompts of a problem for a policy.

    Args:
        form: in which it answers.
        problem, config, templates: as `serve` takes them.
        build_for: makes the prompt: that of an author, or `build_review_prompt`.
    """

    def build(proposal: Proposal, *, count: Callable[[str], int] = estimate_tokens, context_tokens: int) -> Prompt:
        asked = proposal.form or form
        request = PromptRequest(
            problem=problem,
            proposal=proposal,
            format=asked.format,
            edits=asked.edits,
            config=config.on_island(proposal.island).prompt,
            templates=templates,
            context_tokens=context_tokens,
            reply_tokens=0,  # the policy has kept room for the reply already
        )
        return build_for(request, count)

    return build
