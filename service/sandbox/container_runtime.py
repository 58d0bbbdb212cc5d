"""Podman or Docker of this machine, and the images that they have."""

import asyncio
import json
import os
import platform
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evolve.problem import EvaluatorSpec
from service.config import SandboxSettings
from service.errors import InvalidProblemError, RefusedError

KEY = "evaluator.image"
RUNTIMES = ("podman", "docker")
_SECONDS, _PULL_SECONDS = 30.0, 3600.0
_FULL_RANGE = 1 << 31
_SUBORDINATE_USERS = 1 << 16
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64", "arm64": "arm64", "AMD64": "amd64"}
_SHORT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerRuntime:
    """A program of this machine that runs containers, and answers.

    Attributes:
        name: `podman` or `docker`.
        program: its path.
        rootless: whether it does so without the rights of the superuser.
        users: how many users its containers may have.
    """

    name: str
    program: str
    version: str
    rootless: bool
    users: int

    def __str__(self) -> str:
        return f"{self.name} {self.version}{', rootless' if self.rootless else ''}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainerImage:
    """An image that a runtime has, by its content.

    Attributes:
        runtime: that has it.
        reference: how the problem names it.
        id: hash of its configuration, and so of its content: `sha256:...`.
        digest: `NAME@sha256:...`, by which a registry gives the same image again; `id` where none knows it.
        path: what its environment says of PATH.
    """

    runtime: ContainerRuntime
    reference: str
    id: str
    digest: str
    path: str

    @property
    def short_id(self) -> str:
        """The beginning of its id, as runtimes show it."""
        return self.id.partition(":")[2][:_SHORT]


async def image_of(spec: EvaluatorSpec, settings: SandboxSettings) -> ContainerImage | None:
    """The image that a problem names, on this machine; None: it names none.

    Raises:
        RefusedError: no runtime answers here.
        InvalidProblemError: there is no such image, or it is for other machines.
    """
    if not spec.image:
        return None
    try:
        runtime = await find_runtime(settings.container_runtime)
    except RefusedError as error:
        raise RefusedError(f"the problem asks for {KEY}, and {error}: install Podman, or start Docker") from error
    return await find_image(runtime, spec.image)


async def find_runtime(wanted: str | None = None) -> ContainerRuntime:
    """The runtime of this machine that answers; one without the superuser's rights first.

    Args:
        wanted: `podman` or `docker`; None: whichever.

    Raises:
        RefusedError: there is none, with what each of them says.
    """
    found: list[ContainerRuntime] = []
    reasons: list[str] = []
    for name in [wanted] if wanted else RUNTIMES:
        program = shutil.which(name)
        if program is None:
            reasons.append(f"{name} is not installed")
            continue
        answer = await _answered([program, "info", "--format", "{{json .}}"])
        if answer.status:
            reasons.append(f"{name} does not answer ({answer.reason})")
            continue
        found.append(_described(name, program, json.loads(answer.text)))
    if not found:
        raise RefusedError(f"no container runtime runs on this machine: {'; '.join(reasons)}")
    return min(found, key=lambda runtime: not runtime.rootless)


async def find_image(runtime: ContainerRuntime, reference: str) -> ContainerImage:
    """An image of a runtime, which is pulled when it is not there.

    Raises:
        InvalidProblemError: there is no such image, or it is for other machines.
    """
    said = await _inspected(runtime, reference)
    if said is None:
        pulled = await _answered([runtime.program, "pull", "--quiet", reference], _PULL_SECONDS)
        said = await _inspected(runtime, reference)
        if said is None:
            why = f"and it cannot be pulled ({pulled.reason})" if pulled.status else "after it was pulled"
            raise InvalidProblemError(
                [f"{KEY}: {runtime.name} has no image {reference!r}, {why}: build it here, or correct the name"]
            )
    system, machine = str(said.get("Os", "linux")), str(said.get("Architecture", ""))
    here = _ARCHITECTURES.get(platform.machine(), platform.machine())
    if system != "linux" or machine not in ("", here):
        raise InvalidProblemError(
            [f"{KEY}: the image {reference!r} is for {system}/{machine}, and this machine is linux/{here}: build it"
             f" for linux/{here}"]
        )  # fmt: skip
    bare = str(said["Id"]).removeprefix("sha256:")
    digests = [str(digest) for digest in said.get("RepoDigests") or [] if not str(digest).startswith("localhost/")]
    return ContainerImage(
        runtime=runtime,
        reference=reference,
        id=f"sha256:{bare}",
        digest=digests[0] if digests else f"sha256:{bare}",
        path=_path_in((said.get("Config") or {}).get("Env") or []),
    )


async def remove_container(runtime: ContainerRuntime, name: str) -> None:
    """End a container with all its processes, and remove it; nothing where there is none."""
    await _answered([runtime.program, "rm", "--force", "--volumes", name])


async def labelled_containers(runtime: ContainerRuntime, label: str) -> Mapping[str, str]:
    """The value of a label by the id of each container that has it."""
    form = (
        f'{{{{.ID}}}} {{{{index .Labels "{label}"}}}}'
        if runtime.name == "podman"
        else (f'{{{{.ID}}}} {{{{.Label "{label}"}}}}')
    )
    answer = await _answered([runtime.program, "ps", "--all", "--filter", f"label={label}", "--format", form])
    lines = [line.split(" ", 1) for line in answer.text.splitlines() if " " in line]
    return {words[0]: words[1] for words in lines} if not answer.status else {}


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    text: str
    reason: str


async def _answered(words: Sequence[str], seconds: float = _SECONDS) -> _Answer:
    """What a command prints."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            *words, stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe
        )
    except OSError as error:
        return _Answer(127, "", error.strerror or str(error))
    try:
        async with asyncio.timeout(seconds):
            output, complaints = await process.communicate()
    except TimeoutError:
        return _Answer(124, "", f"no answer in {seconds:g} s")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    lines = complaints.decode(errors="replace").strip().splitlines()
    return _Answer(process.returncode or 0, output.decode(errors="replace"), (lines or ["it does not say why"])[-1])


def _described(name: str, program: str, said: Mapping[str, Any]) -> ContainerRuntime:
    if name == "podman":
        host = said["host"]
        rootless = bool(host["security"]["rootless"])
        ranges = (host.get("idMappings") or {}).get("uidmap") or []
        users = max((int(one["size"]) for one in ranges), default=1) if rootless else _FULL_RANGE
        version = str(said["version"]["Version"])
    else:
        options = " ".join(said.get("SecurityOptions") or [])
        rootless = "name=rootless" in options
        users = _SUBORDINATE_USERS if rootless or "name=userns" in options else _FULL_RANGE
        version = str(said.get("ServerVersion", ""))
        if not version:  # the client alone answers
            reasons = said.get("ServerErrors") or ["its daemon does not run"]
            raise RefusedError(f"no container runtime runs on this machine: docker does not answer ({reasons[0]})")
    return ContainerRuntime(
        name=name, program=os.path.realpath(program), version=version, rootless=rootless, users=users
    )


async def _inspected(runtime: ContainerRuntime, reference: str) -> Mapping[str, Any] | None:
    answer = await _answered([runtime.program, "image", "inspect", reference])
    found = json.loads(answer.text) if not answer.status else []
    return found[0] if found else None


def _path_in(environment: Sequence[str]) -> str:
    values = [text.partition("=")[2] for text in environment if text.startswith("PATH=")]
    return values[-1] if values else ""
