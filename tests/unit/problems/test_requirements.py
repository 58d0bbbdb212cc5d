"""Requirements are looked up, and whatever is written in them is judged."""

import numpy as np
import pytest

from service.problems.requirements import check_requirements

LONG = "9" * 5000
HAVE = np.__version__


@pytest.mark.parametrize(
    ("requirement", "met"),
    [
        ("numpy", True),
        (f"numpy=={HAVE}", True),
        (f"numpy=={'.'.join(part.zfill(5000) for part in HAVE.split('.'))}", True),
        (f"numpy>={HAVE}.0", True),
        (f"numpy<={HAVE}", True),
        (f"numpy<{HAVE}", False),
        (f"numpy!={HAVE}", False),
        ("numpy>=1.9, <1000", True),
        ("numpy>=1000", False),
        (f"numpy<{LONG}", True),
        (f"numpy>={LONG}", False),
        (f"numpy>=1.{LONG}, <{LONG}.{LONG}", True),
        (f"numpy~={LONG}", False),
    ],
)
async def test_versions_of_any_length_are_compared_as_numbers(requirement: str, met: bool) -> None:
    complaints = await check_requirements("", [requirement], [])
    assert [complaint.partition(" is not met")[0] for complaint in complaints] == (
        [] if met else [f"evaluator.requirements: {requirement}"]
    )


async def test_digits_of_other_scripts_are_no_version() -> None:
    (complaint,) = await check_requirements("", ["numpy>=\u0661"], [])
    assert "cannot be read" in complaint
