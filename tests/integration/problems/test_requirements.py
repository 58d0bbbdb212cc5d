import sys
from pathlib import Path

import numpy as np
import pytest

from service.problems.requirements import check_requirements

MAJOR = int(np.__version__.split(".", maxsplit=1)[0])


@pytest.mark.parametrize(
    "requirement",
    [
        "numpy", f"numpy>={MAJOR}", f"numpy >= {MAJOR}.0, < {MAJOR + 1}", f"numpy=={np.__version__}",
        f"numpy~={MAJOR}.0", "pydantic[email]>=2", "json", f"numpy!={MAJOR + 9}",
    ],
)  # fmt: skip
async def test_requirement_that_is_met_is_silent(requirement: str) -> None:
    assert await check_requirements("", [requirement], []) == []


@pytest.mark.parametrize(
    ("requirement", "said"),
    [
        (f"numpy>={MAJOR + 1}", f"is not met: {sys.executable} has {np.__version__}"),
        (f"numpy<{MAJOR}", "is not met"),
        (f"numpy~={MAJOR - 1}.0", "is not met"),
        (f"numpy!={np.__version__}", "is not met"),
        ("no-such-distribution-at-all>=1", "is not installed for"),
        ("numpy; import os", "cannot be read: write NAME or NAME>=VERSION"),
        ("--index-url x", "cannot be read"),
        ("", "cannot be read"),
    ],
)
async def test_requirement_that_is_not_met_is_named(requirement: str, said: str) -> None:
    (complaint,) = await check_requirements("", [requirement], [])
    assert said in complaint


async def test_preloaded_module_must_be_there() -> None:
    (complaint,) = await check_requirements("", [], ["numpy", "no_such_module_at_all"])
    assert "no_such_module_at_all does not exist for" in complaint


@pytest.mark.parametrize("name", ["", "a b", "-x", "a..b"])
async def test_preloaded_module_must_have_a_modules_name(name: str) -> None:
    (complaint,) = await check_requirements("", [], [name])
    assert "is not a module name" in complaint


async def test_interpreter_must_be_one(tmp_path: Path) -> None:
    assert "is not a program on this machine" in (await check_requirements(str(tmp_path / "python"), [], []))[0]
    assert "does not run Python" in (await check_requirements("/bin/true", ["numpy"], []))[0]
    broken = tmp_path / "broken"
    broken.write_text("no interpreter")
    broken.chmod(0o755)
    assert "does not run Python" in (await check_requirements(str(broken), ["numpy"], []))[0]
