"""Whether a problem's requirements are there in the interpreter it names: looked up, never installed."""

import asyncio
import json
import re
import shutil
import sys
from collections.abc import Sequence

_PATIENCE_SECONDS = 20.0
_REQUIREMENT = re.compile(
    r"([A-Za-z0-9](?:[\w.-]*[A-Za-z0-9])?)(?:\[[\w, .-]*\])?\s*((?:[=!<>~]=|[<>])\s*[\w.*+!-]+(?:\s*,\s*|$))*",
    re.ASCII,
)
_BOUND = re.compile(r"([=!<>~]=|[<>])\s*(\d+(?:\.\d+)*)", re.ASCII)
_RELEASE = re.compile(r"\d+(?:\.\d+)*", re.ASCII)
_ZERO = (0, "")
_LOOK_UP = """
import importlib.metadata, importlib.util, json, sys
found = {}
for name in json.load(sys.stdin):
    try:
        found[name] = importlib.metadata.version(name)
    except (importlib.metadata.PackageNotFoundError, ValueError):
        found[name] = "" if importlib.util.find_spec(name.partition(".")[0]) else None
print(json.dumps(found))
"""


async def check_requirements(python: str, requirements: Sequence[str], preload: Sequence[str]) -> list[str]:
    """Complaints about an interpreter, and about the distributions and modules that a problem needs from it.

    Args:
        python: path or name of the interpreter. Empty: this interpreter.
        requirements: names with optional versions, such as `numpy>=2`.
        preload: modules by name.
    """
    interpreter = shutil.which(python or sys.executable)
    if interpreter is None:
        return [f"evaluator.python = {python!r} is not a program on this machine: name an interpreter"]
    complaints, names = [], {}
    for requirement in requirements:
        matched = _REQUIREMENT.fullmatch(requirement.strip())
        if matched:
            names[requirement] = matched[1]
        else:
            complaints.append(f"evaluator.requirements: {requirement!r} cannot be read: write NAME or NAME>=VERSION")
    modules = [name for name in preload if all(part.isidentifier() for part in name.split("."))]
    complaints += [f"evaluator.preload: {name!r} is not a module name" for name in preload if name not in modules]
    found = await _look_up(interpreter, [*names.values(), *modules]) if names or modules else {}
    if found is None:
        return [
            *complaints,
            f"evaluator.python = {interpreter!r} does not run Python: name an interpreter of Python 3.8 or newer",
        ]
    complaints += [sentence for text, name in names.items() if (sentence := _judge(text, found[name], interpreter))]
    missing = [name for name in modules if found[name] is None]
    return complaints + [f"evaluator.preload: {name} does not exist for {interpreter}: install it" for name in missing]


async def _look_up(interpreter: str, names: Sequence[str]) -> dict[str, str | None] | None:
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            interpreter, "-I", "-c", _LOOK_UP, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError:
        return None
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            output, _ = await process.communicate(json.dumps(names).encode())
        found = json.loads(output)
    except (TimeoutError, ValueError):
        return None
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return found if isinstance(found, dict) and set(found) >= set(names) else None


def _judge(requirement: str, version: str | None, interpreter: str) -> str:
    if version is None:
        return f"evaluator.requirements: {requirement} is not installed for {interpreter}: install it there"
    if version and not all(_holds(version, sign, bound) for sign, bound in _BOUND.findall(requirement)):
        return f"evaluator.requirements: {requirement} is not met: {interpreter} has {version}"
    return ""


def _holds(version: str, sign: str, bound: str) -> bool:
    """Compare release numbers, because scores depend on them. Pre-releases count as their release."""
    wanted = [_number(part) for part in bound.split(".")]
    release = _RELEASE.match(version)
    have = [_number(part) for part in release[0].split(".")] if release else [_ZERO]
    width = max(len(wanted), len(have))
    mine, theirs = have + [_ZERO] * (width - len(have)), wanted + [_ZERO] * (width - len(wanted))
    if sign == "~=":
        return mine >= theirs and have[: len(wanted) - 1] == wanted[:-1]
    return {
        "==": mine == theirs, "!=": mine != theirs, ">=": mine >= theirs, "<=": mine <= theirs,
        ">": mine > theirs, "<": mine < theirs,
    }[sign]  # fmt: skip


def _number(digits: str) -> tuple[int, str]:
    """Orders as the number does, however many digits it has: Python reads only some thousands of them."""
    plain = digits.lstrip("0")
    return len(plain), plain
