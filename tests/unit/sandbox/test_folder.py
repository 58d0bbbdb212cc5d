"""What of a problem's folder is compiled before an evaluation, under no limit."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from service.sandbox.folder import Places, prepare


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    """Those of a problem with a large module, many small ones, and a folder that is called like one."""
    problem = tmp_path / "problem"
    (problem / "folder.py").mkdir(parents=True)
    (problem / "evaluator.py").write_text("def score(outputs, program): ...\n")
    (problem / "large.py").write_text("x = [1, 2, 3]\n" * 200_000)
    for number in range(40):
        (problem / f"small_{number:02}.py").write_text("x = 1\n" * 40_000)
    found = prepare(problem, 1)
    yield found
    found.remove()


def test_no_more_is_compiled_than_fits_into_memory(places: Places) -> None:
    names = [Path(path).name for path in places.sources()]
    assert "evaluator.py" in names
    assert not {"large.py", "folder.py"} & set(names)
    assert 10 < len(names) < 20
