"""What a run is driven with: the policy that answers and the sandbox that scores."""

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Protocol

from evolve.configuration import PromptConfig
from evolve.ensemble import Member
from evolve.errors import PolicyDenied, PolicyError, PolicyUnavailable
from evolve.problem import Problem
from evolve.prompt import PromptRequest, build_prompt, check_templates
from evolve.proposal import Prompt, Proposal
from service.bootstrap.plan import Plan
from service.bootstrap.policies import Way, submitted, way_to
from service.config import PoliciesSettings, SandboxSettings
from service.errors import RefusedError, UsageError
from service.ports import Bundle
from service.problems.bundle import open_bundle, unpack
from service.runner.lease import Health, unknown
from service.sandbox import scratch
from service.sandbox.evaluator import SandboxEvaluator, open_evaluator
from service.sandbox.layers import Level

if TYPE_CHECKING:
    from evolve.ports import Policy
    from service.policy.asking import PromptBuilder
    from service.policy.bundled.policy import BundledPolicy
    from service.policy.openai import OpenAIPolicy
    from service.policy.settings import PolicySettings
    from service.policy.syntax.policy import SyntaxPolicy

_BOUNDED = ("wall_seconds", "cpu_seconds", "memory_mb", "processes", "disk_mb", "output_kb")


@asynccontextmanager
async def scoring(
    problem: Problem, bundle: Bundle, settings: SandboxSettings, *, slots: int = 0, require: str | None = None
) -> AsyncIterator[SandboxEvaluator]:
    """The evaluator of a problem, from what is stored of its folder.

    Args:
        problem: what is scored.
        bundle: its folder.
        settings: what the operator allows and requires.
        slots: evaluations at once; 0: as many as this process has cores.
        require: weakest isolation; None: what the settings say.

    Raises:
        RefusedError: the machine offers less isolation, or the problem wants what the operator does not allow.
        InvalidProblemError: the evaluator cannot be used.
    """
    refuse_unpermitted(problem, settings)
    level = _level(require or settings.own)
    slots = slots or len(os.sched_getaffinity(0))
    async with AsyncExitStack() as stack:
        with scratch.folder("problem") as place:  # the evaluator copies it
            unpack(bundle, folder := place / "problem")
            opening = open_evaluator(problem, folder, slots, require=None if level is Level.NONE else level)
            try:
                evaluator = await stack.enter_async_context(opening)
            except RefusedError as error:
                advice = "a lower one is allowed with --require-isolation or --allow-unsandboxed"
                raise RefusedError(f"{error}; {advice}") from error
        yield evaluator


@asynccontextmanager
async def answering(plan: Plan, policies: PoliciesSettings) -> AsyncIterator[tuple[Member, ...]]:
    """The policies of a run, each asked who it is before anything is asked of it.

    A run that was begun goes on with those that can be asked.

    Args:
        plan: the run.
        policies: where policies of runs that were submitted over the API may be.

    Raises:
        PolicyUnavailable: one of a new run, or all of one that was begun, cannot be reached.
        PolicyDenied: they refuse the key, or do not offer the model.
        UsageError: the key that is named is not there, or a bundled model or the user's templates cannot be read.
        RefusedError, UnreachableError: the address may not be reached, or its name does not resolve.
        ConfigurationError: a template of the user's is off.
    """
    templates = read_templates(plan)
    async with AsyncExitStack() as stack:
        members: list[Member] = []
        absences: list[PolicyError] = []
        for settings in plan.policies:
            calls = plan.config.concurrency.policy or settings.concurrency
            asked = settings.model_copy(update={"concurrency": calls})
            if settings.kind == "syntax":
                policy: Policy = _mutator(settings, plan)
            elif settings.kind == "bundled":
                policy = await _bundled(asked, plan, templates)
            else:
                way = await asyncio.to_thread(way_to, asked, plan.source, policies)
                policy = server = serve(way.policy, plan.problem, plan.config.prompt, templates, way=way)
                stack.push_async_callback(server.close)
                try:
                    await server.check()
                except (PolicyUnavailable, PolicyDenied) as error:
                    absences.append(error)
            members.append(Member(policy=policy, weight=settings.weight, currency=settings.currency))
        if absences and (plan.record is None or len(absences) == len(members)):
            raise absences[0]
        yield tuple(members)


def health_of(members: Sequence[Member]) -> Health:
    """How the servers of policies fare, by policy, where there are any."""
    from service.policy.openai import OpenAIPolicy

    servers = [member.policy for member in members if isinstance(member.policy, OpenAIPolicy)]
    return (lambda: {server.name: server.health() for server in servers}) if servers else unknown


def _mutator(settings: "PolicySettings", plan: Plan) -> "SyntaxPolicy":
    from service.policy.syntax.policy import SyntaxPolicy

    return SyntaxPolicy(plan.problem, settings.name, settings.answers)


async def _bundled(settings: "PolicySettings", plan: Plan, templates: Mapping[str, str]) -> "BundledPolicy":
    from service.policy.bundled.policy import BundledPolicy

    build = prompt_builder(settings, plan.problem, plan.config.prompt, templates)
    policy = BundledPolicy(settings, build_prompt=build)
    await policy.check()
    return policy


def read_templates(plan: Plan) -> dict[str, str]:
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


def _stored_files(plan: Plan) -> dict[str, bytes]:
    """Files of the templates' folder in the bundle; none where it lies elsewhere, or is hidden and so left out."""
    place = os.path.normpath(Path(plan.config.prompt.template_dir).expanduser())
    if os.path.isabs(place) or place.split(os.sep)[0] == "..":
        return {}
    return {name: content for name, content in open_bundle(plan.bundle).below(place).items() if "/" not in name}


def serve(
    settings: "PolicySettings",
    problem: Problem,
    config: PromptConfig,
    templates: Mapping[str, str],
    *,
    way: Way | None = None,
) -> "OpenAIPolicy":
    """The policy behind a server, with the prompts of a problem; nothing is asked of the server yet.

    Args:
        settings: of the policy.
        problem: whose programs it changes.
        config: what a prompt says.
        templates: texts in place of the built-in ones.
        way: with which key and over which connection it is asked; None: as the settings say.
    """
    import numpy as np

    from service.policy.openai import OpenAIPolicy

    build = prompt_builder(settings, problem, config, templates)
    key = settings.read_key() if way is None else way.key
    transport = None if way is None else way.transport
    return OpenAIPolicy(settings, build_prompt=build, key=key, rng=np.random.default_rng(), transport=transport)


class Form(Protocol):
    """In what form a policy answers."""

    @property
    def format(self) -> str:
        """How the answers of a chain are set apart."""

    @property
    def edits(self) -> str:
        """How an answer is read: `rewrite` or `diff`."""


def prompt_builder(form: Form, problem: Problem, config: PromptConfig, templates: Mapping[str, str]) -> "PromptBuilder":
    """What builds the prompts of a problem for a policy that answers in a form; the rest is as `serve` takes it."""

    def build(proposal: Proposal, *, count: Callable[[str], int], context_tokens: int) -> Prompt:
        request = PromptRequest(
            problem=problem,
            proposal=proposal,
            format=form.format,
            edits=form.edits,
            config=config,
            templates=templates,
            context_tokens=context_tokens,
            reply_tokens=0,  # the policy has kept room for the reply already
        )
        return build_prompt(request, count)

    return build


def refuse_unpermitted(problem: Problem, settings: SandboxSettings) -> None:
    """Refuse a problem that wants what the operator does not allow.

    Raises:
        RefusedError: it does.
    """
    for name, permitted in (("network", settings.network), ("gpu", settings.gpu)):
        if getattr(problem.limits, name) and not permitted:
            raise RefusedError(
                f"the problem asks for limits.{name}, which is not permitted here: EVOLVE_SANDBOX__{name.upper()}=true"
                " permits it"
            )
    refuse_too_much(problem, settings)


def refuse_too_much(problem: Problem, settings: SandboxSettings) -> None:
    """Refuse a problem whose evaluations may use more than the operator allows, whoever scores.

    Raises:
        RefusedError: they may; the text names the setting.
    """
    asked = {f"limits.{name}": getattr(problem.limits, name) for name in _BOUNDED}
    asked["evaluator.repeats"] = problem.evaluator.repeats
    for key, value in asked.items():
        setting = f"most_{key.partition('.')[2]}"
        most = getattr(settings, setting)
        if value > most:
            raise RefusedError(
                f"the problem asks for {key} = {value:g}, and at most {most} is permitted here by the setting"
                f" sandbox.{setting}: EVOLVE_SANDBOX__{setting.upper()} permits more"
            )


def _level(name: str) -> Level:
    try:
        return Level(name)
    except ValueError:
        levels = ", ".join(level for level in Level if level is not Level.NONE)
        raise UsageError(f"--require-isolation {name[:40]!r} is no level: choose one of {levels}") from None
