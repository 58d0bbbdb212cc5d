"""Programs in a real container, of whichever runtime this machine has."""

import asyncio
import subprocess
import textwrap
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from evolve.problem import Limits
from service.config import SandboxSettings
from service.sandbox.container import OWNER
from service.sandbox.container_runtime import ContainerRuntime, find_image, find_runtime, image_of
from service.sandbox.evaluator import SandboxEvaluator, open_evaluator
from tests.container_runtimes import chosen_runtime
from tests.containers.images import NAME, add_images
from tests.integration.sandbox.bench import ECHO, LIMITS, problem


async def runtime_of_tests() -> ContainerRuntime:
    """The runtime, which has the images of the tests."""
    runtime = await find_runtime(chosen_runtime())
    await asyncio.to_thread(add_images, runtime.program)
    return runtime


@asynccontextmanager
async def contained(
    tmp_path: Path,
    evaluator: str = ECHO,
    *,
    files: Mapping[str, str] | None = None,
    slots: int = 1,
    limits: Limits = LIMITS,
    image: str = NAME,
    **options: Any,
) -> AsyncIterator[SandboxEvaluator]:
    """An open evaluator in a container; afterwards neither a container nor a file of it may be left."""
    runtime = await runtime_of_tests()
    folder = tmp_path / "problem"
    for path, text in {"evaluator.py": evaluator, **(files or {})}.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(textwrap.dedent(text))
    found = await find_image(runtime, image)
    stated = problem(limits=limits, image=image, **options)
    settings = SandboxSettings(container_runtime=runtime.name)
    assert await image_of(stated.evaluator, settings) == found
    async with open_evaluator(stated, folder, slots, require=None, image=found) as opened:
        yield opened
    assert container_of(opened) == ""
    assert not opened.folder.exists()


def container_of(opened: SandboxEvaluator) -> str:
    """The id of the container of an evaluator; empty: there is none."""
    assert opened.image is not None
    listing = ("ps", "--all", "--quiet", "--no-trunc", "--filter", f"volume={opened.folder}")
    return ask(opened.image.runtime, *listing).strip()


def containers(runtime: ContainerRuntime) -> list[str]:
    """All containers of evaluators on this machine."""
    return ask(runtime, "ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={OWNER}").split()


def ask(runtime: ContainerRuntime, *words: str) -> str:
    """What a command of a runtime prints."""
    return subprocess.run([runtime.program, *words], capture_output=True, text=True, check=True).stdout
