"""The interpreter of a problem with package requirements: its environment, if its installation was allowed."""

import asyncio
from dataclasses import replace

from evolve.problem import Problem
from service.config import SandboxSettings
from service.ports import Bundle
from service.problems.bundle import open_bundle
from service.problems.environments import Environment, environment_of, lacking, make


async def with_environment(problem: Problem, bundle: Bundle, settings: SandboxSettings, *, others: bool) -> Problem:
    """The problem, scored by the interpreter of its environment if there is one. Otherwise unchanged.

    For your own problems, an environment is used if you agreed to it. The setting `sandbox.environments` agrees for
    all, and only it counts for problems of others.

    Raises:
        InvalidProblemError: the environment must be installed, and cannot be.
    """
    if others and not settings.environments:
        return problem
    environment = environment_of(open_bundle(bundle), problem.evaluator)
    if environment is None:
        return problem
    if not environment.ready:
        if not settings.environments or not await lacking(environment):
            return problem
        await asyncio.to_thread(make, environment)
    return replace(problem, evaluator=replace(problem.evaluator, python=environment.python))


async def missing_environment(problem: Problem, bundle: Bundle) -> Environment | None:
    """The missing environment of a problem. None: it needs none, or has it."""
    environment = environment_of(open_bundle(bundle), problem.evaluator)
    return environment if environment and not environment.ready and await lacking(environment) else None


async def environment_warning(problem: Problem, bundle: Bundle, *, others: bool) -> str:
    """A sentence about packages that are not installed. Empty: nothing is missing."""
    environment = await missing_environment(problem, bundle)
    if environment is None:
        return ""
    names = ", ".join(await lacking(environment))[:200]
    cure = "ask the operator" if others else "install them with evolve problem setup PROBLEM"
    return f"{environment.file}: not installed here: {names}: {cure}"
